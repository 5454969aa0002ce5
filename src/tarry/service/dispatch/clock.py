"""The dispatcher's clock: the database's time at the start, and steady from then on.

A step of any wall clock changes nothing while the dispatcher runs: it neither sends early nor
forgets what waits. Time that the machine was suspended counts. The database's clock is compared now
and then, since leases end by it, messages are accepted by it, and receivers go by it.
"""

import time
from collections.abc import Callable


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
