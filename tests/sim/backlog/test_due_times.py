"""Due times of many deliveries, compared with `decide` for each of them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.backoff import Backoff, Exponential, Fibonacci, Fixed, Linear, Schedule
from tarry.core.decide import decide
from tarry.core.jitter import Decorrelated, Equal, Full, Jitter, NoJitter, Percent, Smooth
from tarry.core.outcome import Again, Failure, GiveUp
from tarry.core.policy import Policy, RetryAfter
from tarry.core.progress import Progress
from tarry.sim.backlog.due_times import DueTimes

BACKOFFS: list[Backoff] = [
    Exponential(base=1, cap=60),
    Exponential(base=0.3, cap=7, factor=1.7),
    Fixed(2),
    Fixed(0),
    Linear(1, 20),
    Fibonacci(1, 30),
    Schedule([10, 30, 120, 600]),
]
JITTERS: list[Jitter] = [
    NoJitter(),
    Full(),
    Equal(),
    Percent(0.2),
    Decorrelated(),
    Decorrelated("outside"),
    Smooth(),
]
policies = st.builds(
    Policy,
    backoff=st.sampled_from(BACKOFFS),
    jitter=st.sampled_from(JITTERS),
    attempts=st.none() | st.integers(1, 8),
    within=st.none() | st.floats(0, 300),
    retry_after=st.builds(RetryAfter, honour=st.booleans(), at_most=st.floats(0, 100)),
)
rounds = st.lists(
    st.tuples(
        st.sets(st.integers(0, 5), min_size=1),
        st.floats(0, 2),
        st.none() | st.just(0.0) | st.floats(0, 120),
    ),
    min_size=1,
    max_size=12,
)


@given(policies, st.lists(st.floats(-600, 600), min_size=6, max_size=6), rounds, st.integers(0))
def test_a_crowd_fails_as_each_of_it_would(
    policy: Policy,
    starts: list[float],
    story: list[tuple[set[int], float, float | None]],
    seed: int,
) -> None:
    due_times = DueTimes(policy, np.array(starts), np.random.default_rng(seed))
    draws = np.random.default_rng(seed)
    members = [Progress(started_at=start) for start in starts]
    due, lost = list(starts), 0
    for who, took, asked in story:
        which = [member for member in sorted(who) if due[member] < math.inf]
        now = {member: due[member] + took for member in which}
        due_times.fail(np.array(which, dtype=np.intp), np.array(list(now.values())), asked)
        for member, drawn in zip(which, draws.random(len(which)).tolist(), strict=True):
            match decide(
                policy,
                members[member],
                Failure(retry_after=asked),
                now=now[member],
                draw=[drawn].pop,
            ):
                case Again() as again:
                    due[member] = now[member] + again.delay
                    members[member] = members[member].after(again)
                case GiveUp():
                    due[member], lost = math.inf, lost + 1
        assert due_times.due.tolist() == pytest.approx(due, rel=1e-12, abs=1e-12)
        assert due_times.lost == lost


def test_who_failed_for_good_is_never_due_again() -> None:
    policy = Policy(backoff=Fixed(1), jitter=NoJitter(), attempts=2, within=None)
    due_times = DueTimes(policy, np.zeros(3), np.random.default_rng(1))
    two = np.array([0, 2])
    due_times.fail(two, np.array([0.5, 0.5]))
    assert due_times.due.tolist() == [1.5, 0.0, 1.5]
    due_times.fail(two, np.array([2.0, 2.0]))
    assert due_times.due.tolist() == [math.inf, 0.0, math.inf]
    assert due_times.lost == 2


def test_who_got_through_after_all_is_neither_due_nor_lost() -> None:
    policy = Policy(backoff=Fixed(1), jitter=NoJitter(), attempts=1, within=None)
    due_times = DueTimes(policy, np.zeros(3), np.random.default_rng(1))
    due_times.fail(np.array([0, 1]), np.array([0.5, 0.5]))
    assert due_times.lost == 2
    due_times.leave(np.array([1, 2]))
    assert due_times.due.tolist() == [math.inf] * 3
    assert due_times.lost == 1


def test_a_crowd_asked_to_wait_comes_back_spread_out() -> None:
    due_times = DueTimes(
        Policy(attempts=None, within=None), np.zeros(1_000), np.random.default_rng(1)
    )
    due_times.fail(np.arange(1_000), np.zeros(1_000), 30.0)
    assert due_times.due.min() >= 30
    assert due_times.due.max() <= 45
    assert due_times.due.std() == pytest.approx(15 / math.sqrt(12), rel=0.1)
