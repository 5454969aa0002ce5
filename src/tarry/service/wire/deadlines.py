"""One ticking timer for all that must end in time, instead of a timer for each.

A timer of the event loop's own for every exchange was 15 % of the cost of sending.
"""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

TICK = 0.05
"""Seconds by which a deadline may be noticed late."""

Item = TypeVar("Item")


class Timer(Protocol):
    """What an event loop gives for a call that it will make later."""

    def cancel(self) -> None:
        """Do not make it."""


Later = Callable[[float, Callable[[], None]], Timer]
"""The `call_later` of an event loop."""


class Deadlines(Generic[Item]):
    """Things with a deadline each, in buckets of a tick. It ticks only while there are some."""

    def __init__(
        self, later: Later, clock: Callable[[], float], expire: Callable[[Item], None]
    ) -> None:
        self._later = later
        self._expire = expire
        self._clock = clock
        self._buckets: dict[int, set[Item]] = {}
        self._timer: Timer | None = None

    def add(self, item: Item, due_at: float) -> set[Item]:
        """Let `item` expire at `due_at`, unless it was discarded from the set this gives."""
        tick = int(due_at / TICK) + 1  # the first tick that is not before it
        bucket = self._buckets.get(tick)
        if bucket is None:
            bucket = self._buckets[tick] = set()
            if self._timer is None:
                self._timer = self._later(TICK, self._turn)
        bucket.add(item)
        return bucket

    def items(self) -> list[Item]:
        """All that has not expired and was not discarded."""
        return [item for bucket in self._buckets.values() for item in bucket]

    def close(self) -> None:
        """Tick no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._buckets.clear()

    def _turn(self) -> None:
        """Expire what is due, and forget the buckets that are empty or past."""
        now = int(self._clock() / TICK)
        past = [tick for tick, bucket in self._buckets.items() if tick <= now or not bucket]
        due = [item for tick in past for item in self._buckets.pop(tick)]
        try:
            while due:
                self._expire(due.pop())
        finally:
            if due:  # one went wrong; that is not the others' trouble, their turn is the next
                self._buckets.setdefault(now, set()).update(due)
            self._timer = self._later(TICK, self._turn) if self._buckets else None
