"""A lane's own limits: its requests in flight, its rate, and how many of them may be retries.

An endpoint of which nothing is known gets a few requests at a time. Each success allows one more,
and each failure after another one halves them. While the endpoint's gate is not closed, the gate's
pace counts instead. The retry budget counts while it is closed.
"""

from tarry.core.budget import RatioRule
from tarry.core.pace import CLOSED, Phase
from tarry.core.window import SLICES, Window
from tarry.service.dispatch.clock import LONG_AGO
from tarry.service.dispatch.limits.gate import RULE
from tarry.service.dispatch.limits.rates import NO_SPACING, Spacing

# --- Requests in flight -------------------------------------------------------------------------

FIRST = 8
"""Requests that may be in flight to an endpoint of which nothing is known."""
SLOW = 0.1
"""From how many seconds on an answer takes so long that sends are spread out over that time."""
WEIGHT = 0.1
"""How much of what is known of an endpoint's latency is the last answer's."""


class Allowance:
    """A lane's requests in flight, and what limits them besides its gate."""

    __slots__ = (
        *("_failed_at", "_latency", "_sent_at", "failing", "fifo_from", "in_flight", "most"),
        *("rate", "trust"),
    )

    def __init__(self, fifo_from: float) -> None:
        self.in_flight = 0
        self.most = self.trust = FIRST
        self.failing = 0
        """How many attempts have failed in a row."""
        self.rate = NO_SPACING
        self._latency = 0.0
        self._sent_at = self._failed_at = LONG_AGO
        self.fifo_from = fifo_from
        """Before then an ordered lane sends nothing: its last owner may have a request on its way.
        """

    def limit(self, most: int, rate: float | None) -> None:
        """Take up the limits that an endpoint's owner has set; what was sent still counts."""
        self.most = most
        if rate is None:
            self.rate = NO_SPACING
        else:
            self.rate = Spacing() if self.rate is NO_SPACING else self.rate
            self.rate.limit(rate)

    def start_over(self) -> None:
        """Forget how the endpoint did: another one answers there now."""
        self.failing, self.trust = 0, FIRST

    def failed_before(self, failures: int) -> None:
        """Take over from the last owner how many attempts have failed in a row."""
        self.failing = failures

    def sent(self, now: float) -> None:
        """Count a request."""
        self.in_flight += 1
        self._sent_at = now
        self.rate.sent(now)

    def ended(self, took: float) -> None:
        """Count an answer, whatever it was."""
        self.in_flight -= 1
        self._latency += WEIGHT * (took - self._latency)

    def passed(self) -> None:
        """Allow one more: the endpoint does its work."""
        self.failing = 0
        self.trust = min(self.trust + 1, self.most)

    def failed(self, now: float, *, by_chance: bool) -> None:
        """Allow fewer after a second failure in a row, unless so many fail by chance anyway."""
        self.failing, self._failed_at = self.failing + 1, now
        if self.failing > 1 and not by_chance:
            self.trust = max(1, self.trust // 2)

    @property
    def was_used(self) -> bool:
        """Whether anything was sent yet."""
        return self._sent_at > LONG_AGO

    @property
    def sent_at(self) -> float:
        """When the last request went."""
        return self._sent_at

    def has_failed_since(self, time: float) -> bool:
        """Return whether something failed since then."""
        return self._failed_at >= time

    def together(self, phase: Phase) -> int:
        """Return how many requests may be in flight while the gate is in this phase."""
        return min(self.most, self.trust) if phase is CLOSED else self.most

    def free_at(self, now: float, phase: Phase, together: int, *, fifo: bool) -> float:
        """Return when the next request may go, as far as the gate does not say."""
        free_at = self.rate.free_at(now)
        if phase is CLOSED:
            if self._latency > SLOW:
                # Else all that went together would come back together, and hold up all others'.
                spread = self._latency / (2 * together)
                free_at = max(free_at, self._sent_at + spread)
            if self.failing >= RULE.failures:
                # About to open: what is sent until then is most likely lost.
                free_at = max(free_at, self._failed_at + RULE.tick)
        return max(free_at, self.fifo_from) if fifo else free_at


# --- Retries ------------------------------------------------------------------------------------

RETRY_RULE = RatioRule(ratio=0.5, bootstrap=20)
"""Retries are at most half of what is sent, but for a few."""
RETRY_PAUSE = RETRY_RULE.window / SLICES
"""How long a retry waits that the budget has no room for."""
_NO_SENDS = Window()


class RetryBudget:
    """Counts sends, and says whether one more may be a retry."""

    __slots__ = ("_counted", "_sends")

    def __init__(self) -> None:
        self._sends = 0
        self._counted = _NO_SENDS

    def sent(self) -> None:
        """Something was sent."""
        self._sends += 1

    def spend(self, now: float) -> bool:
        """Whether a retry may go; then it is counted."""
        slot = RETRY_RULE.slot(now)
        self._counted = RETRY_RULE.call(self._counted, self._sends, slot)
        self._sends = 0
        counted = RETRY_RULE.spend(self._counted, slot)
        if counted is not None:
            self._counted = counted
        return counted is not None
