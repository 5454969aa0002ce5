"""Sends at a rate: evenly spaced, and never caught up with after a stall."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.service.dispatch.limits.spacing import GRAIN, LONGEST_DOUBT, MARGIN, Spacing
from tarry.testing.samples import NOON


def sent(spacing: Spacing, count: int, now: float) -> list[float]:
    """Send as soon as it is allowed, so many times."""
    times = []
    for _ in range(count):
        now = spacing.free_at(now)
        spacing.sent(now)
        times.append(now)
    return times


def test_without_a_rate_everything_goes_at_once() -> None:
    assert sent(Spacing(), 100, NOON) == [NOON] * 100


@pytest.mark.parametrize("rate", [0.1, 2.0, 50.0])
def test_sends_are_one_over_the_rate_apart_but_for_a_grain_at_first(rate: float) -> None:
    times = sent(Spacing(rate), 20, 1000.0)
    assert times[0] == 1000.0
    assert times[1] - times[0] == pytest.approx(1 / rate - GRAIN)
    gaps = [after - before for before, after in pairwise(times[1:])]
    assert gaps == [pytest.approx(1 / rate)] * 18


def test_a_timer_that_is_a_little_late_does_not_slow_the_pace() -> None:
    spacing = Spacing(10.0)
    spacing.sent(1000.0)
    spacing.sent(1000.1 + GRAIN / 2)
    assert spacing.free_at(1000.101) == pytest.approx(1000.2 - GRAIN)


def test_a_stall_is_not_caught_up_with() -> None:
    spacing = Spacing(10.0)
    sent(spacing, 3, 1000.0)
    times = sent(spacing, 5, 1060.0)
    assert times[0] == 1060.0
    assert times[4] - times[0] == pytest.approx(0.4 - GRAIN)


def test_another_rate_counts_from_what_went_before() -> None:
    spacing = Spacing(1.0)
    spacing.sent(1000.0)
    spacing.limit(10.0)
    assert spacing.free_at(1000.0) == pytest.approx(1001.0 - GRAIN)
    spacing.sent(1001.0)
    assert spacing.free_at(1001.0) == pytest.approx(1001.0 + (1 + MARGIN) / 10 - GRAIN)


def test_a_limit_that_is_lifted_is_lifted_at_once() -> None:
    spacing = Spacing(0.01)
    spacing.sent(1000.0)
    spacing.limit(None)
    assert sent(spacing, 3, 1000.0) == [1000.0] * 3


def test_a_limit_that_is_set_counts_what_just_went() -> None:
    spacing = Spacing()
    spacing.sent(1000.0)
    spacing.limit(2.0)
    assert spacing.free_at(1000.0) <= 1000.0
    spacing.sent(1000.0)
    assert spacing.free_at(1000.0) == pytest.approx(1000.0 + (1 + MARGIN) / 2 - GRAIN)


@given(
    rate=st.integers(1, 50),
    late=st.lists(st.floats(0, GRAIN), min_size=120, max_size=120),
    jitter=st.lists(st.floats(0, 0.005), min_size=120, max_size=120),
)
def test_a_limit_holds_in_any_second_also_if_timers_and_networks_are_late(
    rate: int, late: list[float], jitter: list[float]
) -> None:
    spacing, now, arrivals = Spacing(), 1000.0, []
    spacing.limit(float(rate))
    for lateness, way in zip(late, jitter, strict=True):
        now = spacing.free_at(now) + lateness
        spacing.sent(now)
        arrivals.append(now + way)
    arrivals.sort()
    for first, after in zip(arrivals, arrivals[rate:], strict=False):
        assert after - first >= 1


def test_what_somebody_else_may_have_sent_counts_for_a_minute_at_most() -> None:
    spacing = Spacing(2.0)
    spacing.doubt(1000.0)
    assert spacing.free_at(1000.1) == 1000.5
    spacing.sent(1000.5)
    spacing.doubt(1000.0)
    assert spacing.free_at(1000.5) == 1001.0
    slow = Spacing(1 / 3600)
    slow.doubt(1000.0)
    assert slow.free_at(1000.0) == 1000.0 + LONGEST_DOUBT
    free = Spacing()
    free.doubt(1000.0)
    assert free.free_at(1000.0) == 1000.0


@given(
    rate=st.floats(0.5, 1000),
    pauses=st.lists(st.floats(0, 3), min_size=1, max_size=60),
)
def test_however_it_is_asked_no_stretch_has_more_than_the_rate(
    rate: float, pauses: list[float]
) -> None:
    spacing, now, times = Spacing(rate), 1000.0, []
    for pause in pauses:
        now = spacing.free_at(now + pause)
        spacing.sent(now)
        times.append(now)
    for first, start in enumerate(times):
        for last in range(first + 1, len(times)):
            took = times[last] - start
            assert last - first <= rate * (took + GRAIN) + 1e-6
