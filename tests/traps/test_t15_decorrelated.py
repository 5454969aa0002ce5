"""T15: decorrelated jitter.

The published formula never waits less than the base and starts in [base, 3 x base]. Its memory is
a call's own: elsewhere it is the last sleep, so that a wait the server asked for feeds the next.
"""

from itertools import islice
from random import Random

import anyio
import pytest

import tarry
from tarry import Decorrelated, Exponential, Failure, Policy
from tarry.call.world import world

BASE, CAP = 1.0, 60.0
POLICY = Policy(
    backoff=Exponential(base=BASE, cap=CAP), jitter=Decorrelated(), attempts=6, within=None
)


def test_the_first_wait_is_between_the_base_and_three_times_it() -> None:
    first = [next(POLICY.waits(seed=seed)) for seed in range(2_000)]
    assert BASE <= min(first) < BASE * 1.01
    assert 2.99 * BASE < max(first) <= 3 * BASE
    assert sum(first) / len(first) == pytest.approx(2 * BASE, rel=0.02)


def test_no_wait_is_below_the_base_or_above_three_times_the_last_or_the_cap() -> None:
    for seed in range(200):
        last = BASE
        for wait in islice(POLICY.waits(seed=seed), 50):
            assert BASE <= wait <= min(CAP, 3 * last)
            last = wait


def test_calls_one_after_the_other_all_begin_at_the_base(slept: list[float]) -> None:
    for _ in range(200):
        with pytest.raises(KeyError):
            POLICY.call(dict[int, int]().__getitem__, 1, on=KeyError)
    assert max(slept[::5]) <= 3 * BASE
    assert max(slept) > 9 * BASE


@pytest.mark.anyio
async def test_calls_at_once_do_not_feed_each_other(
    slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a draw of nearly 1 each wait is three times the last of the same call, exactly."""
    monkeypatch.setattr(world, "draw", lambda: 1.0)

    async def fails() -> None:
        raise KeyError

    async def call() -> None:
        with pytest.raises(KeyError):
            await POLICY.acall(fails, on=KeyError)

    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(call)
    assert sorted(slept) == sorted([3.0, 9.0, 27.0, 60.0, 60.0] * 50)


def test_a_wait_the_server_asked_for_does_not_feed_the_next(
    slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world, "draw", lambda: 1.0)
    asked = iter([None, 50.0, None, 50.0, None, None])

    @tarry.retry(POLICY, on=lambda _: Failure(retry_after=next(asked)))
    def fails() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        fails()
    own = [slept[0], slept[2], slept[4]]
    assert own == [3.0, 9.0, 27.0]
    assert min(slept[1], slept[3]) >= 50


def test_the_waits_of_a_seed_are_those_of_the_formula() -> None:
    draws, last, wanted = Random(7), BASE, list[float]()
    for _ in range(20):
        last = BASE + draws.random() * (min(CAP, 3 * last) - BASE)
        wanted.append(last)
    assert list(islice(POLICY.waits(seed=7), 20)) == wanted
