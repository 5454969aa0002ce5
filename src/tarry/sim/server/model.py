"""The server model: a server with a queue gets into trouble, and its clients retry.

Requests arrive as a Poisson process and pass through `layers` hops, each of which retries. The
attempts of the last hop go to a server with `workers`, exponential service times and a queue. After
a warm-up there is trouble: an outage or a slowdown. In an outage the server refuses every new
attempt at once, but goes on with those it has started. When the trouble is over, the model measures
whether the service recovers.
"""

import math
from array import array
from collections.abc import Mapping
from heapq import merge
from itertools import groupby
from typing import assert_never

import numpy as np

from tarry.core import checks
from tarry.core.budget import QuotaRule, RatioRule
from tarry.core.policy import Policy
from tarry.core.value import Value, settle
from tarry.errors import PolicyError, ScenarioError
from tarry.sim.attempt_count import most_attempts
from tarry.sim.chance import Chance
from tarry.sim.run import Contestant, Floats, Measure, Run
from tarry.sim.server.event_loop import RunningServer, ServerSettings
from tarry.sim.server.layers import Layer
from tarry.sim.server.metrics import MEASURES, Seconds, Times, Trace, curves, metrics
from tarry.sim.server.queueing import DISCIPLINES, Discipline

MOST_REQUESTS = 5_000_000
MOST_ATTEMPTS = 30_000_000
"""The largest run: some minutes of computing."""

MOST_WORKERS = 100_000
MOST_LAYERS = 10
LONGEST_PART = 1_000_000
"""The longest part of a run, in seconds, since every second is counted."""
SLOW = 0.1


class Server(Value):
    """The settings. All durations are seconds; None is "none" or "no limit".

    `load` is the rate of first tries as a share of the capacity, workers / service_time. `timeout`
    is how long the last hop waits for an attempt (a policy's `attempt_timeout` may be shorter). The
    hops before it wait for their call of the next hop, however long it takes. `queue` is how many
    attempts may wait, `discipline` the order in which they are served, and `cancels` whether work
    is dropped once its client has gone. `outage` or `slowdown` is how long the trouble lasts, if
    there is any. `slowdown_speed` is the workers' speed in a slowdown. With `guarded`, hops tell
    each other that they retry, and only the first one does. `error_rate` is the share of responses
    that are errors.
    """

    load: float
    workers: int
    service_time: float
    timeout: float | None
    queue: int | None
    discipline: Discipline
    cancels: bool
    outage: float | None
    slowdown: float | None
    slowdown_speed: float
    layers: int
    guarded: bool
    error_rate: float
    warmup: float
    watch: float

    def __init__(  # noqa: PLR0913  one argument per setting
        self,
        *,
        load: float,
        workers: int = 10,
        service_time: checks.Seconds = 0.1,
        timeout: checks.Seconds | None = None,
        queue: int | None = None,
        discipline: Discipline = "fifo",
        cancels: bool = False,
        outage: checks.Seconds | None = None,
        slowdown: checks.Seconds | None = None,
        slowdown_speed: float = SLOW,
        layers: int = 1,
        guarded: bool = False,
        error_rate: float = 0.0,
        warmup: checks.Seconds = 20.0,
        watch: checks.Seconds = 360.0,
    ) -> None:
        settle(self, "load", checks.number("load", load, "a finite number above 0", _above_zero))
        settle(self, "workers", _count("workers", workers, MOST_WORKERS))
        settle(self, "service_time", checks.positive_seconds("service_time", service_time))
        settle(self, "timeout", _some_seconds("timeout", timeout))
        settle(self, "queue", None if queue is None else checks.count("queue", queue, least=0))
        settle(self, "discipline", _discipline(discipline))
        settle(self, "cancels", checks.flag("cancels", cancels))
        settle(self, "outage", None if outage is None else checks.seconds("outage", outage))
        lasts = None if slowdown is None else checks.seconds("slowdown", slowdown)
        settle(self, "slowdown", lasts)
        settle(self, "slowdown_speed", _speed(slowdown_speed))
        settle(self, "layers", _count("layers", layers, MOST_LAYERS))
        settle(self, "guarded", checks.flag("guarded", guarded))
        settle(self, "error_rate", checks.share("error_rate", error_rate))
        settle(self, "warmup", checks.seconds("warmup", warmup))
        settle(self, "watch", checks.seconds("watch", watch))
        self._check_together()

    @property
    def measures(self) -> Mapping[str, Measure]:
        """The metrics, in display order."""
        return MEASURES

    @property
    def capacity(self) -> float:
        """How many attempts the server can serve in a second."""
        return self.workers / self.service_time

    @property
    def times(self) -> Times:
        """When the trouble starts and stops, and when the run ends."""
        trouble = self.outage or self.slowdown or 0.0
        return Times(self.warmup, self.warmup + trouble, self.warmup + trouble + self.watch)

    def refuse(self, contestant: Contestant) -> None:
        """Raise ScenarioError for the pacer, and for a run that would take too long."""
        most = most_attempts(_policy_of(contestant), self.times.end)
        attempts, rule = self._requests, contestant.budget
        for _ in range(1 if self.guarded else self.layers):
            calls, attempts = attempts, attempts * most
            if rule is not None:
                allowed = calls + _retries_allowed(rule, calls, self.times.end)
                attempts = min(attempts, allowed)
        if attempts > MOST_ATTEMPTS:
            wanted = (
                f"less: {self._requests:,.0f} requests may come to {attempts:,.4g}, which is "
                f"more than {MOST_ATTEMPTS:,} attempts ({contestant.name})"
            )
            raise ScenarioError("load", self.load, wanted)

    def simulate(self, contestant: Contestant, chance: Chance) -> Run:
        """Simulate one run."""
        trace, times = self.play(contestant, chance), self.times
        speed = 0.0 if self.outage else self.slowdown_speed
        lines = curves(trace.seconds, times, self.capacity, speed)
        return Run(metrics(trace, times), lines)

    def play(self, contestant: Contestant, chance: Chance) -> Trace:
        """Simulate one run, and return what happened to each request."""
        policy, times = _policy_of(contestant), self.times
        layers = [
            Layer(contestant, policy, chance, place, retries=place == 0 or not self.guarded)
            for place in range(self.layers)
        ]
        server = RunningServer(self._server_settings(policy), layers, chance)
        rows = array("d")
        busy, wasted = 0.0, 0.0
        for moment, _ in groupby(merge(range(1, int(times.end) + 1), times)):
            server.advance(moment)
            if moment == times.start:
                self._begin_trouble(server)
                busy, wasted = server.busy, server.wasted
            if moment == times.stop:
                server.refusing = False
                server.work_at(1.0, moment)
            if moment and moment == int(moment):
                counts = (len(server.began), server.sent, server.answered, len(server.line))
                rows.extend(counts)
        return _trace(server, np.array(rows), server.busy - busy, server.wasted - wasted)

    @property
    def _requests(self) -> float:
        return self.load * self.capacity * self.times.end

    def _server_settings(self, policy: Policy) -> ServerSettings:
        limits = [limit for limit in (self.timeout, policy.attempt_timeout) if limit is not None]
        return ServerSettings(
            rate=self.load * self.capacity,
            workers=self.workers,
            service_time=self.service_time,
            timeout=min(limits, default=math.inf),
            room=math.inf if self.queue is None else self.queue,
            discipline=self.discipline,
            cancels=self.cancels,
            error_rate=self.error_rate,
        )

    def _begin_trouble(self, server: RunningServer) -> None:
        if self.outage:
            server.refusing = True
        elif self.slowdown:
            server.work_at(self.slowdown_speed, self.warmup)

    def _check_together(self) -> None:
        for key in ("warmup", "outage", "slowdown", "watch"):
            if (span := getattr(self, key) or 0.0) > LONGEST_PART:
                raise ScenarioError(key, span, f"at most {LONGEST_PART:,} s")
        if self.outage and self.slowdown:
            raise ScenarioError("slowdown", self.slowdown, "left out: there is an outage already")
        if self.slowdown is None and self.slowdown_speed != SLOW:
            raise ScenarioError("slowdown_speed", self.slowdown_speed, "left out: nothing slows")
        if self.discipline in ("deadline", "feasible") and self.timeout is None:
            raise ScenarioError(
                "discipline", self.discipline, "another one, unless timeout is given"
            )
        if self.times.end == 0:
            raise ScenarioError("watch", self.watch, "above 0: nothing would happen")
        if self._requests > MOST_REQUESTS:
            wanted = (
                f"less: {self._requests:,.0f} requests in {self.times.end:g} s "
                f"are more than {MOST_REQUESTS:,}"
            )
            raise ScenarioError("load", self.load, wanted)


def _trace(server: RunningServer, rows: Floats, busy: float, wasted: float) -> Trace:
    began = np.array(server.began)
    ended = np.full(len(began), np.nan)
    tries = np.zeros(len(began))
    succeeded = np.zeros(len(began), dtype=bool)
    over = np.array(server.over)
    ended[over] = server.ended
    tries[over] = server.tries
    succeeded[over] = server.succeeded
    columns = rows.reshape(-1, 4).T
    return Trace(began, ended, tries, succeeded, Seconds(*columns), busy, wasted, server.events)


def _policy_of(contestant: Contestant) -> Policy:
    if contestant.policy is None:
        wanted = "a policy: only the backlog model knows the pacer"
        raise ScenarioError("policy", contestant.name, wanted)
    return contestant.policy


def _retries_allowed(rule: QuotaRule | RatioRule, calls: float, seconds: float) -> float:
    """Return how many retries at most a budget allows for `calls` calls in this time."""
    match rule:
        case QuotaRule():  # the initial tokens, and what each call pays back once
            paid = max(rule.cost, min(rule.pay_back, rule.capacity))
            return (rule.capacity + calls * paid) / rule.cost
        case RatioRule():
            return rule.ratio * calls + rule.bootstrap * (seconds / rule.window + 1)
        case _:
            assert_never(rule)


def _count(field: str, value: object, most: int) -> int:
    number = checks.count(field, value)
    if number > most:
        raise PolicyError(field, value, f"a whole number from 1 to {most:,}")
    return number


def _some_seconds(field: str, value: object) -> float | None:
    return None if value is None else checks.positive_seconds(field, value)


def _discipline(value: Discipline) -> Discipline:
    if value not in DISCIPLINES:
        raise PolicyError("discipline", value, f"one of {', '.join(DISCIPLINES)}")
    return value


def _speed(value: object) -> float:
    wanted = "a number above 0, up to 1"
    return checks.number("slowdown_speed", value, wanted, lambda speed: 0 < speed <= 1)


def _above_zero(number: float) -> bool:
    return number > 0
