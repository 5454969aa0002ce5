"""Deliveries to one endpoint that know nothing of each other: each retries by the policy.

All waiting ones failed for the first time when the outage began. Time goes in ticks: attempts of
the same tenth of a second meet the endpoint together.
"""

import numpy as np

from tarry.core.policy import Policy
from tarry.sim.chance import Chance
from tarry.sim.crowd import Crowd, Indices
from tarry.sim.ledger import Ledger
from tarry.sim.run import Floats
from tarry.sim.world import World

TICKS = 10
"""How many ticks a second has."""


def play(world: World, policy: Policy, chance: Chance) -> Ledger:
    """One run, from the beginning of the outage until all waiting ones are done, or lost."""
    fresh = world.fresh(chance)
    due = np.concatenate([np.full(world.waiting, -world.outage), fresh])
    crowd = Crowd(policy, due, chance.stream("jitter"))
    spent = _through_the_outage(world, crowd)
    run = _Run(world, crowd, chance)
    ended = run.recover()
    arrived = fresh < ended
    return Ledger(
        attempts=np.sort(np.concatenate([np.empty(0), *run.attempts])),
        spent=spent,
        delivered=run.delivered[: world.waiting],
        fresh_at=fresh[arrived],
        fresh_delivered=run.delivered[world.waiting :][arrived],
        lost=crowd.lost,
        ended=ended,
    )


def _through_the_outage(world: World, crowd: Crowd) -> int:
    """Every attempt fails: all deliveries take theirs, round after round, until it is over."""
    spent = 0
    while len(which := np.flatnonzero(crowd.due < 0)):
        spent += len(which)
        crowd.fail(which, crowd.due[which] + world.latency, world.retry_after)
    return spent


class _Run:
    """From the moment the endpoint is back."""

    def __init__(self, world: World, crowd: Crowd, chance: Chance) -> None:
        self.attempts: list[Floats] = []
        self.delivered = np.full(len(crowd.due), np.inf)
        self._world = world
        self._crowd = crowd
        self._endpoint = world.opened(chance)
        self._chance = chance.stream("errors")

    def recover(self) -> float:
        """Go on second by second while one of the waiting is still due; return the end."""
        due, waiting = self._crowd.due, self._world.waiting
        second = 0
        while second < self._world.watch:
            if np.isinf(due[:waiting]).all():
                return _end(self.delivered[:waiting], self._world.watch)
            soon = np.flatnonzero(due < second + 1)
            if len(soon):
                for tick in range(1, TICKS + 1):
                    self._tick(soon, second + tick / TICKS)
            second += 1
        return float(self._world.watch)

    def _tick(self, soon: Indices, now: float) -> None:
        crowd = self._crowd
        hits = soon[crowd.due[soon] < now]
        if not len(hits):
            return
        times = crowd.due[hits]
        self.attempts.append(times)
        answered = times + self._world.latency
        taken = self._endpoint.accepts(now, len(hits), 1 / TICKS)
        if not taken:
            crowd.fail(hits, answered)
            return
        passed = self._chosen(hits, times, taken)
        good = hits[passed]
        self.delivered[good] = answered[passed]
        crowd.due[good] = np.inf
        crowd.fail(hits[~passed], answered[~passed])

    def _chosen(self, hits: Indices, times: Floats, taken: int) -> np.typing.NDArray[np.bool_]:
        """Which of them got through: the earliest, but for random errors."""
        passed = np.ones(len(hits), dtype=np.bool_)
        if taken < len(hits):
            passed[np.argsort(times, kind="stable")[taken:]] = False
        if self._world.error_rate:
            passed &= self._chance.random(len(hits)) >= self._world.error_rate
        return passed


def _end(delivered: Floats, watch: float) -> float:
    made = delivered[np.isfinite(delivered)]
    return min(float(made.max()) if len(made) else 0.0, watch)
