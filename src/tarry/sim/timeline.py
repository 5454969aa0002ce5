"""The timeline model: all clients fail at once and retry by the policy, and none succeeds.

All clients fail at 0 and retry a given number of times, whatever happens. The model shows how a
policy shapes a crowd: how high and how steep its waves are, and how long they last.
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
"""How many arrivals are processed at a time: few enough for the processor's cache."""
LARGEST_DRAW = 1 - 2**-53
ON_THE_EDGE = 1e-9
"""An arrival that misses a bucket by less than this share of it counts in it, since sums are
rounded."""


class Timeline(Value):
    """The `clients` fail at 0 and retry `retries` times each; arrivals are counted in buckets.

    The policy's own limits (`attempts`, `within`) are ignored: `retries` says how many.
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
        """The metrics, in display order."""
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
        """Raise ScenarioError for guards, for the pacer, and for too many buckets."""
        self._admit(contestant)

    def simulate(self, contestant: Contestant, chance: Chance) -> Run:
        """Simulate one run."""
        tally = _Tally(self.bucket)
        for arrivals in self._groups_of_clients(self._admit(contestant), chance):
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

    def _groups_of_clients(self, policy: Policy, chance: Chance) -> Iterator[Floats]:
        """Yield the arrival times of a group of clients at a time, with one row per retry."""
        drawn, together = Waits(policy), chance.stream("policy")
        crowd = AT_A_TIME // self.retries
        for start in range(0, self.clients, crowd):
            size = min(crowd, self.clients - start)
            arrivals, memory = together.random((self.retries, size)), no_memory(size)
            now = np.zeros(size)
            for attempts, row in enumerate(arrivals, start=1):
                wait, memory = drawn.draw(attempts, memory, row)
                now = np.add(now, wait, out=row)  # overwrite the draws, which are used up
            yield arrivals


class _Part(NamedTuple):
    """A group of clients: its size, and the mean and variance of their last arrivals."""

    size: int
    mean: float
    variance: float


class _Tally:
    """The counts over all groups of clients."""

    def __init__(self, bucket: float) -> None:
        self.counts = self.first = np.zeros(0, dtype=np.int64)
        self.latest = 0.0
        self._bucket = bucket
        self._parts: list[_Part] = []

    def add(self, arrivals: Floats) -> None:
        """Count the arrivals of some clients, with one row per retry."""
        last = arrivals[-1]
        self.latest = max(self.latest, float(last.max()))
        self._parts.append(_Part(len(last), *_moments(last)))
        arrivals /= self._bucket
        arrivals += ON_THE_EDGE
        places = arrivals.astype(np.int64)
        self.counts = _sum_of_counts(self.counts, np.bincount(places.ravel()))
        self.first = _sum_of_counts(self.first, np.bincount(places[0]))

    def moments(self) -> tuple[float, float]:
        """Return the mean and standard deviation over all clients."""
        sizes, means, variances = (np.array(column) for column in zip(*self._parts, strict=True))
        mean, among = _moments(means, sizes)
        return mean, math.sqrt(among + float(np.average(variances, weights=sizes)))


def _moments(values: Floats, weights: Floats | None = None) -> tuple[float, float]:
    """Return mean and variance, computed from the first value: exactly 0 if all are equal."""
    away = values - values[0]
    mean = float(np.average(away, weights=weights))
    variance = float(np.average((away - mean) ** 2, weights=weights))
    return float(values[0]) + mean, variance


def _sum_of_counts(counts: Counts, other: Counts) -> Counts:
    """Return the sum of two arrays of counts, which may differ in length."""
    short, long = sorted((counts, other), key=len)
    long[: len(short)] += short
    return long
