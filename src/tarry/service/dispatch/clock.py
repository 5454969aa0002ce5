"""The dispatcher's time: its clock, and the alarms that wake lanes.

- `Clock` starts at the database's time and is steady after that. If a wall clock steps while the
  dispatcher runs, no delivery is sent early or forgotten. Time for which the machine was suspended
  counts. The clock is compared with the database's clock now and then: leases end by that clock,
  messages are accepted by it, and signatures carry its time.
- `Alarms` wakes each lane at its time, with one timer of the event loop for all lanes. A timer per
  lane would cost more than half a kilobyte for each lane that waits for a probe.
"""

import heapq
import math
import time
from collections.abc import Callable
from itertools import count
from typing import Protocol

# --- The clock ----------------------------------------------------------------------------------

LONG_AGO = -math.inf
"""A time before every other: one shared value for the many fields that have no time yet."""


def steady() -> float:
    """Return seconds that only go forward and that include the time of a suspension."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Clock:
    """Returns seconds since 1970, by the database's clock as it was at the start."""

    def __init__(self, database: float, source: Callable[[], float] = steady) -> None:
        self._source = source
        self._offset = database - source()
        self._ahead = 0.0

    def __call__(self) -> float:
        """Return the time now."""
        return self._offset + self._source()

    def wall(self, now: float) -> float:
        """Return the database's time at the instant `now`, as of the last comparison."""
        return now + self._ahead

    def compare(self, database: float, *, asked_at: float) -> float:
        """Return by how much the database's clock has stepped since the last comparison.

        `database` is its time at some moment between `asked_at` and now. If the old difference
        between the clocks still fits into that range, there was no step.
        """
        before = self._ahead
        self._ahead = min(max(before, database - self()), database - asked_at)
        return self._ahead - before


# --- Alarms -------------------------------------------------------------------------------------

SPARE_ALARMS = 1000
"""How many entries may pile up, beyond twice the live ones, before outdated ones are removed."""


class Timer(Protocol):
    """A call that happens later, unless it is cancelled."""

    def cancel(self) -> None:
        """Cancel the call."""


Later = Callable[[float, Callable[[], None]], Timer]
"""Calls a function after the given number of seconds."""


class Sleeper(Protocol):
    """An object that `Alarms` can wake, such as a lane."""

    @property
    def wake_at(self) -> float:
        """When it will be woken; infinity while no alarm is set."""

    def set_alarm(self, at: float) -> None:
        """Remember when it will be woken."""

    def pump(self) -> None:
        """Do what the alarm was set for: its time has come."""


class Alarms:
    """Wakes each sleeper at its time. A new alarm of a sleeper replaces its old one."""

    def __init__(self, now: Callable[[], float], later: Later) -> None:
        self._now, self._later = now, later
        self._entries: list[tuple[float, int, Sleeper]] = []
        self._numbers = count()
        self._clear_up_above = SPARE_ALARMS
        self._timer: Timer | None = None
        self._timer_at = math.inf

    @property
    def entries(self) -> int:
        """How many entries are kept, including outdated ones."""
        return len(self._entries)

    def set(self, sleeper: Sleeper, at: float) -> None:
        """Wake the sleeper at this time; infinity cancels its alarm."""
        if at == sleeper.wake_at:
            return
        sleeper.set_alarm(at)
        if at < math.inf:
            heapq.heappush(self._entries, (at, next(self._numbers), sleeper))
            if len(self._entries) > self._clear_up_above:
                self._clear_up()
            self._set_timer()

    def _clear_up(self) -> None:
        """Remove the entries of alarms that were replaced or cancelled."""
        live = {
            id(sleeper): (at, number, sleeper)
            for at, number, sleeper in self._entries
            if at == sleeper.wake_at
        }
        self._entries = list(live.values())
        heapq.heapify(self._entries)
        self._clear_up_above = 2 * len(self._entries) + SPARE_ALARMS

    def _set_timer(self) -> None:
        """Set the timer to the time of the first entry."""
        at = self._entries[0][0] if self._entries else math.inf
        if at >= self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        self._timer = self._later(max(0.0, at - self._now()), self._wake_due)

    def _wake_due(self) -> None:
        """Pump every sleeper whose time has come, then set the timer for the next one."""
        self._timer, self._timer_at = None, math.inf
        now = self._now()
        while self._entries and self._entries[0][0] <= now:
            at, _, sleeper = heapq.heappop(self._entries)
            if at == sleeper.wake_at:
                sleeper.set_alarm(math.inf)
                sleeper.pump()
        self._set_timer()
