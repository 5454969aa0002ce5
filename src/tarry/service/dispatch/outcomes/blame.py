"""Keeps the facts that `core.blame` needs of a lane and of its deliveries that failed.

The facts are in memory only, and bounded. A delivery beyond the bound is judged as if it had failed
at the lane's pace often enough already: each failure costs it an attempt, and none is given back.
"""

from collections.abc import Callable, Container, Mapping

from msgspec.structs import replace

from tarry.core.blame import AT_PACE, FailedAttempt, Trouble, Whose, accept, blame, learn
from tarry.core.blame_facts import (
    ACCEPTED_TYPE,
    CLEAN,
    UNSEEN,
    Charge,
    DeliveryFacts,
    EventTypeFacts,
    LaneFacts,
)
from tarry.core.pace import Phase
from tarry.core.second_tries import NO_TRIES
from tarry.service.dispatch.clock import LONG_AGO
from tarry.service.dispatch.limits.gate import RULE
from tarry.service.dispatch.outcomes.judge import Ruling, Verdict
from tarry.service.dispatch.sparse import EMPTY_DICT, put, put_one, without
from tarry.service.model.delivery import ENDED
from tarry.service.model.lane import Due

DELIVERIES = 10_000
"""How many deliveries of a lane are remembered."""
TYPES = 1000
"""How many event types of a lane are remembered."""

_BEYOND = DeliveryFacts(slowed=AT_PACE)
_TROUBLES = {
    Verdict.FAILED: Trouble.FAILED,
    Verdict.REFUSED: Trouble.REFUSED,
    Verdict.HELD: Trouble.THROTTLED,
}


class LaneBlame:
    """The memory of one lane, from which it is decided whose failure an attempt is.

    For each answer of the endpoint call `succeeded` or `failed`. Then, unless it was a resend, ask
    `refunded` for the delivery, `whose` and `slowed` for the ruling, and call `remember` with that.
    Call `phase_changed` when the gate is in another phase, and `take_refunds` after that and
    whenever a delivery is not busy any more. `refusals` and `failures` are for reading.
    """

    __slots__ = (
        *("_accepted", "_deliveries", "_refunds", "_tries", "_types", "failures", "refusals"),
    )

    def __init__(self) -> None:
        self.refusals = 0
        """How many attempts were refused since the last success."""
        self.failures = 0
        """How many failures counted since the last success in this phase of the gate."""
        self._accepted = LONG_AGO
        """When the latest message was sent that the endpoint accepted."""
        self._tries = NO_TRIES
        self._types: Mapping[str, EventTypeFacts] = EMPTY_DICT
        """Mostly one: many endpoints want only one event type."""
        self._deliveries: dict[int, DeliveryFacts] = EMPTY_DICT
        self._refunds: dict[int, Charge] = EMPTY_DICT
        """Attempts to give back because the lane opened, until they are saved."""

    # --- Answers --------------------------------------------------------------------------------

    def succeeded(self, due: Due, sent_at: float) -> None:
        """Remember that the endpoint works: it answered an attempt of that time."""
        self.refusals = self.failures = 0
        self._tries = accept(self._tries, self._delivery_facts(due), self._accepted)
        self._accepted = max(self._accepted, sent_at)
        if self._types.get(due.event_type) is not ACCEPTED_TYPE:
            self._learn_type(due.event_type, ACCEPTED_TYPE)

    def failed(  # noqa: PLR0913  an attempt, and what the lane knows of its endpoint
        self,
        due: Due,
        verdict: Verdict,
        *,
        phase: Phase,
        shared: bool,
        in_a_row: int,
        accepted_at: float,
        now: float,
    ) -> int | None:
        """Count a failure and return how many failures the gate counts; None if it learns nothing.

        `phase` is that of the gate it was sent through, `shared` whether that is the origin's.
        `in_a_row` failures came before it, and the last success was at `accepted_at`.
        """
        if verdict is not Verdict.HELD:
            known = self._types.get(due.event_type, UNSEEN)
            self._learn_type(due.event_type, known.fail(now, enough=RULE.failures))
        attempt = FailedAttempt(_TROUBLES[verdict], due.event_type, phase, now, shared=shared)
        delivery = self._delivery_facts(due)
        lane = learn(self._lane_facts(accepted_at, in_a_row), delivery, attempt)
        result = blame(RULE, lane, delivery, attempt)
        self.refusals = lane.refusals
        self.failures += result.counts is not None
        self._tries = lane.tries.spared() if result.spared else lane.tries
        return result.counts

    def whose(
        self, due: Due, verdict: Verdict, *, phase: Phase, accepted_at: float, now: float
    ) -> Whose:
        """Return whose failure it is, by the phase of the gate that the lane uses now."""
        attempt = FailedAttempt(_TROUBLES[verdict], due.event_type, phase, now)
        return blame(RULE, self._lane_facts(accepted_at), self._delivery_facts(due), attempt).whose

    def ignores(self, due: Due, *, accepted_at: float, now: float) -> bool:
        """Return whether a failure of this delivery would say nothing about the endpoint."""
        type_fails = self._types.get(due.event_type, UNSEEN).failures
        if not type_fails and due.seq not in self._deliveries:
            return False
        attempt = FailedAttempt(Trouble.FAILED, due.event_type, Phase.CLOSED, now)
        return (
            blame(RULE, self._lane_facts(accepted_at), self._delivery_facts(due), attempt).counts
            is None
        )

    def slowed(self, due: Due) -> int:
        """Return how many failures of a delivery were put down to the lane's pace."""
        return self._delivery_facts(due).slowed

    def pause(self, due: Due) -> float | None:
        """Return how long a delivery waits that failed at the lane's pace; None if it did not."""
        return self._delivery_facts(due).pause

    def remember(self, due: Due, verdict: Verdict, ruling: Ruling, now: float) -> None:
        """Remember what was ruled on a delivery, until it ends."""
        if ruling.state in ENDED:
            if self._deliveries:
                self._deliveries = without(self._deliveries, due.seq)
            return
        if due.seq not in self._deliveries and len(self._deliveries) >= DELIVERIES:
            return
        facts = self._delivery_facts(due)
        if verdict is Verdict.REFUSED:
            facts = facts.refuse(now)
        if ruling.pause is not None:
            facts = facts.slow(now, ruling.pause)
        elif ruling.counted:
            charge = Charge(now, due.attempts, due.tries + 1, due.message)
            facts = facts.charge_for(charge, self._accepted)
        if facts is not CLEAN:
            self._deliveries = put(self._deliveries, due.seq, facts)

    # --- Changes of the lane --------------------------------------------------------------------

    def phase_changed(self, phase: Phase, *, failed: bool) -> None:
        """Adapt to a new phase of the lane's gate.

        If the endpoint `failed`, attempts that failed since the last success are given back.
        """
        self.failures = 0
        if phase is Phase.CLOSED:
            self._change_all(DeliveryFacts.settle_down)
        elif failed:
            self._give_back()
        if phase is Phase.PACED:
            self.refusals = min(self.refusals, 1)  # the outage with its refusals is over

    def start_over(self) -> None:
        """Forget what was learned: the endpoint has moved to another origin."""
        self.refusals = self.failures = 0
        self._accepted, self._tries, self._types = LONG_AGO, NO_TRIES, EMPTY_DICT
        self._change_all(DeliveryFacts.start_over)

    # --- Attempts that are given back -----------------------------------------------------------

    def refunded(self, due: Due) -> Due:
        """Return a delivery that was answered, with attempts given back if it is owed a refund."""
        charge = self._refunds.get(due.seq)
        if charge is None or charge.message != due.message:
            return due
        self._refunds = without(self._refunds, due.seq)
        return replace(due, attempts=charge.attempts)

    def take_refunds(self, busy: Container[int]) -> list[tuple[int, Charge]]:
        """Remove and return the attempts to give back now, except those of busy deliveries."""
        if not self._refunds:
            return []
        free = [seq for seq in self._refunds if seq not in busy]
        taken = [(seq, self._refunds.pop(seq)) for seq in free]
        self._refunds = self._refunds or EMPTY_DICT
        return taken

    def _give_back(self) -> None:
        """Note the attempts to give back: those charged since the accepted request was sent."""
        for seq, facts in list(self._deliveries.items()):
            if facts.charge is not None and facts.charge.at >= self._accepted:
                self._refunds = put(self._refunds, seq, facts.charge)
                self._keep(seq, facts.give_back(self._accepted))

    # --- Facts ----------------------------------------------------------------------------------

    def _lane_facts(self, accepted_at: float, in_a_row: int = 0) -> LaneFacts:
        """Return what is known about the lane, with a response of this time as the accepted one."""
        return LaneFacts(
            accepted_sent_at=self._accepted,
            accepted_at=accepted_at,
            in_a_row=in_a_row,
            refusals=self.refusals,
            types=self._types,
            tries=self._tries,
        )

    def _delivery_facts(self, due: Due) -> DeliveryFacts:
        """Return what is known about a delivery."""
        deliveries = self._deliveries
        return deliveries.get(due.seq) or (CLEAN if len(deliveries) < DELIVERIES else _BEYOND)

    def _learn_type(self, event_type: str, facts: EventTypeFacts) -> None:
        """Keep facts about an event type, unless too many types are known already."""
        if event_type in self._types or len(self._types) < TYPES:
            self._types = put_one(self._types, event_type, facts)

    def _change_all(self, change: Callable[[DeliveryFacts], DeliveryFacts]) -> None:
        """Apply a change to the facts of every delivery."""
        for seq, facts in list(self._deliveries.items()):
            changed = change(facts)
            if changed is not facts:
                self._keep(seq, changed)

    def _keep(self, seq: int, facts: DeliveryFacts) -> None:
        """Save facts about a delivery; drop its entry if they are those of a clean one."""
        if facts == CLEAN:
            self._deliveries = without(self._deliveries, seq)
        else:
            self._deliveries = put(self._deliveries, seq, facts)
