"""Requests wait until there is room for their bodies."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from tarry.service.api.http.body_room import SMALL, BodyRoom

pytestmark = pytest.mark.anyio

UNIT = SMALL + 1


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Guests:
    """Requests in a room: each stays until it is told to go."""

    def __init__(self, most: int, most_of_key: int) -> None:
        self.room = BodyRoom(most * UNIT, most_of_key * UNIT)
        self.inside: list[str] = []
        self._tasks: dict[str, tuple[asyncio.Task[None], asyncio.Event]] = {}

    async def come(self, name: str, units: int = 1) -> None:
        """Let a request come; its key is the first letter of its name."""
        leave = asyncio.Event()

        async def stay() -> None:
            async with self.room.reserve(name[0], units * UNIT):
                self.inside.append(name)
                await leave.wait()
                self.inside.remove(name)

        self._tasks[name] = asyncio.create_task(stay()), leave
        await asyncio.sleep(0)

    async def go(self, name: str, *, cancelled: bool = False) -> None:
        """Let a request end, also one that waits."""
        task, leave = self._tasks.pop(name)
        if cancelled:
            task.cancel()
        leave.set()
        await asyncio.wait([task])
        await asyncio.sleep(0)


async def test_a_request_waits_for_room_and_gets_what_another_leaves() -> None:
    guests = Guests(3, 3)
    for name in ("a1", "a2", "b1", "b2"):
        await guests.come(name)
    assert guests.inside == ["a1", "a2", "b1"]
    await guests.go("a1")
    assert guests.inside == ["a2", "b1", "b2"]


async def test_a_key_leaves_room_for_others() -> None:
    guests = Guests(4, 2)
    for name in ("a1", "a2", "a3", "b1", "b2"):
        await guests.come(name)
    assert guests.inside == ["a1", "a2", "b1", "b2"]
    await guests.go("b1")
    assert "a3" not in guests.inside
    await guests.go("a2")
    assert guests.inside == ["a1", "b2", "a3"]


async def test_a_large_body_of_a_key_is_not_passed_by_its_own_small_ones() -> None:
    guests = Guests(4, 2)
    await guests.come("a1")
    await guests.come("a2", 2)
    await guests.come("a3")
    assert guests.inside == ["a1"]
    await guests.go("a1")
    assert guests.inside == ["a2"]
    await guests.go("a2")
    assert guests.inside == ["a3"]


async def test_a_body_larger_than_all_room_comes_alone() -> None:
    guests = Guests(2, 1)
    await guests.come("a1", 5)
    await guests.come("b1", 5)
    assert guests.inside == ["a1"]
    await guests.go("a1")
    assert guests.inside == ["b1"]


async def test_one_that_stops_waiting_takes_no_room() -> None:
    guests = Guests(1, 1)
    for name in ("a1", "b1", "c1"):
        await guests.come(name)
    await guests.go("b1", cancelled=True)
    await guests.go("a1")
    assert guests.inside == ["c1"]
    await guests.go("c1")
    await guests.come("d1")
    assert guests.inside == ["d1"]


async def test_room_that_a_cancelled_request_just_got_is_free_again() -> None:
    room = BodyRoom(UNIT, UNIT)
    async with AsyncExitStack() as first:
        await first.enter_async_context(room.reserve("a", UNIT))

        async def wait() -> None:
            async with room.reserve("b", UNIT):
                raise AssertionError

        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0)
        await first.aclose()
        waiting.cancel()
        await asyncio.wait([waiting])
        assert waiting.cancelled()
    async with asyncio.timeout(10), room.reserve("c", UNIT):
        pass


async def test_a_small_body_needs_no_room() -> None:
    room = BodyRoom(1, 1)
    async with asyncio.timeout(10), room.reserve("a", UNIT), room.reserve("a", SMALL):
        pass
