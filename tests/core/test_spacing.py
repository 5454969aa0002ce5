"""Sends at a rate: late timers do not lower it, and a stall is not caught up."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.spacing import MADE_UP, next_slot

WINDOW = 0.01
RATES = st.floats(0.5, 2000)
LATE = st.floats(0, MADE_UP) | st.floats(0, 1)


def sends(rate: float, lateness: Iterable[float]) -> list[float]:
    """When sends go by a timer that is late by so much each time. It sends all that is due."""
    slot, now, times = 0.0, 0.0, list[float]()
    for late in lateness:
        now = max(now, slot) + late
        while slot <= now:
            times.append(now)
            slot = next_slot(slot, sent_at=now, rate=rate)
    return times


def most_in(seconds: float, times: list[float]) -> int:
    """The most sends in so many seconds, without those at the very end of them."""
    return max(bisect_left(times, at + seconds) - place for place, at in enumerate(times))


@pytest.mark.parametrize(
    ("late", "after"),
    [(-0.005, 0.1), (0.0, 0.1), (0.005, 0.1), (0.01, 0.1), (0.011, 0.111), (1.0, 1.1)],
)
def test_the_next_slot_counts_from_this_one_or_from_a_send_that_was_long_overdue(
    late: float, after: float
) -> None:
    assert next_slot(0.0, sent_at=late, rate=10.0) == pytest.approx(after)


def test_the_first_send_of_all_has_no_slot_before_it() -> None:
    assert next_slot(-math.inf, sent_at=7.0, rate=2.0) == 7.5


@pytest.mark.parametrize("rate", [1, 20, 99, 200, 450, 1000])
def test_timers_that_are_up_to_8_ms_late_keep_the_rate_over_a_minute(rate: int) -> None:
    chance = Random(rate)
    times = sends(rate, (chance.uniform(0, 0.008) for _ in range(61 * rate)))
    count = bisect_left(times, 60.0)
    assert count == pytest.approx(60 * rate, rel=0.01)
    assert times == sorted(times)


@given(rate=RATES, lateness=st.lists(LATE, min_size=2, max_size=60))
def test_10_ms_never_have_more_sends_than_belong_to_20_ms(
    rate: float, lateness: list[float]
) -> None:
    times = sends(rate, lateness)
    assert most_in(WINDOW, times) <= math.ceil(rate * 2 * WINDOW * (1 + 1e-9))


@given(rate=st.floats(0.5, 100), lateness=st.lists(LATE, min_size=2, max_size=60))
def test_at_up_to_100_a_second_10_ms_have_one_send_more_at_the_most(
    rate: float, lateness: list[float]
) -> None:
    assert most_in(WINDOW, sends(rate, lateness)) <= 2


@given(
    rate=RATES,
    lateness=st.lists(st.floats(0, 0.008), min_size=1, max_size=30),
    stall=st.floats(MADE_UP * 1.001, 10),
)
def test_after_a_stall_the_sends_go_on_as_if_the_lane_had_just_begun(
    rate: float, lateness: list[float], stall: float
) -> None:
    times = sends(rate, [*lateness, stall, *([0.0] * 20)])
    resumed = times[bisect_right(times, times[-21]) - 1 :]
    assert len(resumed) == 21
    for before, after in pairwise(resumed):
        assert after - before == pytest.approx(1 / rate, abs=1e-9)
