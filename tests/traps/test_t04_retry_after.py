"""T4: Retry-After.

Elsewhere jitter shrinks it (all of 5,000 draws below the 60 s asked for), a cap cuts it short and
the client knocks early, `0` is not taken for "now", all clients come back in the same instant, and
a negative or odd value raises in place of the user's error.
"""

from collections import Counter

import pytest

import tarry
from tarry import (
    Decorrelated,
    Equal,
    Exponential,
    Failure,
    Fixed,
    Full,
    GaveUp,
    NoJitter,
    Percent,
    Policy,
    RetryAfter,
    Smooth,
    Why,
)
from tarry.core.jitter import Jitter
from tarry.observe import Event, GivenUp

JITTERS: list[Jitter] = [NoJitter(), Full(), Equal(), Percent(0.5), Decorrelated(), Smooth()]


def busy(asked: float, policy: Policy) -> None:
    """One call that is told to come back in so many seconds, and then succeeds."""
    answers = [Failure(retry_after=asked), None]
    tarry.retry(policy, on_result=lambda answer: answer)(lambda: answers.pop(0))()


@pytest.mark.parametrize("jitter", JITTERS, ids=repr)
def test_it_is_a_floor_with_jitter_on_top(jitter: Jitter, slept: list[float]) -> None:
    policy = Policy(backoff=Exponential(base=0.1, cap=10), jitter=jitter, within=None)
    for _ in range(1_000):
        busy(60, policy)
    assert min(slept) >= 60
    assert max(slept) <= 90
    assert Counter(slept).most_common(1)[0][1] <= 2
    assert max(slept) - min(slept) > 20  # they do not come back in the same instant


def test_it_is_never_cut_short_but_handed_to_the_caller(slept: list[float]) -> None:
    heard: list[Event] = []
    policy = Policy(backoff=Exponential(base=0.1, cap=10), retry_after=RetryAfter(at_most=60))
    with pytest.raises(GaveUp) as caught:
        tarry.retry(policy, on_result=lambda _: Failure(retry_after=3_600), hooks=heard.append)(
            lambda: "busy"
        )()
    assert slept == []
    assert (caught.value.why, caught.value.retry_after) == (Why.RETRY_AFTER, 3_600)
    assert isinstance(heard[-1], GivenUp)
    assert heard[-1].retry_after == 3_600


def test_it_is_handed_to_the_caller_too_when_there_is_no_time_for_it(slept: list[float]) -> None:
    with pytest.raises(GaveUp) as caught:
        tarry.retry(Policy(within=20), on_result=lambda _: Failure(retry_after=30))(lambda: 0)()
    assert slept == []
    assert (caught.value.why, caught.value.retry_after) == (Why.WITHIN, 30)


@pytest.mark.parametrize("asked", [0.0, -0.0, -5.0, float("-inf")])
def test_zero_and_less_mean_now(asked: float, slept: list[float]) -> None:
    """A little jitter aside, and that of the first wait only."""
    for _ in range(100):
        busy(asked, Policy(backoff=Fixed(0), jitter=NoJitter()))
    assert slept == []
    busy(asked, Policy(backoff=Exponential(base=0.1, cap=10), jitter=NoJitter()))
    assert slept[0] < 0.1


@pytest.mark.parametrize("asked", [float("nan"), float("inf"), 1e308])
def test_odd_values_never_raise_in_place_of_the_users_error(asked: float) -> None:
    error = ConnectionError()
    policy = Policy(backoff=Fixed(0), attempts=2)

    @tarry.retry(policy, on=lambda _: Failure(retry_after=asked))
    def fails() -> None:
        raise error

    with pytest.raises(ConnectionError) as caught:
        fails()
    assert caught.value is error


def test_it_can_be_left_alone(slept: list[float]) -> None:
    busy(60, Policy(backoff=Fixed(1), jitter=NoJitter(), retry_after=RetryAfter(honour=False)))
    assert slept == [1]
