"""What one dispatcher would achieve with all deliveries in one lane: the pacer.

It is simulated at full size, or with a share of the clients and of the capacity if there are many.
Of a drain of hours only half an hour is simulated, and of an outage of months only 30 days: the
rest continues in the same way.
"""

from typing import NamedTuple

from tarry.core.pace import Pace, PacerRule
from tarry.core.probe import interval
from tarry.sim.backlog.model import Backlog
from tarry.sim.backlog.settings import LONGEST_OUTAGE, LONGEST_WATCH
from tarry.sim.chance import Chance
from tarry.sim.recommend.miniature import LATENCY, Trial
from tarry.sim.recommend.wish import Wish
from tarry.sim.run import PACED, Contestant

MOST_CLIENTS = 20_000
MOST_SENDS = 50_000
"""This many deliveries, in all runs together, take some seconds to simulate."""
RUNS = (2, 5)
RAMP = 4.0
"""Approximate seconds from the first success to full pace."""
SAFE = 0.95
"""The share of the capacity at which a lane settles."""
WATCH = 10
PLAYED_DRAIN = 1800.0


class Paced(NamedTuple):
    """How much to simulate: one in `thinned` clients, one in `shorter` seconds, and how often."""

    thinned: float
    shorter: float
    runs: int


def paced(wish: Wish) -> Paced:
    """Choose how much to simulate."""
    shorter = max(1.0, wish.drain / PLAYED_DRAIN)
    thinned = max(1.0, wish.clients / shorter / MOST_CLIENTS)
    least, most = RUNS
    runs = int(MOST_SENDS * thinned * shorter / wish.clients)
    return Paced(thinned, shorter, max(least, min(most, runs)))


def play(wish: Wish, how: Paced, chance: Chance) -> Trial:
    """Simulate one run of the lane."""
    outage = min(wish.outage, LONGEST_OUTAGE)
    backlog = Backlog(
        waiting=max(1, round(wish.clients / how.thinned / how.shorter)),
        capacity=wish.capacity / how.thinned,
        outage=outage,
        endpoint=wish.endpoint,
        latency=LATENCY,
        watch=min(LONGEST_WATCH, WATCH * (wish.drain + probe_interval(wish) + RAMP)),
    )
    metrics = backlog.simulate(Contestant(PACED, None), chance).metrics
    recovery, during = metrics["recovery"], metrics["attempts_during_outage"] or 0.0
    during += (wish.outage - outage) / probe_interval(wish)
    took = None if recovery is None else recovery * how.shorter
    return Trial(took, metrics["peak_ratio"] or 0.0, during)


def rule_of_thumb(wish: Wish) -> float:
    """Estimate the recovery: half a probe interval, the ramp, and a drain just below capacity."""
    return probe_interval(wish) / 2 + RAMP + wish.drain / SAFE


def probe_interval(wish: Wish) -> float:
    """Return the interval between probes at the end of the outage."""
    down = Pace(down_since=-wish.outage)
    return interval(PacerRule(), down, now=0.0, waiting=wish.clients)
