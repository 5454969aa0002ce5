"""The world of a wish, at full size, or smaller if that would take too long.

There are two ways to shrink it that keep what matters. *Thinned*: a share of the clients, at a
service with the same share of the capacity; only random effects grow. *Faster*: fewer clients with
a proportionally shorter outage and shorter waits, at the same capacity; all times are scaled back.
Also, an outage of many waits need not be simulated to its end: the clients are spread long before.
"""

import math
from typing import NamedTuple

from tarry.sim.backlog.model import Backlog
from tarry.sim.backlog.uncoordinated import TICKS
from tarry.sim.chance import Chance
from tarry.sim.recommend.candidates import Candidate
from tarry.sim.recommend.pauses import pauses
from tarry.sim.recommend.wish import Wish
from tarry.sim.run import Contestant

LATENCY = 0.05
PER_ATTEMPT, PER_ROUND, PER_TICK, PER_LOOK = 6e-8, 6e-5, 6e-6, 4e-10
"""The approximate cost, in seconds, of an attempt, a round of attempts, a tick, and a look at a
waiting client."""
TYPICAL_WAIT = 1.4
"""A typical mean wait, in units of the wish."""
FIRST_ATTEMPTS = 11
"""Attempts of a client other than those at the cap: while waits rise, and after the outage."""
WATCHED = 5
"""How many units of a wish are simulated after the outage."""
SPREAD = 60
"""After this many units the clients are as spread out as they will ever be."""
SHRINK_FACTOR = 2


class Trial(NamedTuple):
    """The result of one run, scaled to full size; `recovery` is None if it took too long."""

    recovery: float | None
    peak_ratio: float
    attempts: float


class Size(NamedTuple):
    """How a world is shrunk: one in `thinned` clients, all `faster`, and the outage cut or not."""

    thinned: int = 1
    faster: int = 1
    cut: bool = False

    @property
    def full(self) -> bool:
        """Whether the world has its full size."""
        return self == Size()


class Floor(NamedTuple):
    """The limits of shrinking: the smallest capacity, and the shortest time to drain."""

    capacity: float
    drain: float


def fitting(wish: Wish, seconds: float, floor: Floor) -> Size:
    """Return the largest size whose run takes about `seconds`, or the smallest size."""
    size = Size()
    while cost(wish, size) > seconds:
        if not size.cut and wish.outage > SPREAD * wish.unit:
            size = size._replace(cut=True)
        elif wish.capacity / (size.thinned * SHRINK_FACTOR) >= floor.capacity:
            size = size._replace(thinned=size.thinned * SHRINK_FACTOR)
        elif wish.drain / (size.faster * SHRINK_FACTOR) >= floor.drain:
            size = size._replace(faster=size.faster * SHRINK_FACTOR)
        else:
            break
    return size


def cost(wish: Wish, size: Size) -> float:
    """Estimate how many seconds a run takes."""
    clients = wish.clients / (size.thinned * size.faster)
    outage = min(wish.outage, SPREAD * wish.unit) if size.cut else wish.outage
    rounds = outage / (TYPICAL_WAIT * wish.unit) + FIRST_ATTEMPTS
    seconds = WATCHED * wish.unit / size.faster
    through = rounds * (PER_ROUND + clients * PER_ATTEMPT)
    return through + seconds * (TICKS * PER_TICK + clients * PER_LOOK)


def play(
    wish: Wish, size: Size, candidate: Candidate, chance: Chance, *, watch: float = math.inf
) -> Trial:
    """Simulate one run of a candidate; if it takes longer than `watch`, it has no recovery."""
    faster = size.faster
    policy = candidate.faster(faster)
    outage = _outage(wish, size, candidate)
    longest = candidate.backoff.ceiling
    backlog = Backlog(
        waiting=max(1, round(wish.clients / (size.thinned * faster))),
        capacity=wish.capacity / size.thinned,
        outage=outage / faster,
        endpoint=wish.endpoint,
        latency=LATENCY / faster,
        watch=max(1.0, math.ceil(min(watch, WATCHED * max(longest, wish.unit)) / faster)),
    )
    metrics = backlog.simulate(Contestant(candidate.name, policy), chance).metrics
    recovery, peak = metrics["recovery"], metrics["peak_ratio"]
    during = (metrics["attempts_during_outage"] or 0.0) * wish.clients / backlog.waiting
    if outage < wish.outage:
        during += wish.clients * (wish.outage - outage) / pauses(candidate.policy).mean
    return Trial(None if recovery is None else recovery * faster, peak or 0.0, during)


def _outage(wish: Wish, size: Size, candidate: Candidate) -> float:
    enough = SPREAD * max(wish.unit, candidate.backoff.ceiling)
    return min(wish.outage, enough) if size.cut else wish.outage
