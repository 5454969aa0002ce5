from collections.abc import Callable

import pytest

from tarry.service.wire.deadlines import TICK, Deadlines


class Turns:
    """Time that stands still until it is pushed, and calls that wait for it."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.waiting: list[tuple[float, Callable[[], None]]] = []

    def clock(self) -> float:
        return self.now

    def later(self, delay: float, call: Callable[[], None]) -> "Turns":
        self.waiting.append((self.now + delay, call))
        return self

    def cancel(self) -> None:
        self.waiting.clear()

    def push(self, seconds: float) -> None:
        end = self.now + seconds
        while self.waiting and self.waiting[0][0] <= end:
            self.now, call = self.waiting.pop(0)
            call()
        self.now = end


@pytest.fixture
def turns() -> Turns:
    return Turns()


@pytest.fixture
def expired() -> list[str]:
    return []


@pytest.fixture
def deadlines(turns: Turns, expired: list[str]) -> Deadlines[str]:
    return Deadlines(turns.later, turns.clock, expired.append)


def test_what_is_due_expires_once_and_no_more_than_two_ticks_late(
    deadlines: Deadlines[str], turns: Turns, expired: list[str]
) -> None:
    deadlines.add("a", turns.now + 15)
    turns.push(14.99)
    assert expired == []
    turns.push(0.01 + 2 * TICK)
    assert expired == ["a"]
    turns.push(100)
    assert expired == ["a"]


def test_what_is_discarded_does_not_expire(
    deadlines: Deadlines[str], turns: Turns, expired: list[str]
) -> None:
    bucket = deadlines.add("a", turns.now + 1)
    deadlines.add("b", turns.now + 1)
    bucket.discard("a")
    turns.push(2)
    assert expired == ["b"]


def test_deadlines_expire_in_any_order_they_were_added(
    deadlines: Deadlines[str], turns: Turns, expired: list[str]
) -> None:
    for item, wait in (("late", 9.0), ("soon", 1.0), ("past", -5.0)):
        deadlines.add(item, turns.now + wait)
    turns.push(0.5)
    assert expired == ["past"]
    turns.push(1)
    assert expired == ["past", "soon"]
    assert deadlines.items() == ["late"]


def test_it_ticks_only_while_something_waits(
    deadlines: Deadlines[str], turns: Turns, expired: list[str]
) -> None:
    assert not turns.waiting
    bucket = deadlines.add("a", turns.now + 1)
    assert turns.waiting
    bucket.discard("a")
    turns.push(2 * TICK)
    assert not turns.waiting
    deadlines.add("b", turns.now + 1)
    turns.push(2)
    assert expired == ["b"]


def test_what_expires_may_add_another_deadline(turns: Turns) -> None:
    expired: list[int] = []

    def expire(item: int) -> None:
        expired.append(item)
        if item < 3:
            many.add(item + 1, turns.now + 1)

    many = Deadlines(turns.later, turns.clock, expire)
    many.add(1, turns.now + 1)
    turns.push(5)
    assert expired == [1, 2, 3]


def test_one_that_goes_wrong_does_not_hold_up_the_others(turns: Turns) -> None:
    expired: list[int] = []

    def expire(item: int) -> None:
        expired.append(item)
        if len(expired) == 1:
            raise ZeroDivisionError

    many = Deadlines(turns.later, turns.clock, expire)
    for item in range(3):
        many.add(item, turns.now + 1)
    with pytest.raises(ZeroDivisionError):
        turns.push(2)
    turns.push(1)
    assert sorted(expired) == [0, 1, 2]
    assert not turns.waiting


def test_closed_it_ticks_no_more(
    deadlines: Deadlines[str], turns: Turns, expired: list[str]
) -> None:
    deadlines.add("a", turns.now + 1)
    deadlines.close()
    turns.push(5)
    assert expired == []
    assert deadlines.items() == []
