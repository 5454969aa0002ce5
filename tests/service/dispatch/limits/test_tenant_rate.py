"""Lanes of a tenant share a rate, one after the other."""

from collections import Counter
from collections.abc import Callable

import pytest

from tarry.service.dispatch.limits.tenant_rate import TenantRate


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
