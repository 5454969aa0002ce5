"""The dispatcher's clock: the database's time at the start, and steady from then on.

A step of any wall clock changes nothing while the dispatcher runs: it neither sends early nor
forgets what waits. Time that the machine was suspended counts.
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

    def __call__(self) -> float:
        """What time it is."""
        return self._offset + self._source()
