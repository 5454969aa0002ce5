"""T8: a lock around user code.

Elsewhere 8 threads that each sleep 50 ms behind one breaker take 0.402 s instead of 0.051 s.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import tarry
from tarry import Breaker, Fixed, Policy, Quota, Ratio

THREADS = 8


def met(function: Callable[[], object]) -> bool:
    """Whether so many threads are in the function at the same time; nobody measures any time."""
    with ThreadPoolExecutor(THREADS) as pool:
        calls = [pool.submit(function) for _ in range(THREADS)]
        return all(call.exception() is None for call in calls)


@pytest.mark.parametrize("phase", ["closed", "half-open"])
@pytest.mark.parametrize("budget", [Quota, Ratio])
def test_8_threads_are_in_a_guarded_function_at_once(
    phase: str, budget: Callable[[], Quota | Ratio], push: Callable[[float], None]
) -> None:
    barrier = threading.Barrier(THREADS)
    breaker = Breaker(failures=3, rate=0.9, slow=60, open_for=10, jitter=0, probes=THREADS)
    if phase == "half-open":
        breaker.trip()
        push(10)

    @tarry.retry(Policy(backoff=Fixed(0)), on=KeyError, breaker=breaker, budget=budget())
    def works() -> None:
        barrier.wait(timeout=20)  # raises unless all the others come too

    assert met(works)


def test_8_threads_are_in_one_breakers_block_and_decorator_at_once() -> None:
    barrier = threading.Barrier(THREADS)
    breaker = Breaker()

    def block() -> None:
        with breaker.calling():
            barrier.wait(timeout=20)

    assert met(block)
    assert met(breaker(lambda: barrier.wait(timeout=20)))


def test_8_threads_are_in_one_predicate_and_one_hook_at_once() -> None:
    in_predicate, in_hook = threading.Barrier(THREADS), threading.Barrier(THREADS)

    def predicate(_: Exception) -> bool:
        in_predicate.wait(timeout=20)
        return False

    def hook(_: object) -> None:
        in_hook.wait(timeout=20)

    @tarry.retry(on=predicate, hooks=hook, breaker=Breaker(), budget=Quota())
    def fails() -> None:
        raise KeyError

    def caught() -> None:
        with pytest.raises(KeyError):
            fails()

    assert met(caught)


def test_8_threads_are_in_a_generator_at_once() -> None:
    barrier = threading.Barrier(THREADS)
    breaker = Breaker(rate=0.5)

    @breaker
    def items() -> Iterator[int]:
        yield barrier.wait(timeout=20)
        yield barrier.wait(timeout=20)

    assert met(lambda: list(items()))
