"""Decide, by `core.blame`, whose failure a failed attempt is in the simulated lane.

A simulated endpoint fails randomly, by overload or in an outage. No simulated message is at fault
itself, and all have one event type, so this keeps less state than the service does.
"""

from tarry.core.blame import (
    SLOWED_RETRIES,
    Blame,
    FailedAttempt,
    Trouble,
    Whose,
    accept,
    blame,
    learn,
)
from tarry.core.blame_facts import CLEAN, Charge, DeliveryFacts, LaneFacts
from tarry.core.pace import PacerRule, Phase
from tarry.core.second_tries import NO_TRIES


class LaneBlame:
    """What a simulated lane remembers about its failed deliveries."""

    def __init__(self, rule: PacerRule) -> None:
        self._rule = rule
        self._accepted_sent_at = self._accepted_at = float("-inf")
        self._tries = NO_TRIES
        self._deliveries: dict[int, DeliveryFacts] = {}

    def succeeded(self, delivery: int, sent_at: float, now: float) -> None:
        """Record that an attempt, sent at `sent_at`, was accepted."""
        facts = self._deliveries.pop(delivery, CLEAN)
        self._tries = accept(self._tries, facts, self._accepted_sent_at)
        self._accepted_sent_at = max(self._accepted_sent_at, sent_at)
        self._accepted_at = now

    def failed(self, delivery: int, phase: Phase, now: float) -> Blame:
        """Count a failed attempt, and return whose failure it is."""
        lane = LaneFacts(
            accepted_sent_at=self._accepted_sent_at,
            accepted_at=self._accepted_at,
            tries=self._tries,
        )
        facts = self._deliveries.get(delivery, CLEAN)
        attempt = FailedAttempt(Trouble.FAILED, "", phase, now)
        lane = learn(lane, facts, attempt)
        verdict = blame(self._rule, lane, facts, attempt)
        self._tries = lane.tries.spared() if verdict.spared else lane.tries
        return verdict

    def retry_in(self, delivery: int, whose: Whose, now: float, draw: float) -> float:
        """Remember whose failure it was, and return in how many seconds to retry the delivery.

        In the service, the endpoint's policy says when to retry after an attempt that counts. Here
        no attempt counts, and each delivery is retried soon.
        """
        facts = self._deliveries.get(delivery, CLEAN)
        wait, _ = SLOWED_RETRIES.wait(facts.slowed + 1, None, draw)
        if whose is Whose.PACE:
            facts = facts.slow(now, wait)
        else:
            facts = facts.charge_for(Charge(now, 0, 0, ""), self._accepted_sent_at)
        self._deliveries[delivery] = facts
        return wait

    def turned(self, phase: Phase) -> None:
        """Record that the lane changed its phase: it opened because it failed, or closed again."""
        if phase is Phase.PACED:
            return
        accepted = self._accepted_sent_at
        for delivery, facts in self._deliveries.items():
            changed = facts.settle_down() if phase is Phase.CLOSED else facts.give_back(accepted)
            self._deliveries[delivery] = changed
