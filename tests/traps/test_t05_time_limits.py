"""T5: elapsed limits.

Elsewhere a limit of 0.2 s with attempts of 0.3 s makes two of them and takes 0.61 s, and a limit
of 0.3 s with waits of 1 s takes 1 s.
"""

from collections.abc import Callable

import anyio
import pytest

import tarry
from tarry import AttemptTimedOut, Fixed, NoJitter, Policy


def test_after_the_limit_no_attempt_is_begun(
    slept: list[float], push: Callable[[float], None]
) -> None:
    tries: list[int] = []

    @tarry.retry(Policy(backoff=Fixed(0.01), jitter=NoJitter(), within=0.2), on=KeyError)
    def takes_long() -> None:
        tries.append(1)
        push(0.3)
        raise KeyError

    with pytest.raises(KeyError):
        takes_long()
    assert (tries, slept) == ([1], [])


def test_no_wait_is_begun_that_ends_after_the_limit(slept: list[float]) -> None:
    @tarry.retry(Policy(backoff=Fixed(1), jitter=NoJitter(), within=0.3), on=KeyError)
    def fails() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert slept == []


@pytest.mark.parametrize("within", [0.5, 3, 7.5, 44, 1_000])
def test_all_waits_together_stay_within_the_limit(within: float, slept: list[float]) -> None:
    policy = Policy(attempts=None, within=within)
    for _ in range(20):
        before = len(slept)
        with pytest.raises(KeyError):
            policy.call({}.__getitem__, 1, on=KeyError)
        assert sum(slept[before:]) <= within


def test_an_attempt_is_told_the_time_that_remains(push: Callable[[float], None]) -> None:
    told: list[float | None] = []

    @tarry.retry(Policy(backoff=Fixed(1), jitter=NoJitter(), within=10), on=KeyError)
    def asks() -> None:
        told.append(tarry.remaining())
        push(2)
        raise KeyError

    with pytest.raises(KeyError):
        asks()
    assert told == [10, 7, 4, 1]


@pytest.mark.anyio
async def test_an_attempt_gets_the_remaining_time_and_is_cut_off_at_its_end() -> None:
    @tarry.retry(Policy(attempt_timeout=60, within=0.03), on=KeyError)
    async def hangs() -> None:
        await anyio.sleep_forever()

    with anyio.fail_after(60), pytest.raises(AttemptTimedOut) as caught:
        await hangs()
    assert caught.value.seconds <= 0.03


def test_a_call_inside_inherits_the_limit(slept: list[float]) -> None:
    inner_policy = Policy(backoff=Fixed(2), jitter=NoJitter(), within=1_000, nested=True)

    @tarry.retry(Policy(within=5, attempts=2), on=ValueError)
    def outer() -> None:
        inner_policy.call({}.__getitem__, 1, on=KeyError)

    with pytest.raises(KeyError):
        outer()
    assert slept == [2, 2]
