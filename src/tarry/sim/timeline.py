"""The timeline: everyone fails at once and comes back as the policy says, and nobody answers.

All clients fail at 0 and retry a given number of times, whatever happens. It shows the shape that
a policy gives to a crowd: how high its waves are, how steep, how long it takes.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import repeat
from typing import NamedTuple

import numpy as np

from tarry.core import checks
from tarry.core.policy import Policy, waits
from tarry.core.value import Value, settle
from tarry.errors import ScenarioError
from tarry.sim.chance import Chance
from tarry.sim.run import Contestant, Curve, Floats, Measure, Run, lone_policy
from tarry.sim.waits import Counts, Waits, no_memory

MOST_BUCKETS = 10_000_000
MOST_ARRIVALS = 2_000_000_000
"""More arrivals than this would take minutes to count."""
AT_A_TIME = 2**18
"""Arrivals worked on together: few enough to stay in the processor's cache."""
LARGEST_DRAW = 1 - 2**-53
ON_THE_EDGE = 1e-9
"""What falls short of a bucket by less than this share of it is inside: sums are rounded."""


class Timeline(Value):
    """So many `clients` fail at 0 and retry so many times each, counted in buckets of seconds.

    The policy's own limits (`attempts`, `within`) are not asked: `retries` says how many.
    """

    clients: int
    retries: int
    bucket: float

    def __init__(self, *, clients: int, retries: int, bucket: checks.Seconds = 0.1) -> None:
        settle(self, "clients", checks.count("clients", clients))
        settle(self, "retries", checks.count("retries", retries))
        settle(self, "bucket", checks.positive_seconds("bucket", bucket))
        if self.retries > AT_A_TIME:
            raise ScenarioError("retries", retries, f"at most {AT_A_TIME:,}")
        if self.clients * self.retries > MOST_ARRIVALS:
            wanted = f"at most {MOST_ARRIVALS // self.retries:,} with retries = {self.retries}"
            raise ScenarioError("clients", clients, wanted)

    @property
    def measures(self) -> Mapping[str, Measure]:
        """The metrics, in the order in which they are shown."""
        per = self._unit
        return {
            "peak": Measure("most arrivals in one bucket", per),
            "mean": Measure("arrivals in a bucket, on average from the first to the last", per),
            "peak_to_mean": Measure("how far the peak stands out"),
            "completion": Measure("when the last client has made its last retry", "s"),
            "waited": Measure("what all waits of a client add up to, on average", "s"),
            "spread": Measure("standard deviation of when clients make their last retry", "s"),
            "largest_step": Measure("largest change from one bucket to the next", per),
            "first_wave": Measure("most first retries in one bucket", per),
        }

    def refuse(self, contestant: Contestant) -> None:
        """Raise ScenarioError for guards, for the pacer, and for more buckets than can be kept."""
        self._admit(contestant)

    def simulate(self, contestant: Contestant, chance: Chance) -> Run:
        """One run."""
        tally = _Tally(self.bucket)
        for arrivals in self._crowds(self._admit(contestant), chance):
            tally.add(arrivals)
        counts, (waited, spread) = tally.counts, tally.moments()
        filled = np.flatnonzero(counts)
        peak = float(counts.max())
        mean = self.clients * self.retries / float(filled[-1] - filled[0] + 1)
        metrics = {
            "peak": peak,
            "mean": mean,
            "peak_to_mean": peak / mean,
            "completion": tally.latest,
            "waited": waited,
            "spread": spread,
            "largest_step": float(np.abs(np.diff(counts, prepend=0, append=0)).max()),
            "first_wave": float(tally.first.max()),
        }
        starts = np.arange(len(counts), dtype=np.float64) * self.bucket
        curve = Curve("arrivals", self._unit, starts, counts.astype(np.float64))
        return Run(metrics, {"arrivals": curve})

    @property
    def _unit(self) -> str:
        return f"arrivals per {self.bucket:g} s"

    def _admit(self, contestant: Contestant) -> Policy:
        policy = lone_policy(contestant, "timeline")
        latest = sum(waits(policy, repeat(LARGEST_DRAW, self.retries)))
        if latest > MOST_BUCKETS * self.bucket:
            wanted = (
                f"at least {latest / MOST_BUCKETS:.2g}: the retries of {contestant.name!r} may take"
                f" {latest:,.0f} s, and {MOST_BUCKETS:,} buckets are the most"
            )
            raise ScenarioError("bucket", self.bucket, wanted)
        return policy

    def _crowds(self, policy: Policy, chance: Chance) -> Iterator[Floats]:
        """When clients arrive, some clients at a time: a row for each retry."""
        drawn, together = Waits(policy), chance.stream("policy")
        crowd = AT_A_TIME // self.retries
        for start in range(0, self.clients, crowd):
            size = min(crowd, self.clients - start)
            arrivals, memory = together.random((self.retries, size)), no_memory(size)
            now = np.zeros(size)
            for attempts, row in enumerate(arrivals, start=1):
                wait, memory = drawn.draw(attempts, memory, row)
                now = np.add(now, wait, out=row)  # a draw that is used up makes room for its result
            yield arrivals


class _Part(NamedTuple):
    """Some clients: how many, and mean and variance of their last arrivals."""

    size: int
    mean: float
    variance: float


class _Tally:
    """What is counted while the crowds come in."""

    def __init__(self, bucket: float) -> None:
        self.counts = self.first = np.zeros(0, dtype=np.int64)
        self.latest = 0.0
        self._bucket = bucket
        self._parts: list[_Part] = []

    def add(self, arrivals: Floats) -> None:
        """Count the arrivals of some clients, a row for each retry."""
        last = arrivals[-1]
        self.latest = max(self.latest, float(last.max()))
        self._parts.append(_Part(len(last), *_moments(last)))
        arrivals /= self._bucket
        arrivals += ON_THE_EDGE
        places = arrivals.astype(np.int64)
        self.counts = _sum(self.counts, np.bincount(places.ravel()))
        self.first = _sum(self.first, np.bincount(places[0]))

    def moments(self) -> tuple[float, float]:
        """Mean and standard deviation over all clients, from those of the parts."""
        sizes, means, variances = (np.array(column) for column in zip(*self._parts, strict=True))
        mean, among = _moments(means, sizes)
        return mean, math.sqrt(among + float(np.average(variances, weights=sizes)))


def _moments(values: Floats, weights: Floats | None = None) -> tuple[float, float]:
    """Mean and variance, seen from the first value: where all are alike they do not differ."""
    away = values - values[0]
    mean = float(np.average(away, weights=weights))
    variance = float(np.average((away - mean) ** 2, weights=weights))
    return float(values[0]) + mean, variance


def _sum(one: Counts, other: Counts) -> Counts:
    """The sum of two counts, of which one may reach further than the other."""
    short, long = sorted((one, other), key=len)
    long[: len(short)] += short
    return long
