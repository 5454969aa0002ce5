"""The contention model: many clients write one row with optimistic locking.

This is the model of AWS's study of backoff and jitter. A row has a version. A client reads the row,
then writes with the version that it read. A write with an older version is refused, and the client
waits as its policy says before it reads again. Each of the four messages (read, its answer, write,
its answer) takes its own random time. All clients start at 0, and each needs one accepted write.

A policy's first ceiling is its base. In the simulator of that study the first ceiling is twice the
base. So its base of 5 ms and cap of 2 s become, here:

    exponential, full, equal    Exponential(base=0.010, cap=2) with NoJitter, Full, Equal
    decorrelated                Exponential(base=0.005, cap=2) with Decorrelated(clamp="outside")
    none                        Fixed(0) with NoJitter
"""

import math
from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heapreplace
from itertools import count
from typing import NamedTuple

import numpy as np

from tarry.core import checks
from tarry.core.decide import decide
from tarry.core.outcome import Again, Failure
from tarry.core.policy import Policy
from tarry.core.value import Value, settle
from tarry.errors import ScenarioError
from tarry.sim.chance import BLOCK, Chance
from tarry.sim.run import Contestant, Curve, Measure, Run, lone_policy

WRITE_CONFLICT = Failure()
LATENCIES_A_BUCKET = 10
MOST_BUCKETS = 2_000
MOST_CLIENTS = 20_000
"""Without backoff the writes grow with the square of the clients: more take minutes per run."""


class Contention(Value):
    """Each of the `clients` writes to one row until its write is accepted.

    A message takes `|Normal(latency_mean, latency_sd)|` seconds. With `give_up`, the policy's
    limits (`attempts`, `within`) apply, and a client may stop without success.
    """

    clients: int
    latency_mean: float
    latency_sd: float
    give_up: bool

    def __init__(
        self,
        *,
        clients: int,
        latency_mean: checks.Seconds = 0.010,
        latency_sd: checks.Seconds = 0.002,
        give_up: bool = False,
    ) -> None:
        settle(self, "clients", checks.count("clients", clients))
        if self.clients > MOST_CLIENTS:
            raise ScenarioError("clients", clients, f"at most {MOST_CLIENTS:,}")
        settle(self, "latency_mean", checks.seconds("latency_mean", latency_mean))
        settle(self, "latency_sd", checks.seconds("latency_sd", latency_sd))
        settle(self, "give_up", checks.flag("give_up", give_up))

    @property
    def measures(self) -> Mapping[str, Measure]:
        """The metrics, in display order."""
        measures = {
            "time": Measure("when the last client had its last answer", "s"),
            "calls": Measure("writes that were tried", "writes"),
        }
        if self.give_up:
            measures["gave_up"] = Measure("share of the clients that left without a write")
        return measures

    def refuse(self, contestant: Contestant) -> None:
        """Raise ScenarioError for guards and for the pacer."""
        lone_policy(contestant, "contention")

    def simulate(self, contestant: Contestant, chance: Chance) -> Run:
        """Simulate one run."""
        policy = lone_policy(contestant, "contention")
        if not self.give_up:
            policy = policy.replace(attempts=None, within=None)
        times = self._play(policy, chance)
        time = max(times.taken_at + times.left_at)
        metrics = {"time": time, "calls": float(len(times.written_at))}
        if self.give_up:
            metrics["gave_up"] = len(times.left_at) / self.clients
        curves = {"done": self._done(times, time), "writes": self._writes(times, time)}
        return Run(metrics, curves)

    def _play(self, policy: Policy, chance: Chance) -> "_Times":
        """Let all clients read and write until each has succeeded or given up.

        This ends: of all clients that read the same version, the first to write succeeds. The queue
        holds the messages on their way to the row, by time of arrival. Messages of the same instant
        keep the order in which they were sent.
        """
        latency = _latencies(chance.stream("latency"), self.latency_mean, self.latency_sd).__next__
        draw, order = chance.draws("policy"), count().__next__
        queue = [(latency(), order(), _Client()) for _ in range(self.clients)]
        heapify(queue)
        latest, times = 0, _Times([], [], [])
        while queue:
            now, _, client = queue[0]
            if client.version is None:  # the client comes to read
                client.version = latest
                heapreplace(queue, (now + latency() + latency(), order(), client))
                continue
            times.written_at.append(now)
            answered = now + latency()
            if client.version == latest:
                latest += 1
                times.taken_at.append(answered)
                heappop(queue)
                continue
            decision = decide(policy, client, WRITE_CONFLICT, now=answered, draw=draw)
            if isinstance(decision, Again):
                client.go_on(decision)
                heapreplace(queue, (answered + decision.delay + latency(), order(), client))
            else:
                times.left_at.append(answered)
                heappop(queue)
        return times

    def _done(self, times: "_Times", time: float) -> Curve:
        """Return the share of clients whose write was accepted, over time."""
        done = np.arange(len(times.taken_at) + 1, dtype=np.float64)
        seconds = np.array([0.0, *sorted(times.taken_at), time])
        share = np.append(done, done[-1]) / self.clients
        return Curve("clients done", "share of all", seconds, share)

    def _writes(self, times: "_Times", time: float) -> Curve:
        """Count the writes per bucket; a bucket is some latencies wide, or more for a long run."""
        width = max(LATENCIES_A_BUCKET * self.latency_mean, time / MOST_BUCKETS) or 1.0
        counts = np.bincount((np.array(times.written_at) / width).astype(np.int64))
        starts = np.arange(len(counts), dtype=np.float64) * width
        return Curve("writes", f"writes per {width:.3g} s", starts, counts.astype(np.float64))


class _Times(NamedTuple):
    """When each write arrived, when clients learned of their success, and when others gave up."""

    written_at: list[float]
    taken_at: list[float]
    left_at: list[float]


class _Client:
    """A client that wants its write accepted; it is also the `progress` that `decide` reads."""

    __slots__ = ("attempts", "memory", "version")

    started_at = 0.0
    deadline_at = math.inf

    def __init__(self) -> None:
        self.attempts = 1
        self.memory: float | None = None
        self.version: int | None = None  # as read since its last write

    def go_on(self, again: Again) -> None:
        """Start another attempt."""
        self.attempts += 1
        self.memory = again.memory
        self.version = None


def _latencies(chance: np.random.Generator, mean: float, deviation: float) -> Iterator[float]:
    while True:
        yield from np.abs(chance.normal(mean, deviation, BLOCK)).tolist()
