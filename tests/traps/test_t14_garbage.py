"""T14: garbage.

Cyclic objects left per failing call of three attempts, collector off: a hand-written loop leaves
none, others 44 to 65. Frames and all they refer to live until the collector runs.
"""

import gc
import weakref
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import suppress
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import tarry
from tarry import (
    AttemptTimedOut,
    Breaker,
    BudgetSpent,
    CircuitOpen,
    Failure,
    Fixed,
    GaveUp,
    Policy,
    Quota,
    Ratio,
)

THREE = Policy(backoff=Fixed(0), attempts=3)
CALLS = 20


class Payload:
    """Something big in a local of the failing frame."""


alive: "weakref.WeakSet[Payload]" = weakref.WeakSet()


def fails() -> None:
    payload = Payload()
    alive.add(payload)
    raise KeyError


def works() -> int:
    return 1


async def fails_later() -> None:
    await anyio.lowlevel.checkpoint()
    fails()


async def works_later() -> int:
    await anyio.lowlevel.checkpoint()
    return 1


def fails_at_first() -> Callable[[], int]:
    tries: list[int] = []

    def function() -> int:
        tries.append(1)
        if len(tries) < 3:
            fails()
        return 1

    return function


def items() -> Iterator[int]:
    fails()
    yield 1


def numbers() -> Iterator[int]:
    yield 1
    yield 2


async def async_items() -> AsyncIterator[int]:
    fails()
    yield 1


async def async_numbers() -> AsyncIterator[int]:
    yield 1
    yield 2


FORGOTTEN = (KeyError, GaveUp, CircuitOpen, BudgetSpent, AttemptTimedOut, ZeroDivisionError)


def quiet(call: Callable[[], object]) -> None:
    """Make a call and forget what it raised."""
    with suppress(*FORGOTTEN):
        call()


async def quiet_later(call: Callable[[], Any]) -> None:
    with suppress(*FORGOTTEN):
        await call()


@pytest.fixture(scope="module", autouse=True)
def all_that_was_before() -> None:
    """Set it aside: it is none of ours, and to look through it takes long after so many tests."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def no_collector() -> Generator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def cyclic_garbage(call: Callable[[], object]) -> int:
    """How many objects so many calls leave for the collector; what loads itself is not counted."""
    call()
    gc.collect()
    for _ in range(CALLS):
        call()
    assert not alive, "the frame of a failed attempt is still there"
    return gc.collect()


async def cyclic_garbage_later(call: Callable[[], Any]) -> int:
    await quiet_later(call)
    gc.collect()
    for _ in range(CALLS):
        await quiet_later(call)
    assert not alive, "the frame of a failed attempt is still there"
    return gc.collect()


def ignore(_: object) -> None:
    pass


def ask_again(_: object) -> Failure:
    return Failure(retry_after=0)


WAYS: dict[str, Callable[[], dict[str, Any]]] = {
    "light": dict,
    "bare": lambda: {"scoped": False},
    "hooks": lambda: {"hooks": ignore},
    "breaker and quota": lambda: {"breaker": Breaker(failures=10**9), "budget": Quota(1e9)},
    "breaker and ratio": lambda: {
        "breaker": Breaker(failures=None, rate=1.0, minimum=10**9),
        "budget": Ratio(1.0, 10, 10**9),
    },
    "breaker, quota and hooks": lambda: {
        "breaker": Breaker(failures=10**9),
        "budget": Quota(1e9),
        "hooks": ignore,
    },
    "a breaker that opens": lambda: {"breaker": Breaker(failures=2)},
    "a budget that is spent": lambda: {"budget": Quota(5, 5, 0)},
}


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("way", WAYS)
class TestEveryWay:
    def test_plain_calls_leave_none(self, way: str) -> None:
        retried = tarry.retry(THREE, on=KeyError, **WAYS[way]())
        for function in (works, fails):
            wrapped = retried(function)
            assert cyclic_garbage(lambda wrapped=wrapped: quiet(wrapped)) == 0  # type: ignore[misc]

    def test_calls_that_succeed_in_the_end_leave_none(self, way: str) -> None:
        retried = tarry.retry(THREE, on=KeyError, **WAYS[way]())
        tried = [retried(fails_at_first()) for _ in range(CALLS + 1)]
        assert cyclic_garbage(lambda: quiet(tried.pop())) == 0

    def test_polls_and_bad_results_leave_none(self, way: str) -> None:
        for named in ({"until": ignore}, {"on_result": ask_again}):
            poll = tarry.retry(THREE, **named, **WAYS[way]())(works)
            assert cyclic_garbage(lambda poll=poll: quiet(poll)) == 0  # type: ignore[misc]

    def test_generators_leave_none(self, way: str) -> None:
        retried = tarry.retry(THREE, on=KeyError, **WAYS[way]())

        def first_of(function: Callable[[], Iterator[int]]) -> Callable[[], object]:
            return lambda: quiet(lambda: next(retried(function)()))

        for function in (items, numbers):
            assert cyclic_garbage(first_of(function)) == 0
        running = retried(numbers)
        assert cyclic_garbage(lambda: quiet(lambda: list(running()))) == 0

    def test_what_is_thrown_into_generators_leaves_none(self, way: str) -> None:
        running = tarry.retry(THREE, on=KeyError, **WAYS[way]())(numbers)

        def throw() -> None:
            some: Any = running()
            next(some)
            some.throw(KeyError())

        assert cyclic_garbage(lambda: quiet(throw)) == 0

    def test_blocks_leave_none(self, way: str) -> None:
        attempts = tarry.attempts(THREE, on=KeyError, **WAYS[way]())

        def block(function: Callable[[], object]) -> None:
            for attempt in attempts:
                with attempt:
                    function()

        for function in (works, fails):
            assert cyclic_garbage(lambda function=function: quiet(lambda: block(function))) == 0  # type: ignore[misc]

    @pytest.mark.anyio
    async def test_async_calls_leave_none(self, way: str) -> None:
        retried = tarry.retry(THREE, on=KeyError, **WAYS[way]())
        for call in (retried(fails_later), retried(works_later)):
            assert await cyclic_garbage_later(call) == 0

    @pytest.mark.anyio
    async def test_async_generators_leave_none(self, way: str) -> None:
        retried = tarry.retry(THREE, on=KeyError, **WAYS[way]())

        async def first() -> None:
            await anext(retried(async_items)())

        async def some() -> None:
            async for _ in retried(async_numbers)():
                pass

        for call in (first, some):
            assert await cyclic_garbage_later(call) == 0

    @pytest.mark.anyio
    async def test_async_blocks_leave_none(self, way: str) -> None:
        attempts = tarry.attempts(THREE, on=KeyError, **WAYS[way]())

        async def block() -> None:
            async for attempt in attempts:
                async with attempt:
                    await fails_later()

        async def half_async_block() -> None:
            async for attempt in attempts:
                with attempt:
                    await fails_later()

        for call in (block, half_async_block):
            assert await cyclic_garbage_later(call) == 0


@pytest.mark.usefixtures("no_collector")
def test_hand_written_loops_leave_none_and_the_test_can_tell() -> None:
    def loop() -> None:
        for attempt in range(3):
            try:
                return fails()
            except KeyError:
                if attempt == 2:
                    raise
        return None

    def keeps() -> None:
        try:
            fails()
        except KeyError as error:
            kept = error  # the frame holds the error that holds the frame
            raise kept from None

    assert cyclic_garbage(lambda: quiet(loop)) == 0
    quiet(keeps)
    assert gc.collect() > 0


@pytest.mark.usefixtures("no_collector")
def test_refusals_and_predicates_that_raise_leave_none() -> None:
    breaker, quota = Breaker(failures=1), Quota(5, 5, 0)
    breaker.trip()
    quota.spend()

    def broken(_: Exception) -> bool:
        raise ZeroDivisionError

    for call in (
        breaker(works),
        quota.spend,
        tarry.retry(THREE, on=KeyError, breaker=breaker)(works),
        tarry.retry(THREE, on=broken)(fails),
        tarry.retry(THREE, on=broken, breaker=Breaker())(fails),
        tarry.retry(THREE, until=broken)(works),
    ):
        assert cyclic_garbage(lambda call=call: quiet(call)) == 0  # type: ignore[misc]


@pytest.mark.anyio
@pytest.mark.usefixtures("no_collector")
async def test_attempts_that_are_cut_off_leave_no_more_than_a_timeout_by_hand() -> None:
    cut = THREE.replace(attempt_timeout=0.000_1)
    attempts = tarry.attempts(cut, on=KeyError)

    async def by_hand() -> None:
        for _ in range(3):
            with suppress(TimeoutError), anyio.fail_after(0.000_1):
                await anyio.sleep(60)

    async def block() -> None:
        async for attempt in attempts:
            async with attempt:
                await anyio.sleep(60)

    allowed = await cyclic_garbage_later(by_hand)
    retried = tarry.retry(cut, on=KeyError)(anyio.sleep)
    assert await cyclic_garbage_later(lambda: retried(60)) <= allowed
    assert await cyclic_garbage_later(block) <= allowed
