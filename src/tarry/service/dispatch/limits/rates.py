"""Rates: sends spaced evenly, and a rate that the lanes of an application share.

- `Spacing`: one send after another at an even distance, and no catching up after a stall.
- `TenantRate`: lanes take turns at their application's rate, so that none of them uses it all up.
"""

import math
from collections import deque
from collections.abc import Callable
from typing import Protocol

from tarry.service.dispatch.clock import LONG_AGO, Later, Timer

# --- Sends at a rate ----------------------------------------------------------------------------

GRAIN = 0.002
"""How late a timer may be without the pace suffering: so much is caught up with, and no more."""
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


NO_SPACING = Spacing()
"""For all that have no rate: it keeps nothing, so one does for everybody."""


# --- A rate that lanes share --------------------------------------------------------------------


class Taker(Protocol):
    """A lane, as far as turns are concerned."""

    def pump(self) -> None:
        """Send what it may."""


class TenantRate:
    """An application's rate, and the lanes that wait for their turn."""

    def __init__(self, now: Callable[[], float], later: Later) -> None:
        self._now, self._later = now, later
        self._spacing = Spacing()
        self._waiting: deque[Taker] = deque()
        self._called: Taker | None = None
        self._timer: Timer | None = None

    def limit(self, rate: float | None) -> None:
        """Change the rate; what went before still counts."""
        self._spacing.limit(rate)

    def doubt(self, until: float) -> None:
        """Somebody else may have sent until then."""
        self._spacing.doubt(until)

    def admits(self, taker: Taker, now: float) -> bool:
        """Whether it may send; else it will be told when it is its turn."""
        if math.isinf(self._spacing.rate):
            return True
        if self._spacing.free_at(now) <= now and (taker is self._called or not self._waiting):
            return True
        if taker not in self._waiting:
            self._waiting.append(taker)
        self._look_ahead(now)
        return False

    def sent(self, now: float) -> None:
        """A send went."""
        self._spacing.sent(now)

    def idle(self, now: float) -> bool:
        """Whether nobody waits and nothing is to be remembered: a new one would do as well."""
        return not self._waiting and self._spacing.free_at(now) <= now

    def leave(self, taker: Taker) -> None:
        """It does not want a turn any more."""
        if taker in self._waiting:
            self._waiting.remove(taker)

    def _look_ahead(self, now: float) -> None:
        if self._timer is None and self._called is None:
            self._timer = self._later(max(0.0, self._spacing.free_at(now) - now), self._call)

    def _call(self) -> None:
        """Let them send, one after the other, as far as the rate allows."""
        self._timer = None
        for _ in range(len(self._waiting)):
            now = self._now()
            if self._spacing.free_at(now) > now:
                break
            self._called = self._waiting.popleft()
            self._called.pump()
        self._called = None
        if self._waiting:
            self._look_ahead(self._now())
