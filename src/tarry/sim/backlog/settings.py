"""The settings of the backlog model: deliveries wait for an endpoint that comes back at 0."""

import math
from collections.abc import Sequence

import numpy as np

from tarry.core import checks
from tarry.core.value import Value, settle
from tarry.errors import ScenarioError
from tarry.sim.backlog.endpoint import MANNERS, Capacity, Endpoint, Manner
from tarry.sim.chance import Chance
from tarry.sim.run import Floats

MOST_DELIVERIES = 10_000_000
"""The most deliveries, waiting and fresh: more of them do not fit easily into memory."""
LONGEST_OUTAGE = 30 * 86_400
LONGEST_WATCH = 1_000_000
"""In seconds, since every second after the outage is counted."""
MOST_OWNERS = 1_000_000
CAPACITY_FORM = (
    "a number above 0, or [[seconds since it came back, capacity], ...] with the first at 0"
)

Steps = float | Sequence[Sequence[float]]


class BacklogSettings(Value):
    """The `waiting` deliveries have failed since the `outage` began; it ends at time 0.

    It serves `capacity` a second, after a `cold_start` in which its capacity grows from a tenth.
    `endpoint` says how it behaves above its capacity. A share `error_rate` of what gets through
    fails all the same. From 0 on, `arrivals` new messages come in per second. A response takes
    `latency` seconds and counts as a failure after `timeout`. `queue` is how many seconds of work a
    shedding endpoint lets wait. While it is down, the endpoint may ask for `retry_after` seconds
    without requests. For the pacer, a refusal may be faster than a response (`refusal` seconds), or
    a down endpoint does not answer at all (`hangs`).

    The last ones are for the pacer only: the capacity it has `remembered`, how many `lanes` of one
    origin share it, and the seconds after which it is handed to another owner, again and again
    (`handover`).
    """

    waiting: int
    capacity: Capacity
    outage: float
    endpoint: Manner
    error_rate: float
    arrivals: float
    cold_start: float
    latency: float
    timeout: float
    queue: float
    retry_after: float | None
    refusal: float | None
    hangs: bool
    remembered: float | None
    lanes: int
    handover: float | None
    watch: float

    def __init__(  # noqa: PLR0913  one argument per key
        self,
        *,
        waiting: int,
        capacity: Steps,
        outage: checks.Seconds = 600.0,
        endpoint: Manner = "brittle",
        error_rate: float = 0.0,
        arrivals: float = 0.0,
        cold_start: checks.Seconds = 0.0,
        latency: checks.Seconds = 0.05,
        timeout: checks.Seconds = 15.0,
        queue: checks.Seconds = 0.0,
        retry_after: checks.Seconds | None = None,
        refusal: checks.Seconds | None = None,
        hangs: bool = False,
        remembered: float | None = None,
        lanes: int = 1,
        handover: checks.Seconds | None = None,
        watch: checks.Seconds = 3600.0,
    ) -> None:
        settle(self, "waiting", checks.count("waiting", waiting))
        settle(self, "cold_start", checks.seconds("cold_start", cold_start))
        settle(self, "capacity", Capacity(_steps(capacity), self.cold_start))
        settle(self, "outage", checks.seconds("outage", outage))
        settle(self, "endpoint", _known_manner(endpoint))
        settle(self, "error_rate", checks.share("error_rate", error_rate))
        settle(
            self,
            "arrivals",
            checks.number("arrivals", arrivals, "a finite number, 0 or more", _not_negative),
        )
        settle(self, "latency", checks.positive_seconds("latency", latency))
        settle(self, "timeout", checks.positive_seconds("timeout", timeout))
        settle(self, "queue", checks.seconds("queue", queue))
        asked = None if retry_after is None else checks.seconds("retry_after", retry_after)
        settle(self, "retry_after", asked)
        quick = None if refusal is None else checks.seconds("refusal", refusal)
        settle(self, "refusal", quick)
        settle(self, "hangs", checks.flag("hangs", hangs))
        known = None if remembered is None else _rate("remembered", remembered)
        settle(self, "remembered", known)
        settle(self, "lanes", checks.count("lanes", lanes))
        owned = None if handover is None else checks.positive_seconds("handover", handover)
        settle(self, "handover", owned)
        settle(self, "watch", checks.positive_seconds("watch", watch))
        self._check_limits()

    @property
    def limit(self) -> float | None:
        """The earliest time when the backlog can be gone; None if more arrives than is served."""
        return self.capacity.drained_at(self.waiting, self.arrivals)

    def opened(self, chance: Chance) -> Endpoint:
        """Return the endpoint at work, with random numbers of its own."""
        return Endpoint(self.endpoint, self.capacity, chance.draws("endpoint"), self.queue)

    def fresh(self, chance: Chance) -> Floats:
        """Return when new messages arrive after the endpoint is back."""
        if not self.arrivals:
            return np.empty(0)
        stream = chance.stream("arrivals")
        expected = self.arrivals * self.watch
        count = int(expected + 6 * math.sqrt(expected) + 10)  # practically always enough
        times = np.cumsum(-np.log1p(-stream.random(count)) / self.arrivals)
        return times[times < self.watch]

    def _check_limits(self) -> None:
        """Raise ScenarioError if settings are too large, or do not fit each other."""
        if self.waiting > MOST_DELIVERIES:
            raise ScenarioError("waiting", self.waiting, f"at most {MOST_DELIVERIES:,}")
        for key, longest in (("outage", LONGEST_OUTAGE), ("watch", LONGEST_WATCH)):
            if (span := getattr(self, key)) > longest:
                raise ScenarioError(key, span, f"at most {longest:,} s")
        shortest = (self.outage + self.watch) / MOST_OWNERS
        if self.handover is not None and self.handover < shortest:
            raise ScenarioError("handover", self.handover, f"at least {shortest:g} s")
        if self.arrivals * self.watch > MOST_DELIVERIES:
            wanted = f"at most {MOST_DELIVERIES / self.watch:g} with watch = {self.watch:g}"
            raise ScenarioError("arrivals", self.arrivals, wanted)
        if self.lanes > self.waiting:
            raise ScenarioError("lanes", self.lanes, f"at most waiting ({self.waiting})")
        least = min(level for _, level in self.capacity.steps)
        if least < 1 and self.endpoint != "shed":
            wanted = f"1 or more: endpoint = {self.endpoint!r} feels overload by the second"
            raise ScenarioError("capacity", least, f"{wanted}, 'shed' takes less")
        if self.queue and self.endpoint != "shed":
            wanted = f"left out: endpoint = {self.endpoint!r} refuses nothing, 'shed' does"
            raise ScenarioError("queue", self.queue, wanted)
        if self.queue >= self.timeout:
            wanted = f"below timeout ({self.timeout:g}), or all that waits is in vain"
            raise ScenarioError("queue", self.queue, wanted)


def _steps(value: object) -> tuple[tuple[float, float], ...]:
    """Return a capacity as steps: when each begins, and how much it is."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        return ((0.0, _rate("capacity", value, CAPACITY_FORM)),)
    steps: list[tuple[float, float]] = []
    for place, step in enumerate(value):
        name = f"capacity[{place}]"
        if isinstance(step, (str, bytes)) or not isinstance(step, Sequence) or len(step) != 2:  # noqa: PLR2004  a time and a capacity
            raise ScenarioError(name, step, "a pair [seconds since it came back, capacity]")
        since, level = checks.seconds(f"{name}[0]", step[0]), _rate(f"{name}[1]", step[1])
        if steps and since <= steps[-1][0]:
            raise ScenarioError(
                f"{name}[0]", since, f"later than the step before ({steps[-1][0]:g})"
            )
        steps.append((since, level))
    if not steps or steps[0][0] != 0:
        raise ScenarioError("capacity", value, CAPACITY_FORM)
    return tuple(steps)


def _known_manner(manner: Manner) -> Manner:
    if manner not in MANNERS:
        raise ScenarioError("endpoint", manner, f"one of {', '.join(MANNERS)}")
    return manner


def _rate(field: str, value: object, wanted: str = "a finite number above 0") -> float:
    return checks.number(field, value, wanted, lambda rate: rate > 0)


def _not_negative(number: float) -> bool:
    return number >= 0
