"""One ticking timer for the deadlines of all exchanges, instead of a timer for each.

A timer of the event loop for every exchange was 15 % of the cost of sending.
"""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

TICK = 0.05
"""Seconds by which a deadline may be noticed late."""

Item = TypeVar("Item")


class Timer(Protocol):
    """The handle of a call that an event loop will make later."""

    def cancel(self) -> None:
        """Cancel the call."""


Later = Callable[[float, Callable[[], None]], Timer]
"""The `call_later` of an event loop."""


class Deadlines(Generic[Item]):
    """Holds items with a deadline each, in buckets of one tick. It ticks only while it has any."""

    def __init__(
        self, later: Later, clock: Callable[[], float], expire: Callable[[Item], None]
    ) -> None:
        self._later = later
        self._expire = expire
        self._clock = clock
        self._buckets: dict[int, set[Item]] = {}
        self._timer: Timer | None = None

    def add(self, item: Item, due_at: float) -> set[Item]:
        """Let `item` expire at `due_at`, unless it is discarded from the returned set before."""
        tick = int(due_at / TICK) + 1  # the first tick that is not before the deadline
        bucket = self._buckets.get(tick)
        if bucket is None:
            bucket = self._buckets[tick] = set()
            if self._timer is None:
                self._timer = self._later(TICK, self._turn)
        bucket.add(item)
        return bucket

    def items(self) -> list[Item]:
        """Return all items that have not expired and were not discarded."""
        return [item for bucket in self._buckets.values() for item in bucket]

    def close(self) -> None:
        """Stop the timer and forget all items."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._buckets.clear()

    def _turn(self) -> None:
        """Expire the items that are due, and forget empty and past buckets."""
        now = int(self._clock() / TICK)
        past = [tick for tick, bucket in self._buckets.items() if tick <= now or not bucket]
        due = [item for tick in past for item in self._buckets.pop(tick)]
        try:
            while due:
                self._expire(due.pop())
        finally:
            if due:  # `expire` raised an error for one item: the others expire at the next tick
                self._buckets.setdefault(now, set()).update(due)
            self._timer = self._later(TICK, self._turn) if self._buckets else None
