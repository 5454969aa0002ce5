"""T10: half-open stampede.

Elsewhere all 100 of 100 concurrent calls went through while the first probe was in flight.
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest

import tarry
from tarry import Breaker, CircuitOpen, Policy

CALLS = 100


@pytest.fixture
def breaker(push: Callable[[float], None]) -> Breaker:
    """A circuit whose open time is just over."""
    breaker = Breaker(failures=1, open_for=30, jitter=0)
    breaker.trip()
    push(30)
    return breaker


@pytest.mark.anyio
async def test_of_100_tasks_exactly_one_is_the_probe(breaker: Breaker) -> None:
    in_flight, answered, refused = list[int](), anyio.Event(), list[CircuitOpen]()

    @tarry.retry(Policy(), on=KeyError, breaker=breaker)
    async def works() -> None:
        in_flight.append(1)
        await answered.wait()

    async def call() -> None:
        try:
            await works()
        except CircuitOpen as error:
            refused.append(error)

    async with anyio.create_task_group() as group:
        for _ in range(CALLS):
            group.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        assert (len(in_flight), len(refused)) == (1, CALLS - 1)
        answered.set()
    assert breaker.phase == "closed"
    assert {error.retry_in for error in refused} == {30.0}


def test_of_100_threads_exactly_one_is_the_probe(breaker: Breaker) -> None:
    in_flight, all_asked = list[int](), threading.Barrier(CALLS)

    def works() -> None:
        in_flight.append(1)
        all_asked.wait(timeout=20)

    def call() -> bool:
        try:
            breaker(works)()
        except CircuitOpen:
            all_asked.wait(timeout=20)
            return False
        return True

    with ThreadPoolExecutor(CALLS) as pool:
        answers = [asked.result() for asked in [pool.submit(call) for _ in range(CALLS)]]
    assert answers.count(True) == len(in_flight) == 1
    assert breaker.phase == "closed"


def test_a_probe_that_fails_shuts_the_circuit_to_all_again(breaker: Breaker) -> None:
    with pytest.raises(KeyError):
        breaker(dict[int, int]().__getitem__)(1)
    for _ in range(CALLS):
        with pytest.raises(CircuitOpen):
            breaker(len)("x")
