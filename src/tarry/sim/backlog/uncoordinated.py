"""The backlog model without coordination: each delivery retries by itself, by the policy.

All waiting deliveries failed for the first time when the outage began. Time is divided into ticks:
the endpoint sees all attempts of the same tenth of a second together.
"""

import math
from itertools import pairwise

import numpy as np

from tarry.core.policy import Policy
from tarry.sim.backlog.delivery_log import NONE, SHOWN, DeliveryLog
from tarry.sim.backlog.due_times import DueTimes, Indices
from tarry.sim.backlog.settings import BacklogSettings
from tarry.sim.chance import Chance
from tarry.sim.run import Floats

TICKS = 10
"""The number of ticks in a second."""


def simulate(settings: BacklogSettings, policy: Policy, chance: Chance) -> DeliveryLog:
    """Simulate one run, from the start of the outage until no waiting delivery is left."""
    fresh = settings.fresh(chance)
    due = np.concatenate([np.full(settings.waiting, -settings.outage), fresh])
    due_times = DueTimes(policy, due, chance.stream("jitter"))
    spent, before = _through_the_outage(settings, due_times)
    run = _Run(settings, due_times, chance)
    ended = run.recover()
    arrived = fresh < ended
    return DeliveryLog(
        attempts=run.in_order(),
        spent=spent,
        delivered=run.delivered[: settings.waiting],
        fresh_at=fresh[arrived],
        fresh_delivered=run.delivered[settings.waiting :][arrived],
        lost=due_times.lost,
        ended=ended,
        before=before,
        most_spent=math.ceil(spent / settings.lanes),
    )


def _through_the_outage(settings: BacklogSettings, due_times: DueTimes) -> tuple[int, Floats]:
    """Let every attempt fail, round after round, until the outage is over.

    Return how many attempts were made, and the times of the last ones.
    """
    spent, shown = 0, [NONE]
    while len(which := np.flatnonzero(due_times.due < 0)):
        times = due_times.due[which]
        spent += len(which)
        shown.append(times[times >= -SHOWN])
        due_times.fail(which, times + settings.latency, settings.retry_after)
    return spent, np.concatenate(shown)


class _Run:
    """A run from the moment the endpoint is back.

    When a delivery would be due again does not depend on whether its attempt fails. So each second
    is first simulated as if all its attempts failed, in one go. Then the endpoint decides, tick by
    tick, which of them succeed, and what those deliveries would have done later is dropped.
    """

    def __init__(self, settings: BacklogSettings, due_times: DueTimes, chance: Chance) -> None:
        self._attempts: list[Floats] = []
        self.delivered = np.full(len(due_times.due), np.inf)
        self._settings = settings
        self._due_times = due_times
        self._endpoint = settings.opened(chance)
        self._chance = chance.stream("errors")

    def in_order(self) -> Floats:
        """Return the times of all attempts, sorted."""
        attempts = np.concatenate([np.empty(0), *self._attempts])
        attempts.sort(kind="stable")  # fastest if nearly sorted already
        return attempts

    def recover(self) -> float:
        """Simulate second by second until no waiting delivery is due; return the end time."""
        due, waiting, watch = self._due_times.due, self._settings.waiting, self._settings.watch
        second = 0
        while not np.isinf(due[:waiting]).all():
            second = max(second, int(due.min()))
            if second >= watch:
                return watch
            self._play(second)
            second += 1
        return _end(self.delivered[:waiting], watch)

    def _play(self, second: int) -> None:
        edges = second + np.arange(1, TICKS + 1) / TICKS
        which, times, ticks = self._all_failing(edges)
        order = np.lexsort((times, ticks))
        which, times = which[order], times[order]
        starts = np.searchsorted(ticks[order], np.arange(TICKS + 1)).tolist()
        some_passed = False
        for now, (start, end) in zip(edges.tolist(), pairwise(starts), strict=True):
            hits, sent = which[start:end], times[start:end]
            if some_passed:
                left = np.isinf(self.delivered[hits])
                hits, sent = hits[left], sent[left]
            some_passed |= self._meet(now, hits, sent)

    def _all_failing(self, edges: Floats) -> tuple[Indices, Floats, Indices]:
        """Return a second's attempts if all fail: which delivery, what time, and which tick.

        A delivery has one attempt per tick. If it is due again in the same tick, it goes with the
        next one.
        """
        due_times = self._due_times
        which = np.flatnonzero(due_times.due < edges[-1])
        ticks = np.zeros(len(which), dtype=np.intp)
        rounds = []
        while len(which):
            times = due_times.due[which]
            ticks = np.maximum(ticks, np.searchsorted(edges, times, side="right"))
            rounds.append((which, times, ticks))
            due_times.fail(which, times + self._settings.latency)
            again = (due_times.due[which] < edges[-1]) & (ticks < TICKS - 1)
            which, ticks = which[again], ticks[again] + 1
        whose, when, where = (np.concatenate(parts) for parts in zip(*rounds, strict=True))
        return whose, when, where

    def _meet(self, now: float, hits: Indices, times: Floats) -> bool:
        """Make the attempts of a tick, the earliest first; return whether any got through."""
        if not len(hits):
            return False
        self._attempts.append(times)
        taken = self._endpoint.accepts(now, len(hits), 1 / TICKS)
        if not taken:
            return False
        good, answered = hits[:taken], times[:taken] + self._settings.latency
        if self._settings.error_rate:
            passed = self._chance.random(taken) >= self._settings.error_rate
            good, answered = good[passed], answered[passed]
        self.delivered[good] = answered
        self._due_times.leave(good)
        return True


def _end(delivered: Floats, watch: float) -> float:
    made = delivered[np.isfinite(delivered)]
    return min(float(made.max()) if len(made) else 0.0, watch)
