"""Rows for lanes: one query for many, each row once, and no more than memory has room for."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, cast

import pytest
from msgspec.structs import replace

from tarry.core.pace import Pace, Phase
from tarry.errors import StoreUnavailable
from tarry.service.dispatch.context import Context
from tarry.service.dispatch.lane.allowance import Allowance
from tarry.service.dispatch.lane.backlog import Backlog
from tarry.service.dispatch.limits.gate import Gate
from tarry.service.dispatch.ownership.lane_loader import MOST_BYTES, READ_TOGETHER, read_rows_once
from tarry.service.dispatch.work import Signals, Work
from tarry.service.model.lane import Due, Fetched, LaneRow, Stream, Want
from tarry.service.model.settings import Limits
from tarry.service.store.kinds import Environment
from tarry.service.store.memory.store import MemoryStore
from tarry.testing.samples import ENVIRONMENT, NOON, an_application, an_endpoint, new_message
from tarry.testing.shaky_store import slow
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import virtual_service
from tests.service.dispatch.test_context import a_context

if TYPE_CHECKING:
    from tarry.service.dispatch.lane.lane import Lane

APPLICATION = an_application()


class FakeLane:
    """The part of a lane that gets rows. It hands out all of them, unless told to keep them."""

    def __init__(self, context: Context, row: LaneRow) -> None:
        self.number = row.lane
        self.context = context
        self.backlog = Backlog(row, context.buffered)
        self.gates = Gates()
        self.allowance = Allowance(0.0)
        self.allowance.limit(8, None)
        self.has_left = self.keeps = False
        self.pumped = 0
        self.version = row.version
        self.handed: list[Due] = []

    tenant = APPLICATION.id
    in_flight = 0

    def pump(self) -> None:
        self.pumped += 1
        buffer = self.backlog.buffer
        while not self.keeps and (row := buffer.next(NOON, self.gates.phase)) is not None:
            self.handed.append(row)

    @property
    def seqs(self) -> list[int]:
        return [row.seq for row in self.handed]


class Gates:
    """A closed gate."""

    current = Gate(Pace(), lambda: 0.5)
    phase = Phase.CLOSED


class Watched(MemoryStore):
    """A store that remembers what it was asked for, and where something happens meanwhile."""

    def __init__(self) -> None:
        super().__init__(clock=lambda: NOON)
        self.asked: list[list[Want]] = []
        self.most_bytes = 0
        self.meanwhile: Callable[[], Awaitable[None]] | None = None

    async def fetch(self, wants: Sequence[Want], *, now: float, most_bytes: int) -> Fetched:
        self.asked.append(list(wants))
        self.most_bytes = most_bytes
        if self.meanwhile is not None:
            await self.meanwhile()
        return await super().fetch(wants, now=now, most_bytes=most_bytes)


class Table:
    """A store, a context, and lanes of one application that sit at it."""

    def __init__(self, **limits: int) -> None:
        self.store = Watched()
        self.context = a_context(**limits)
        self.work = Work["Lane"](Signals())

    async def lanes(self, count: int = 1) -> list[FakeLane]:
        """Hungry lanes, each of an endpoint."""
        await self.store.put(Environment(ENVIRONMENT))
        await self.store.put(APPLICATION)
        made = []
        for _ in range(count):
            endpoint = await self.store.put(an_endpoint(APPLICATION))
            (row,) = await self.store.lanes([endpoint.lane])
            made.append(FakeLane(self.context, row))
        for lane in made:
            self.seat(lane)
        return made

    def seat(self, lane: FakeLane) -> None:
        lane.backlog.ask()
        self.work.request_rows(cast("Lane", lane))

    async def add(self, count: int, payload: bytes = b"{}") -> None:
        await self.store.add([new_message(APPLICATION, payload=payload) for _ in range(count)])

    @property
    def numbers(self) -> list[int]:
        """The lanes that need rows."""
        return [lane.number for lane in self.work.need_rows]

    async def read(self) -> None:
        await read_rows_once(self.store, self.context, self.work)


@virtually
async def test_lanes_that_need_rows_get_their_rows_in_order_and_send() -> None:
    table = Table()
    one, other = await table.lanes(2)
    await table.add(3)
    await table.read()
    for lane in (one, other):
        assert lane.seqs == [1, 2, 3]
        assert {row.lane for row in lane.handed} == {lane.number}
        assert (lane.backlog.asking, lane.pumped, lane.backlog.waiting(0)) == (False, 1, 3)
    assert not table.work.need_rows
    assert len(table.store.asked) == 1


@virtually
async def test_a_lane_without_rows_is_taken_off_the_list_as_well() -> None:
    table = Table()
    (lane,) = await table.lanes()
    await table.read()
    assert (lane.backlog.asking, lane.pumped, lane.handed) == (False, 1, [])
    assert lane.backlog.buffer.drained()


@virtually
async def test_those_that_have_waited_longest_are_fed_first() -> None:
    table = Table()
    lanes = await table.lanes(READ_TOGETHER + 2)
    await table.read()
    assert [lane.pumped for lane in lanes] == [1] * READ_TOGETHER + [0, 0]
    assert table.numbers == [lane.number for lane in lanes[READ_TOGETHER:]]


@virtually
async def test_when_the_store_fails_all_lanes_still_need_rows_except_those_that_have_left() -> None:
    table = Table()
    one, other, third = await table.lanes(3)
    await table.add(1)
    other.has_left = True

    async def busy() -> None:
        await asyncio.sleep(0)
        raise StoreUnavailable("try again")

    table.store.meanwhile = busy
    with pytest.raises(StoreUnavailable):
        await table.read()
    assert table.numbers == [one.number, third.number]
    assert (one.backlog.asking, one.pumped) == (True, 0)
    table.store.meanwhile = None
    await table.read()
    assert [one.seqs, third.seqs] == [[1], [1]]


@virtually
async def test_who_begins_anew_meanwhile_gets_nothing_old_and_asks_again() -> None:
    table = Table()
    one, other = await table.lanes(2)
    await table.add(2)

    async def rewind() -> None:
        await asyncio.sleep(0)
        one.backlog.buffer.forget_rows()

    table.store.meanwhile = rewind
    await table.read()
    assert [one.seqs, other.seqs] == [[], [1, 2]]
    assert one.pumped == 1
    table.store.meanwhile = None
    table.seat(one)
    await table.read()
    assert one.seqs == [1, 2]


@virtually
async def test_who_knows_an_older_endpoint_gets_nothing_before_it_has_looked_again() -> None:
    table = Table()
    late, other = await table.lanes(2)
    stored = (await table.store.lanes([late.number]))[0].endpoint
    await table.store.put(replace(stored, url="https://new.example"))
    await table.add(2)
    await table.read()
    assert list(table.work.to_load) == [late.number]
    assert (late.seqs, late.backlog.asking, late.pumped) == ([], False, 0)
    assert (other.seqs, other.pumped) == ([1, 2], 1)
    assert not table.work.need_rows, "it does not ask over and over"
    late.version += 1
    late.backlog.buffer.forget_rows()
    table.seat(late)
    await table.read()
    assert (late.seqs, list(table.work.to_load)) == ([1, 2], [late.number])


@virtually
async def test_who_was_told_of_the_change_meanwhile_need_not_look_again() -> None:
    table = Table()
    (lane,) = await table.lanes()

    async def change() -> None:
        await table.store.put(replace(APPLICATION, rate=7.0))
        await table.add(1)
        lane.version += 1
        lane.backlog.buffer.forget_rows()

    table.store.meanwhile = change
    await table.read()
    assert (table.work.to_load, lane.seqs, lane.pumped) == ({}, [], 1)


@virtually
async def test_one_that_came_back_gets_what_is_fresh_apart_from_its_backlog() -> None:
    table = Table()
    (lane,) = await table.lanes()
    await table.add(20)
    lane.backlog.mark_fresh()
    table.store.meanwhile = lambda: table.add(2)
    await table.read()
    wanted = [want for want in table.store.asked[0] if want.stream is Stream.READY]
    assert [(want.after, want.before) for want in wanted] == [(0, 21), (20, None)]
    assert lane.seqs == [21, 22, *range(1, 9)]
    assert not lane.backlog.marks_fresh


@virtually
async def test_with_no_room_in_memory_only_who_has_nothing_gets_one_row() -> None:
    table = Table(buffered_bytes=10)
    full, empty = await table.lanes(2)
    await table.add(3, payload=b"x" * 8)
    full.keeps = empty.keeps = True
    del table.work.need_rows[cast("Lane", empty)]
    await table.read()
    assert full.backlog.buffer.at_hand(NOON) == 1
    assert table.context.buffered.bytes == 8
    table.context.buffered.add(8)  # another lane's
    for lane in (full, empty):
        table.seat(lane)
    await table.read()
    assert {
        (want.lane, want.limit) for want in table.store.asked[1] if want.stream != "resend"
    } == {(empty.number, 1)}
    assert table.store.most_bytes == 0
    assert (full.backlog.buffer.at_hand(NOON), empty.backlog.buffer.at_hand(NOON)) == (1, 1)


@virtually
async def test_while_there_is_no_room_in_memory_the_store_is_not_asked_over_and_over() -> None:
    between = slow(0.001)
    limits = Limits(buffered_bytes=1000)
    async with virtual_service(through=between, limits=limits) as service:
        await service.store.put(replace(service.application, rate=1.0))
        await service.add_endpoint("a.example")
        await service.add(40, payload=b"x" * 600)
        await asyncio.sleep(20.5)
        assert len(service.sender.sent) == 20
        assert between.shaky.calls < 300


@virtually
async def test_what_did_not_fit_is_asked_for_again() -> None:
    table = Table(buffered_bytes=1_500_000)
    (lane,) = await table.lanes()
    await table.add(5, payload=b"x" * 600_000)
    handed = []
    for _ in range(3):
        await table.read()
        handed.append(len(lane.handed))
        table.seat(lane)
    assert handed == [2, 4, 5]
    assert lane.seqs == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("buffered", "most"), [(0, MOST_BYTES), (30 * 1024 * 1024, 2 * 1024 * 1024)]
)
@virtually
async def test_no_more_bytes_are_asked_for_than_there_is_room_for(buffered: int, most: int) -> None:
    table = Table(buffered_bytes=32 * 1024 * 1024)
    await table.lanes()
    table.context.buffered.bytes = buffered
    await table.read()
    assert table.store.most_bytes == most
