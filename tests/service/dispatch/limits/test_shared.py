"""Sends at a rate are evenly spaced, and the lanes of a tenant share its rate."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.spacing import MADE_UP
from tarry.service.dispatch.limits.shared import LONGEST_ASSUMED, MARGIN, Spacing, TenantRate
from tarry.testing.samples import NOON
from tests.service.dispatch.origins.place import Place

# --- Sends at a rate ----------------------------------------------------------------------------


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
def test_sends_are_one_over_the_rate_apart(rate: float) -> None:
    times = sent(Spacing(rate), 20, 1000.0)
    assert times[0] == 1000.0
    gaps = [after - before for before, after in pairwise(times)]
    assert gaps == [pytest.approx(1 / rate)] * 19


def test_a_timer_that_is_a_little_late_does_not_slow_the_pace() -> None:
    spacing = Spacing(10.0)
    spacing.sent(1000.0)
    spacing.sent(1000.108)
    assert spacing.free_at(1000.108) == pytest.approx(1000.2)


def test_a_stall_is_not_caught_up_with() -> None:
    spacing = Spacing(10.0)
    sent(spacing, 3, 1000.0)
    times = sent(spacing, 5, 1060.0)
    assert times[0] == 1060.0
    assert times[4] - times[0] == pytest.approx(0.4)


def test_another_rate_counts_from_what_went_before() -> None:
    spacing = Spacing(1.0)
    spacing.sent(1000.0)
    spacing.limit(10.0)
    assert spacing.free_at(1000.0) == pytest.approx(1000.0 + (1 + MARGIN) / 10)
    spacing.sent(1001.0)
    spacing.limit(0.5)
    assert spacing.free_at(1001.0) == pytest.approx(1001.0 + (1 + MARGIN) / 10)
    spacing.sent(1001.2)
    assert spacing.free_at(1001.2) == pytest.approx(1001.2 + (1 + MARGIN) * 2, abs=0.1)


def test_another_rate_does_not_forget_a_possible_send_of_the_last_owner() -> None:
    spacing = Spacing(0.5)
    spacing.assume_sent(1000.0)
    spacing.limit(1.0)
    assert spacing.free_at(1000.0) == pytest.approx(1000.0 + 1 + MARGIN)


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
    assert spacing.free_at(1000.0) == pytest.approx(1000.0 + (1 + MARGIN) / 2)


@given(
    rate=st.integers(1, 50),
    late=st.lists(st.floats(0, MADE_UP), min_size=120, max_size=120),
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
    spacing.assume_sent(1000.0)
    assert spacing.free_at(1000.1) == 1000.5
    spacing.sent(1000.5)
    spacing.assume_sent(1000.0)
    assert spacing.free_at(1000.5) == 1001.0
    slow = Spacing(1 / 3600)
    slow.assume_sent(1000.0)
    assert slow.free_at(1000.0) == 1000.0 + LONGEST_ASSUMED
    free = Spacing()
    free.assume_sent(1000.0)
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
            assert last - first <= rate * (took + MADE_UP) + 1e-6


# --- A rate that lanes share --------------------------------------------------------------------


class Timers:
    """A clock to push, and what happens later by it."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, Callable[[], None]]] = []

    def later(self, delay: float, what: Callable[[], None]) -> "Timers":
        self._due.append((self.now + delay, what))
        return self

    def cancel(self) -> None:
        raise AssertionError("nothing is cancelled here")

    def push(self, until: float) -> None:
        while self._due and min(self._due, key=lambda entry: entry[0])[0] <= until:
            first = min(self._due, key=lambda entry: entry[0])
            self._due.remove(first)
            self.now = max(self.now, first[0])
            first[1]()
        self.now = until


class Sender:
    """A lane with so many to send."""

    def __init__(self, turns: TenantRate, timers: Timers, many: int, sent: list["Sender"]) -> None:
        self.turns, self.timers, self.many, self.sent = turns, timers, many, sent

    def pump(self) -> None:
        while self.many and self.turns.admits(self, self.timers.now):
            self.many -= 1
            self.sent.append(self)
            self.turns.sent(self.timers.now)


def a_rate(rate: float | None) -> tuple[TenantRate, Timers]:
    timers = Timers()
    turns = TenantRate(lambda: timers.now, timers.later)
    turns.limit(rate)
    return turns, timers


def test_without_a_rate_all_goes_at_once() -> None:
    turns, timers = a_rate(None)
    sent: list[Sender] = []
    Sender(turns, timers, 100, sent).pump()
    assert len(sent) == 100


@pytest.mark.parametrize("rate", [1.0, 4.0, 50.0])
def test_a_rate_is_kept_and_shared_evenly(rate: float) -> None:
    turns, timers = a_rate(rate)
    sent: list[Sender] = []
    lanes = [Sender(turns, timers, 1000, sent) for _ in range(4)]
    for lane in lanes:
        lane.pump()
    timers.push(20.0)
    assert 0.98 * 20 * rate <= len(sent) <= 20 * rate
    counts = Counter(map(id, sent)).values()
    assert max(counts) - min(counts) <= 2


def test_whoever_has_nothing_left_gives_its_turn_to_the_next() -> None:
    turns, timers = a_rate(1.0)
    sent: list[Sender] = []
    few, many = Sender(turns, timers, 2, sent), Sender(turns, timers, 100, sent)
    for lane in (few, many):
        lane.pump()
    timers.push(10.5)
    assert len(sent) == 11
    assert sent.count(few) == 2


def test_a_lane_whose_rows_were_being_read_in_its_turn_goes_first_when_it_has_them() -> None:
    turns, timers = a_rate(1.0)
    sent: list[Sender] = []
    lanes = [Sender(turns, timers, 100, sent) for _ in range(4)]
    for lane in lanes:
        lane.pump()
    reading = lanes[1]
    reading.many = 0
    timers.push(2.5)
    assert sent == [lanes[0], lanes[0], lanes[2]]
    reading.many = 100
    reading.pump()
    timers.push(5.5)
    assert sent[3:] == [reading, lanes[3], lanes[0]]


def test_whoever_leaves_is_not_called_any_more() -> None:
    turns, timers = a_rate(1.0)
    sent: list[Sender] = []
    gone, stays = Sender(turns, timers, 100, sent), Sender(turns, timers, 100, sent)
    for lane in (gone, stays):
        lane.pump()
    turns.leave(gone)
    turns.leave(gone)
    timers.push(5.5)
    assert sent.count(gone) == 1
    assert sent.count(stays) == 5


def test_a_new_rate_counts_from_the_next_send_on() -> None:
    turns, timers = a_rate(1.0)
    sent: list[Sender] = []
    Sender(turns, timers, 1000, sent).pump()
    timers.push(4.5)
    turns.limit(10.0)
    timers.push(10.0)
    assert 54 <= len(sent) <= 58


def test_what_was_just_used_or_is_waited_for_is_to_be_remembered() -> None:
    turns, timers = a_rate(1.0)
    assert turns.idle(timers.now)
    sent: list[Sender] = []
    sender = Sender(turns, timers, 5, sent)
    sender.pump()
    assert not turns.idle(timers.now + 10)  # somebody waits
    timers.push(10.0)
    assert len(sent) == 5
    turns.sent(timers.now)
    assert not turns.idle(timers.now)
    assert turns.idle(timers.now + 2)


def test_a_shared_rate_allows_for_what_its_last_owner_may_have_sent() -> None:
    place = Place()
    rate = TenantRate(lambda: place.now, place.later)
    rate.limit(0.5)
    assert rate.idle(place.now)
    rate.assume_sent(place.now)
    assert not rate.idle(place.now + 1.9)
    assert rate.idle(place.now + 2.1)
