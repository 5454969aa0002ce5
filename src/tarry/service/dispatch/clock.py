"""The dispatcher's time: its clock, and the alarms that wake lanes.

- `Clock` has the database's time at the start, and is steady from then on. A step of any wall clock
  changes nothing while the dispatcher runs: it neither sends early nor forgets what waits. Time
  that the machine was suspended counts. The database's clock is compared now and then, since leases
  end by it, messages are accepted by it, and receivers go by it.
- `Alarms` wakes lanes at their times, with one timer of the event loop for all of them. A timer of
  its own would cost each lane that waits for a probe more than half a kilobyte.
"""

import heapq
import math
import time
from collections.abc import Callable
from itertools import count
from typing import Protocol

# --- The clock ----------------------------------------------------------------------------------

LONG_AGO = -math.inf
"""Before all that is remembered: one value for the many that have nothing to remember yet."""


def steady() -> float:
    """Seconds that only go forward, those of a suspension included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Clock:
    """Seconds since 1970, by the database's clock as it was at the start."""

    def __init__(self, database: float, source: Callable[[], float] = steady) -> None:
        self._source = source
        self._offset = database - source()
        self._ahead = 0.0

    def __call__(self) -> float:
        """What time it is."""
        return self._offset + self._source()

    def wall(self, now: float) -> float:
        """Return the time by the database's clock, as far as it was compared, when it is `now`."""
        return now + self._ahead

    def compare(self, database: float, *, asked_at: float) -> float:
        """Return by how much the database's clock has stepped since it was compared last.

        `database` is its time at some moment between `asked_at` and now. As long as the clocks may
        agree as before, that is no step.
        """
        before = self._ahead
        self._ahead = min(max(before, database - self()), database - asked_at)
        return self._ahead - before


# --- Alarms -------------------------------------------------------------------------------------

SPARE_ALARMS = 1000
"""So many entries that nobody waits for any more are let be."""


class Timer(Protocol):
    """Something that happens later, unless it is cancelled."""

    def cancel(self) -> None:
        """It will not happen."""


Later = Callable[[float, Callable[[], None]], Timer]
"""Does something after so many seconds."""


class Sleeper(Protocol):
    """Somebody to be woken. It remembers when: infinity while nothing is set."""

    @property
    def wake_at(self) -> float:
        """When it will be woken."""

    def set_alarm(self, at: float) -> None:
        """Remember when it will be woken."""

    def woken(self) -> None:
        """It is time."""


class Alarms:
    """Who is to be woken when. What was set before for the same sleeper counts no more."""

    def __init__(self, now: Callable[[], float], later: Later) -> None:
        self._now, self._later = now, later
        self._entries: list[tuple[float, int, Sleeper]] = []
        self._numbers = count()
        self._crowded = SPARE_ALARMS
        self._timer: Timer | None = None
        self._rings_at = math.inf

    @property
    def entries(self) -> int:
        """How many are kept, those included that nobody waits for any more."""
        return len(self._entries)

    def set(self, sleeper: Sleeper, at: float) -> None:
        """Wake it at an instant; infinity: not at all."""
        if at == sleeper.wake_at:
            return
        sleeper.set_alarm(at)
        if at < math.inf:
            heapq.heappush(self._entries, (at, next(self._numbers), sleeper))
            if len(self._entries) > self._crowded:
                self._clear_up()
            self._wind()

    def _clear_up(self) -> None:
        """Forget all that were set and set otherwise since."""
        live = {
            id(sleeper): (at, number, sleeper)
            for at, number, sleeper in self._entries
            if at == sleeper.wake_at
        }
        self._entries = list(live.values())
        heapq.heapify(self._entries)
        self._crowded = 2 * len(self._entries) + SPARE_ALARMS

    def _wind(self) -> None:
        """Have the timer ring for the first of them."""
        at = self._entries[0][0] if self._entries else math.inf
        if at >= self._rings_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._rings_at = at
        self._timer = self._later(max(0.0, at - self._now()), self._ring)

    def _ring(self) -> None:
        self._timer, self._rings_at = None, math.inf
        now = self._now()
        while self._entries and self._entries[0][0] <= now:
            at, _, sleeper = heapq.heappop(self._entries)
            if at == sleeper.wake_at:
                sleeper.set_alarm(math.inf)
                sleeper.woken()
        self._wind()
