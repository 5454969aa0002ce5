"""The limits of a lane: its gate, its requests in flight, its rate and its retries.

A lane's gate is its own, or the one that it shares with other lanes of its origin (`LaneGates`).

An endpoint without history gets a few requests at a time. Each success allows one more, and each
failure after another failure halves the number. While the endpoint's gate is not closed, the gate's
pace applies instead. The retry budget applies only while it is closed.
"""

import math

from tarry.core.budget import RatioRule
from tarry.core.pace import CLOSED, Phase
from tarry.core.window import SLICES, Window
from tarry.service.dispatch.clock import LONG_AGO
from tarry.service.dispatch.limits.gate import RULE, Gate
from tarry.service.dispatch.limits.shared import NO_SPACING, Spacing
from tarry.service.dispatch.origins.origin import Origin

# --- Gates --------------------------------------------------------------------------------------


class LaneGates:
    """A lane's own gate, and the group of its application's lanes at the same origin."""

    __slots__ = ("group", "own", "uses_own_gate")

    def __init__(self, own: Gate, group: Origin) -> None:
        self.own, self.group = own, group
        self.uses_own_gate = False
        """Whether the lane uses its own gate although its origin is in trouble: its attempts
        are refused, or fail, while those of others pass."""

    @property
    def shared(self) -> Gate:
        """The gate of the origin. Its phase is closed while the origin is healthy."""
        return self.group.gate_level.gate

    @property
    def current(self) -> Gate:
        """The gate that the lane uses now."""
        shared = self.group.gate_level.gate
        return self.own if shared.phase is CLOSED or self.uses_own_gate else shared

    @property
    def phase(self) -> Phase:
        """The phase of the gate that the lane uses now."""
        return self.current.phase

    def move(self, group: Origin) -> None:
        """Belong to another origin from now on."""
        self.group, self.uses_own_gate = group, False

    def use_own_gate(self) -> None:
        """Use the lane's own gate, whatever the origin does."""
        self.uses_own_gate = True

    def use_shared_gate(self) -> None:
        """Use the origin's gate again as long as that is shared."""
        self.uses_own_gate = False

    def join(self) -> bool:
        """Leave the pace to the origin; return whether the lane had a pace of its own."""
        had_its_own = self.own.phase is not CLOSED
        self.uses_own_gate = False
        self.own.close()
        return had_its_own


# --- Requests in flight, and retries ------------------------------------------------------------

RETRY_RULE = RatioRule(ratio=0.5, bootstrap=20)
"""At most half of the sends are retries, apart from a few that are always allowed."""
RETRY_PAUSE = RETRY_RULE.window / SLICES
"""How many seconds a retry waits that the budget has no room for."""
_NO_SENDS = Window()
FIRST = 8
"""Requests that may be in flight to an endpoint without history."""
SLOW = 0.1
"""If answers take longer than this many seconds, sends are spread out over that time."""
WIDEST = 0.5
"""Seconds between two of these sends at most: the endpoint may be quicker by now."""
HANGS = 1.5
"""Seconds without an answer after which an endpoint counts as hanging, while others of its origin
share a pace."""
WEIGHT = 0.1
"""The weight of the last success in the average latency of an endpoint."""


class Allowance:
    """Counts a lane's requests and retries, and limits them in addition to its gate."""

    __slots__ = (
        *("_counted", "_failed_at", "_latency", "_sends", "_sent_at", "_unanswered_since"),
        *("failures_in_a_row", "fifo_from", "in_flight", "most", "rate", "trust"),
    )

    def __init__(self, fifo_from: float) -> None:
        self.in_flight = 0
        self.most = self.trust = FIRST
        self.failures_in_a_row = 0
        """How many attempts have failed in a row."""
        self.rate = NO_SPACING
        self._latency = 0.0
        self._sent_at = self._failed_at = LONG_AGO
        self._unanswered_since = math.inf
        """When the first request was sent since the last answer."""
        self.fifo_from = fifo_from
        """An ordered lane sends nothing before this time: its last owner may have a request in
        flight."""
        self._sends = 0
        """How many requests were sent since the last retry was asked for."""
        self._counted = _NO_SENDS
        """The sends before that, and the retries among them."""

    def limit(self, most: int, rate: float | None) -> None:
        """Set the limits of the endpoint's owner; requests sent before still count."""
        self.most = most
        if rate is None:
            self.rate = NO_SPACING
        else:
            self.rate = Spacing() if self.rate is NO_SPACING else self.rate
            self.rate.limit(rate)

    def start_over(self) -> None:
        """Forget earlier results: the endpoint has moved to another origin."""
        self.failures_in_a_row, self.trust, self._latency = 0, FIRST, 0.0
        self._unanswered_since = math.inf

    def take_over_failures(self, failures: int) -> None:
        """Take over the number of failures in a row from the last owner of the lane."""
        self.failures_in_a_row = failures

    def sent(self, now: float) -> None:
        """Count a request that goes out."""
        self.in_flight += 1
        self._sends += 1
        self._sent_at = now
        self._unanswered_since = min(self._unanswered_since, now)
        self.rate.sent(now)

    def ended(self, *, timed_out: bool = False) -> None:
        """Count a request that was answered, or was not in time."""
        self.in_flight -= 1
        if not timed_out:
            self._unanswered_since = math.inf

    def passed(self, took: float) -> None:
        """Allow one more request in flight: the endpoint works, and took these seconds.

        Only such answers count for its latency: timeouts say nothing about it.
        """
        self.failures_in_a_row = 0
        self._latency += WEIGHT * (took - self._latency)
        self.trust = min(self.trust + 1, self.most)

    def failed(self, now: float, *, by_chance: bool) -> None:
        """Halve the requests in flight after a second failure in a row, unless it is by chance."""
        self.failures_in_a_row, self._failed_at = self.failures_in_a_row + 1, now
        if self.failures_in_a_row > 1 and not by_chance:
            self.trust = max(1, self.trust // 2)

    @property
    def was_used(self) -> bool:
        """Whether a request was sent yet."""
        return self._sent_at > LONG_AGO

    @property
    def sent_at(self) -> float:
        """When the last request was sent."""
        return self._sent_at

    def hangs(self, now: float) -> bool:
        """Return whether requests are in flight and none was answered for a long time."""
        since = self._unanswered_since
        return self.in_flight > 0 and now - since > max(HANGS, 4 * self._latency)

    @property
    def is_unanswered(self) -> bool:
        """Whether nothing was answered since the first request that is in flight or timed out."""
        return self._unanswered_since < math.inf

    def expect_answers(self) -> None:
        """Count only requests from now on as unanswered: an outage is over."""
        self._unanswered_since = math.inf

    def has_failed_since(self, time: float) -> bool:
        """Return whether an attempt failed since then."""
        return self._failed_at >= time

    def most_in_flight(self, phase: Phase) -> int:
        """Return how many requests may be in flight while the gate is in this phase."""
        return min(self.most, self.trust) if phase is CLOSED else self.most

    def free_at(self, now: float, phase: Phase, together: int, *, fifo: bool) -> float:
        """Return when the next request may be sent by these limits, without the gate's."""
        free_at = self.rate.free_at(now)
        if phase is CLOSED:
            if together > 1 and self._latency > SLOW:
                # Requests sent together would be answered together, and delay other lanes' answers.
                spread = min(self._latency / (2 * together), WIDEST)
                free_at = max(free_at, self._sent_at + spread)
            if self.failures_in_a_row >= RULE.failures:
                # The gate is about to open: requests sent until then would most likely fail.
                free_at = max(free_at, self._failed_at + RULE.tick)
        return max(free_at, self.fifo_from) if fifo else free_at

    def spend_retry(self, now: float) -> bool:
        """Return whether the retry budget allows a retry, and count it if so."""
        slot = RETRY_RULE.slot(now)
        self._counted = RETRY_RULE.call(self._counted, self._sends, slot)
        self._sends = 0
        counted = RETRY_RULE.spend(self._counted, slot)
        if counted is not None:
            self._counted = counted
        return counted is not None
