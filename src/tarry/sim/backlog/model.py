"""The backlog model: a webhook endpoint comes back, and many deliveries are waiting for it.

Contestants are policies, under which each delivery retries by itself, and the pacer, with which one
lane sends all deliveries.
"""

import math
from collections.abc import Mapping

from tarry.core.pace import PacerRule
from tarry.core.policy import Policy
from tarry.errors import ScenarioError
from tarry.sim.attempt_count import most_attempts
from tarry.sim.backlog import lane, uncoordinated
from tarry.sim.backlog.delivery_log import DeliveryLog
from tarry.sim.backlog.settings import BacklogSettings
from tarry.sim.chance import Chance
from tarry.sim.run import Contestant, Measure, Run

MOST_DOWN = 300_000_000
"""More attempts than this during an outage would take minutes to count."""
MOST_BACK = 100_000_000
"""After the outage the time of each attempt is kept: more of them would fill the memory."""
MOST_LOOKS = 100_000_000_000
"""Deliveries times seconds. At this limit a run takes some minutes if every second has an attempt.
"""
ROUND = 100
"""A round of attempts costs at least as much time as one of this many attempts."""


class Backlog(BacklogSettings, init=False):
    """The backlog model."""

    @property
    def measures(self) -> Mapping[str, Measure]:
        """The metrics, in display order."""
        return {
            "recovery": Measure("when the last waiting delivery was made", "s"),
            "recovery_ratio": Measure("the same, to the least that capacity and arrivals allow"),
            "peak_ratio": Measure("most attempts in any second, to the capacity in it"),
            "peak_10ms": Measure("most attempts in any hundredth of a second"),
            "attempts_during_outage": Measure("attempts while it was down"),
            "attempts_per_lane": Measure("most attempts any one endpoint got while it was down"),
            "attempts_per_delivery_after": Measure("attempts per delivery once it was back"),
            "fresh_p99": Measure("how long new messages waited, 99 in 100", "s"),
            "lost": Measure("share of the deliveries that gave up"),
        }

    def refuse(self, contestant: Contestant) -> None:
        """Raise ScenarioError for guards, and for waits that are too short to simulate."""
        for guard in ("budget", "breaker"):
            if (rule := getattr(contestant, guard)) is not None:
                wanted = "left out: backlog has no guards but the pacer, model 'server' has"
                raise ScenarioError(guard, rule, wanted)
        if contestant.policy is not None:
            self._must_end(contestant.policy)

    def simulate(self, contestant: Contestant, chance: Chance) -> Run:
        """Simulate one run."""
        self.refuse(contestant)
        if contestant.policy is None:
            log = lane.simulate(self, PacerRule(probe=contestant.probe), chance)
        else:
            log = uncoordinated.simulate(self, contestant.policy, chance)
        return Run(self._metrics(log), log.curves(self.capacity, self.outage))

    def _metrics(self, log: DeliveryLog) -> dict[str, float | None]:
        """Return the metrics of one run."""
        recovery, limit = log.recovery, self.limit
        ratio = None if recovery is None or limit is None else recovery / limit
        return {
            "recovery": recovery,
            "recovery_ratio": ratio,
            "peak_ratio": log.peak_ratio(self.capacity),
            "peak_10ms": log.peak_10ms(),
            "attempts_during_outage": float(log.spent),
            "attempts_per_lane": float(log.most_spent),
            "attempts_per_delivery_after": len(log.attempts) / log.done if log.done else None,
            "fresh_p99": log.fresh_p99(),
            "lost": log.lost / (self.waiting + len(log.fresh_at)),
        }

    def _must_end(self, policy: Policy) -> None:
        """Refuse a run that would take too long if all attempts fail."""
        fresh, took = self.arrivals * self.watch, self.latency
        down = max(self.waiting, ROUND) * most_attempts(policy, self.outage, took=took)
        left = math.inf if policy.within is None else policy.within - self.outage
        waited = self.waiting * most_attempts(policy, min(self.watch, left), took=took)
        back = waited + fresh * most_attempts(policy, self.watch / 2, took=took)
        for key, attempts, most in (("outage", down, MOST_DOWN), ("watch", back, MOST_BACK)):
            if attempts > most:
                wanted = f"shorter, or the waits longer: about {attempts:,.0f} attempts"
                raise ScenarioError(key, getattr(self, key), f"{wanted} are more than {most:,}")
        longest = MOST_LOOKS / (self.waiting + fresh)
        if min(self.watch, back) > longest:
            wanted = f"at most {longest:,.0f}: every second each delivery is looked at"
            raise ScenarioError("watch", self.watch, wanted)
