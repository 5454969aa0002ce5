"""T12: lost probes.

Elsewhere a half-open probe cancelled by a timeout leaves the breaker half-open for ever, and one
that never reports keeps everybody waiting. The rule: a probe is a lease with an expiry.
"""

import asyncio
from collections.abc import Callable, Generator
from types import coroutine

import anyio
import pytest

import tarry
from tarry import Breaker, CircuitOpen, Policy


@pytest.fixture
def breaker(push: Callable[[float], None]) -> Breaker:
    """A circuit whose open time is just over; a probe's lease is 5 s."""
    breaker = Breaker(failures=1, open_for=30, jitter=0, lease=5)
    breaker.trip()
    push(30)
    return breaker


def test_a_probe_cancelled_by_a_timeout_makes_room_for_another_at_once(breaker: Breaker) -> None:
    @tarry.retry(Policy(), on=KeyError, breaker=breaker)
    async def hangs() -> None:
        await asyncio.sleep(60)

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(hangs(), 0.01)

    asyncio.run(main())
    assert breaker.phase == "half-open"
    assert breaker(len)("x") == 1
    assert breaker.phase == "closed"


@pytest.mark.anyio
async def test_likewise_under_every_event_loop_and_in_blocks(breaker: Breaker) -> None:
    with anyio.move_on_after(0.01):
        async for attempt in tarry.attempts(Policy(), on=KeyError, breaker=breaker):
            async with attempt:
                await anyio.sleep_forever()
    assert breaker.phase == "half-open"
    assert breaker(len)("x") == 1


@coroutine
def suspension() -> Generator[None]:
    yield


def test_a_probe_that_never_reports_is_given_up_when_its_lease_is_over(
    breaker: Breaker, push: Callable[[float], None]
) -> None:
    @breaker
    async def never_comes_back() -> None:
        await suspension()

    lost = never_comes_back()
    lost.send(None)
    for _ in range(4):
        with pytest.raises(CircuitOpen):
            breaker(len)("x")
        push(1.25)
    assert breaker(len)("x") == 1
    assert breaker.phase == "closed"
    with pytest.raises(StopIteration):  # and when it comes back after all, nobody listens
        lost.send(None)
    assert breaker.phase == "closed"


def test_a_lost_probe_that_fails_in_the_end_does_not_open_what_another_has_closed(
    breaker: Breaker, push: Callable[[float], None]
) -> None:
    late = breaker.calling()
    late.__enter__()
    push(5)
    assert breaker(len)("x") == 1
    late.__exit__(KeyError, KeyError(), None)
    assert breaker.phase == "closed"


def test_a_circuit_comes_back_though_every_other_probe_is_lost(
    breaker: Breaker, push: Callable[[float], None]
) -> None:
    for _ in range(100):
        breaker.enter()
        with pytest.raises(CircuitOpen) as caught:
            breaker.enter()
        push(caught.value.retry_in)
    assert breaker(len)("x") == 1
    assert breaker.phase == "closed"
