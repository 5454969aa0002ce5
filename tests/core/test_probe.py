import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.pace import Pace, PacerRule, Phase, Seen
from tarry.core.pacer import step
from tarry.core.probe import (
    JITTER,
    LONGEST,
    LONGEST_ASKED,
    SHORTEST,
    STEADY_SHORTEST,
    interval,
    probed,
    put_off,
    scheduled,
)
from tarry.core.probe_rule import ProbeRule

RULE = PacerRule()
HOUR, TWO_HOURS, FIVE_DAYS = 3_600.0, 7_200.0, 432_000.0
BACKLOGS = [1, 20, 100, 600, 667, 1_000, 2_000, 10_000, 100_000]

Draw = Callable[[], float]


def by_chance(seed: int) -> Random:
    return Random(seed)


def soonest() -> float:
    return 0.0


def latest() -> float:
    return 1 - 2**-53


def down(waiting: int, capacity: float | None = None, draw: Draw = soonest) -> Pace:
    """A lane that opened at 0."""
    seen = Seen(failed=RULE.failures)
    return step(RULE, Pace(capacity=capacity), seen, now=0.0, waiting=waiting, draw=draw)


def attempts(waiting: int, capacity: float | None, draw: Draw, *, until: float) -> list[float]:
    """When a dead endpoint is called: what opened the lane, and each probe, which fails."""
    pace = down(waiting, capacity, draw)
    made = [0.0] * RULE.failures
    while (now := pace.probe_at) < until:
        made.append(now)
        pace = probed(RULE, pace, now=now, waiting=waiting, draw=draw())
        pace = step(RULE, pace, Seen(failed=1), now=now, waiting=waiting, draw=draw)
    return made


def most_in_a_span(times: Sequence[float]) -> int:
    """Most of these times in any stretch of the rule's span."""
    return max(bisect_left(times, start + RULE.span) - place for place, start in enumerate(times))


def allowed(waiting: int) -> float:
    return max(RULE.allowance * waiting, RULE.least_probes)


def allowed_later(waiting: int) -> float:
    """The most in any stretch: after the first one, no probe may be too late for the age."""
    latest = RULE.probe.latest(RULE.span, waiting=waiting)
    return max(allowed(waiting), (1 + JITTER) * RULE.span / latest)


# --- The allowance ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("waiting", BACKLOGS)
@pytest.mark.parametrize("capacity_of_backlog", [None, 1 / 50])
@pytest.mark.parametrize(
    "draw", [soonest, latest, by_chance(1).random], ids=["soonest", "latest", "by chance"]
)
def test_a_dead_endpoint_is_never_probed_beyond_the_allowance(
    waiting: int, capacity_of_backlog: float | None, draw: Draw
) -> None:
    capacity = None if capacity_of_backlog is None else waiting * capacity_of_backlog
    made = attempts(waiting, capacity, draw, until=TWO_HOURS)
    assert sum(time < RULE.span for time in made) <= allowed(waiting)
    assert most_in_a_span(made) <= allowed_later(waiting)


@given(
    waiting=st.integers(1, 3_000) | st.integers(1, 1_000_000),
    capacity=st.none() | st.floats(0.1, 10_000),
    seed=st.integers(),
    sides=st.sampled_from([(0.0,), (0.0, 1.0), (0.0, 0.0, 1.0), ()]),
)
def test_no_backlog_and_no_chance_breaks_the_allowance(
    waiting: int, capacity: float | None, seed: int, sides: tuple[float, ...]
) -> None:
    chance = by_chance(seed)
    made = attempts(
        waiting,
        capacity,
        (lambda: chance.choice(sides)) if sides else chance.random,
        until=3 * RULE.span,
    )
    assert sum(time < RULE.span for time in made) <= allowed(waiting)
    assert most_in_a_span(made) <= allowed_later(waiting)


@pytest.mark.parametrize("waiting", [1, 1_000, 10_000])
def test_the_allowance_is_used_not_hoarded(waiting: int) -> None:
    made = attempts(waiting, None, by_chance(1).random, until=HOUR)
    assert most_in_a_span(made) >= 0.9 * allowed(waiting)
    late = [time for time in made if time >= HOUR - RULE.span]
    assert len(late) >= 0.9 * min(allowed(waiting), RULE.span / STEADY_SHORTEST)


# --- An outage that goes on ---------------------------------------------------------------------


@pytest.mark.parametrize(("waiting", "most"), [(1, 300), (100, 300), (1_000, 800), (10_000, 2_000)])
@pytest.mark.parametrize("draw", [latest, by_chance(1).random], ids=["latest", "by chance"])
def test_an_endpoint_that_is_down_for_five_days_gets_few_requests(
    waiting: int, most: int, draw: Draw
) -> None:
    assert len(attempts(waiting, None, draw, until=FIVE_DAYS)) <= most


@pytest.mark.parametrize(("waiting", "share"), [(1, 0.05), (999, 0.05), (1_000, 0.01)])
@pytest.mark.parametrize("capacity", [None, 0.01])
@pytest.mark.parametrize(
    "draw", [soonest, latest, by_chance(1).random], ids=["soonest", "latest", "by chance"]
)
def test_after_ten_minutes_no_probe_is_later_than_its_share_of_the_age_or_an_hour(
    waiting: int, share: float, capacity: float | None, draw: Draw
) -> None:
    made = attempts(waiting, capacity, draw, until=FIVE_DAYS)
    for before, after in pairwise(made):
        if after > RULE.span:
            ended = max(before, RULE.span)  # the end that this probe notices the latest
            assert after - ended <= min(HOUR, share * ended) + 1e-6


def test_the_pace_of_the_first_ten_minutes_is_kept_for_an_hour() -> None:
    for age, apart in ((700.0, 30.0), (3_599.0, 30.0), (3_600.0, 3_600 * 0.05 / 1.1)):
        assert interval(RULE, down(1), now=age, waiting=1) == pytest.approx(apart, rel=1e-4)
    assert interval(RULE, down(1), now=1e6, waiting=1) == pytest.approx(3_600 / 1.1)


def test_another_rule_makes_the_probes_fewer_or_more() -> None:
    rule = RULE.replace(probe=ProbeRule(late=0.5, late_large=0.1, large=10, steady=0, at_most=900))
    assert interval(rule, down(9), now=1_000.0, waiting=9) == pytest.approx(500 / 1.1)
    assert interval(rule, down(10), now=1_000.0, waiting=10) == pytest.approx(100 / 1.1)
    assert interval(rule, down(9), now=1e5, waiting=9) == pytest.approx(900 / 1.1)
    often = RULE.replace(probe=ProbeRule(late=0.001, at_most=1))
    assert interval(often, down(1), now=1e5, waiting=1) == SHORTEST


# --- The interval -------------------------------------------------------------------------------


@given(
    waiting=st.integers(0, 10_000_000),
    capacity=st.none() | st.floats(1e-3, 1e6),
    age=st.floats(1e-6, 1e6),
    probes=st.integers(0, 1_000_000),
    draw=st.floats(0, 1, exclude_max=True),
)
def test_probes_are_from_1_second_to_an_hour_apart_and_a_tenth_by_chance(
    waiting: int, capacity: float | None, age: float, probes: int, draw: float
) -> None:
    pace = Pace(phase=Phase.OPEN, capacity=capacity, probes=probes, down_since=1_000.0)
    now = 1_000.0 + age
    apart = interval(RULE, pace, now=now, waiting=waiting)
    assert SHORTEST <= apart <= LONGEST
    at = scheduled(RULE, pace, now=now, waiting=waiting, draw=draw).probe_at
    assert apart <= at - now + 1e-9 * now
    assert at - now <= (1 + JITTER) * apart + 1e-9 * now


def test_the_first_probe_is_late_by_up_to_a_whole_interval() -> None:
    opened = Pace(phase=Phase.OPEN, down_since=50.0)
    for draw, after in ((0.0, 1.0), (0.5, 1.5), (1.0, 2.0)):
        assert scheduled(RULE, opened, now=50, waiting=9, draw=draw).probe_at == 50 + after


@pytest.mark.slow
@pytest.mark.parametrize(("waiting", "widest"), [(100, 67), (1_000, 33), (4_000, 6)])
@pytest.mark.parametrize("ended", [150.0, 300.0, 450.0, 550.0, 600.0, 610.0, 900.0])
def test_no_length_of_an_outage_is_always_found_out_late(
    waiting: int, widest: float, ended: float
) -> None:
    found = []
    for seed in range(100):
        made = attempts(waiting, None, by_chance(seed).random, until=ended + 2 * widest)
        found.append(next(time for time in made if time >= ended) - ended)
    assert sum(found) / len(found) < 0.7 * widest  # half of it, give or take


def test_a_young_outage_is_looked_at_often_and_an_older_one_at_the_allowance() -> None:
    apart = [after - before for before, after in pairwise(attempts(1, None, soonest, until=HOUR))]
    assert apart[RULE.failures - 1 :][:6] == pytest.approx([1, 1, 2, 4, 8, 16], rel=1e-4)
    assert apart[-1] == pytest.approx(RULE.span / RULE.least_probes, rel=1e-4)


def test_a_large_backlog_is_probed_more_often_in_a_young_outage() -> None:
    for age in (10.0, 60.0, 300.0, 1_000.0):
        few, many = (interval(RULE, down(n), now=age, waiting=n) for n in (100, 10_000))
        assert many < few


@pytest.mark.parametrize(
    ("waiting", "lasted", "probes", "late"),
    [(1_000, 20, 6, 6.0), (3_000, 20, 11, 2.0), (3_000, 40, 15, 3.2), (10_000, 60, 37, 1.25)],
)
def test_a_short_outage_costs_few_probes_and_is_found_out_soon(
    waiting: int, lasted: float, probes: int, late: float
) -> None:
    spent, found = [], []
    for seed in range(100):
        chance = by_chance(seed)
        ended = chance.uniform(0.8, 1.2) * lasted
        made = attempts(waiting, None, chance.random, until=2 * ended + 60)
        spent.append(sum(time < ended for time in made) - RULE.failures)
        found.append(next(time for time in made if time >= ended) - ended)
    assert sum(spent) / 100 < probes
    assert sum(found) / 100 < late


def test_a_drain_that_takes_long_does_not_want_quick_probes() -> None:
    aged = Pace(phase=Phase.OPEN)
    assert interval(RULE, aged, now=1_000, waiting=100_000) == STEADY_SHORTEST
    known = aged.replace(capacity=1_000.0)
    assert interval(RULE, known, now=1_000, waiting=100_000) == pytest.approx(4.0)
    slow = aged.replace(capacity=1.0)
    assert interval(RULE, slow, now=1_000, waiting=100_000) == pytest.approx(10 / 1.1)
    assert interval(RULE, slow, now=100, waiting=100_000) == RULE.span / 2


# --- What the endpoint asks for, and what gets lost ---------------------------------------------


def test_a_wish_moves_the_next_probe_and_nothing_else() -> None:
    pace = down(100)
    asked = put_off(pace, 120.0, now=1.0, draw=0.0)
    assert asked == pace.replace(probe_at=121.0)
    assert put_off(pace, 120.0, now=1.0, draw=0.5).probe_at == pytest.approx(127.0)
    assert put_off(pace, None, now=1.0, draw=0.5) is pace


def test_a_wish_never_brings_a_probe_forward() -> None:
    pace = down(100).replace(probe_at=60.0)
    assert put_off(pace, 1.0, now=1.0, draw=0.9).probe_at == 60.0


@given(st.floats(0, math.inf), st.floats(0, 1, exclude_max=True))
def test_no_wish_puts_a_probe_off_by_more_than_an_hour_and_a_tenth(
    wish: float, draw: float
) -> None:
    pace = put_off(down(100), wish, now=10.0, draw=draw)
    assert pace.probe_at <= 10.0 + (1 + JITTER) * LONGEST_ASKED


def test_after_a_wish_the_probes_do_not_catch_up() -> None:
    waiting = 10_000
    pace = down(waiting)
    pace = probed(RULE, pace, now=pace.probe_at, waiting=waiting, draw=0.0)
    pace = put_off(pace, 300.0, now=2.0, draw=0.0)
    made = [0.0] * RULE.failures
    while pace.probe_at < 2_000:
        made.append(pace.probe_at)
        pace = probed(RULE, pace, now=pace.probe_at, waiting=waiting, draw=0.0)
    assert most_in_a_span(made) <= allowed(waiting)
    assert min(b - a for a, b in pairwise(made[RULE.failures + 1 :])) >= RULE.span / allowed(
        waiting
    )


def test_a_probe_that_is_lost_does_not_wedge_the_lane() -> None:
    pace = down(100)
    for number in range(1, 50):
        before = pace.probe_at
        pace = probed(RULE, pace, now=before, waiting=100, draw=0.3)
        assert pace.probes == number
        assert before + SHORTEST <= pace.probe_at <= before + (1 + JITTER) * LONGEST
