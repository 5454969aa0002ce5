import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.backoff import Backoff, Exponential, Fibonacci, Fixed, Linear, Schedule
from tarry.core.jitter import Decorrelated, Equal, Full, Jitter, NoJitter, Percent, Smooth
from tarry.core.policy import Policy
from tarry.sim.attempt_count import MOST_ATTEMPTS, most_attempts

ENDLESS = Policy(backoff=Fixed(10), jitter=Full(), attempts=None, within=None)
CURVES = [
    Fixed(2),
    Linear(step=1, cap=20),
    Exponential(base=1, cap=60),
    Exponential(base=0.001, factor=1.0001, cap=1e6),
    Fibonacci(base=1, cap=30),
    Schedule([1, 5, 20]),
]
JITTERS = [NoJitter(), Full(), Equal(), Percent(0.5), Smooth(), Decorrelated()]


def test_jitter_may_halve_the_waits_and_an_attempt_takes_its_time() -> None:
    assert most_attempts(ENDLESS, 99) == 20
    assert most_attempts(ENDLESS, 100) == 21
    assert most_attempts(ENDLESS, 99, took=5) == 10


def test_decorrelated_jitter_may_leave_a_sixth() -> None:
    assert most_attempts(ENDLESS.replace(jitter=Decorrelated()), 99) == 60


def test_the_limits_of_the_policy_hold() -> None:
    assert most_attempts(ENDLESS.replace(attempts=7), 99) == 7
    assert most_attempts(ENDLESS.replace(within=49), 99) == 10


def test_there_is_a_first_attempt_and_nobody_counts_for_ever() -> None:
    assert most_attempts(ENDLESS, -5) == 1
    assert most_attempts(ENDLESS.replace(backoff=Fixed(0)), 1) == MOST_ATTEMPTS


def test_a_high_cap_that_is_never_reached_changes_nothing() -> None:
    slow = ENDLESS.replace(backoff=Exponential(base=0.001, factor=1.0001, cap=1e6))
    assert most_attempts(slow, 3600, took=0.05) > 30_000


@pytest.mark.parametrize("backoff", CURVES, ids=str)
@pytest.mark.parametrize("jitter", JITTERS, ids=str)
def test_calls_seldom_make_more(backoff: Backoff, jitter: Jitter) -> None:
    policy = ENDLESS.replace(backoff=backoff, jitter=jitter)
    draw = random.Random(1).random
    made = []
    for _ in range(4):
        now, attempts, memory = 0.0, 0, None
        while now <= 1_000:
            attempts += 1
            wait, memory = policy.wait(attempts, memory, draw())
            now += wait + 0.05
        made.append(attempts)
    assert sum(made) / len(made) <= 1.1 * most_attempts(policy, 1_000, took=0.05) + 5


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.sampled_from(CURVES), st.floats(0.001, 10))
def test_more_time_never_means_fewer(
    one: float, other: float, backoff: Backoff, took: float
) -> None:
    policy = ENDLESS.replace(backoff=backoff)
    short, long = (most_attempts(policy, span, took=took) for span in sorted((one, other)))
    assert 1 <= short <= long
