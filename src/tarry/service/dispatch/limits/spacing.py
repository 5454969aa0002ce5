"""Sends spaced evenly: one every so many seconds, and no catching up after a stall."""

import math

GRAIN = 0.002
"""How late a timer may be without the pace suffering: so much is caught up with, and no more."""
LONG_AGO = -math.inf
"""Before all that is remembered: one value for the many that have nothing to remember yet."""


MARGIN = 0.01
"""The share by which a limit is kept below: timers and networks are late now and then, and who
counts the arrivals of any second is to find no more than was allowed."""
LONGEST_DOUBT = 60.0
"""Seconds that a send is held back for one that another owner may have made: restarts must not
keep a slow lane from ever sending."""


class Spacing:
    """When the next send may go at a rate, which may change between any two."""

    __slots__ = ("_free_at", "rate")

    rate: float

    def __init__(self, rate: float = math.inf) -> None:
        self.rate = rate
        self._free_at = LONG_AGO

    def limit(self, rate: float | None) -> None:
        """Let there be at most so many in any second; what went before still counts."""
        self.rate = math.inf if rate is None else rate / (1 + MARGIN)

    def pace(self, rate: float) -> None:
        """Go at exactly this rate from now on."""
        self.rate = rate

    def free_at(self, now: float) -> float:
        """When the next send may go."""
        return now if math.isinf(self.rate) else max(now, self._free_at)

    def doubt(self, until: float) -> None:
        """Somebody else may have sent until then."""
        if 0 < self.rate < math.inf:
            self._free_at = max(self._free_at, until + min(1 / self.rate, LONGEST_DOUBT))

    def sent(self, now: float) -> None:
        """A send went."""
        if 0 < self.rate < math.inf:
            self._free_at = max(self._free_at, now - GRAIN) + 1 / self.rate


UNLIMITED = Spacing()
"""For all that have no rate: it keeps nothing, so one does for everybody."""
