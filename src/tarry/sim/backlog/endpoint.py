"""A webhook endpoint that comes back at time 0 and has a limited capacity.

Above its capacity C it behaves in one of three simplified ways. A real endpoint is somewhere
between the first and the last:

    shed       serves C a second and refuses the rest at once
    brittle    in any second with more than C attempts, all fail
    degrade    of an offer above C, C x C / offer get through

Attempts come one at a time, or many at once if a whole tick is simulated in one step.
"""

import math
from collections import deque
from collections.abc import Callable
from typing import Literal, get_args

from tarry.core.value import Value

Manner = Literal["shed", "brittle", "degrade"]
MANNERS: tuple[Manner, ...] = get_args(Manner)
MEMORY = 1.0
"""The period, in seconds, over which an endpoint measures its load."""
BURST = 0.02
"""How many seconds' worth of attempts a shedding endpoint accepts in one burst."""
COLD = 0.1
"""The share of its capacity that an endpoint has at a cold start."""
ROUNDING = 1e-9


class Capacity(Value):
    """An endpoint's capacity per second: steps since it came back, after a cold start."""

    steps: tuple[tuple[float, float], ...]
    cold_start: float = 0.0

    def given(self, now: float) -> float:
        """Return the configured capacity, ignoring the cold start."""
        level = self.steps[0][1]
        for since, capacity in self.steps:
            if since <= now:
                level = capacity
        return level

    def at(self, now: float) -> float:
        """Return the actual capacity; before the endpoint is back, the one it will start with."""
        since = max(now, 0.0)
        if since >= self.cold_start:
            return self.given(since)
        return self.given(since) * (COLD + (1 - COLD) * since / self.cold_start)

    def drained_at(self, waiting: float, arrivals: float) -> float | None:
        """Return the earliest time by which the backlog and all new arrivals can be served.

        Return None if more arrives than can be served.
        """
        now, left = 0.0, float(waiting)
        for bend in self._capacity_changes():
            spare = self.at(now) - arrivals
            # The capacity is linear between these points.
            slope = (self.at(bend * (1 - ROUNDING)) - self.at(now)) / (bend - now)
            done = _area_below(spare, slope, bend - now)
            if done >= left and (took := _time_until(left, spare, slope)) <= bend - now:
                return now + took
            now, left = bend, left - done
        spare = self.at(now) - arrivals
        return now + left / spare if spare > 0 else None

    def _capacity_changes(self) -> list[float]:
        steps = {since for since, _ in self.steps if since > 0}
        return sorted(steps | {self.cold_start} - {0.0})


def _area_below(spare: float, slope: float, span: float) -> float:
    return spare * span + slope * span * span / 2


def _time_until(left: float, spare: float, slope: float) -> float:
    """Return how long a linearly growing rate takes to add up to `left`."""
    if abs(slope) < ROUNDING:
        return left / spare if spare > 0 else math.inf
    root = spare * spare + 2 * slope * left
    return (math.sqrt(root) - spare) / slope if root >= 0 else math.inf


class Endpoint:
    """One endpoint at work: it remembers its load of the last second.

    With a `queue`, a shedding endpoint lets that many seconds of work wait before it refuses
    attempts. Its responses take longer the more work is waiting.
    """

    def __init__(
        self, manner: Manner, capacity: Capacity, draw: Callable[[], float], queue: float = 0.0
    ) -> None:
        self._manner = manner
        self._capacity = capacity
        self._draw = draw
        self._queue = queue
        self._recent: deque[tuple[float, int]] = deque()
        self._offered = 0
        self._waiting = 0.0
        self._worked_at = 0.0

    def accepts(self, now: float, count: int, span: float = 0.0) -> int:
        """Return how many of `count` attempts, made in the last `span` seconds, get through."""
        capacity = self._capacity.at(now)
        if self._manner == "shed":
            return self._serve(now, count, capacity, span)
        self._remember(now, count)
        if self._offered <= max(capacity, 1.0):
            return count
        if self._manner == "brittle":
            return 0
        share = (capacity / self._offered) ** 2
        return sum(self._draw() < share for _ in range(count))

    def delay(self, now: float) -> float:
        """Return how long the attempt that was just accepted waits in the queue."""
        return self._waiting / self._capacity.at(now) if self._queue else 0.0

    def _serve(self, now: float, count: int, capacity: float, span: float) -> int:
        """Finish queued work at the rate of the capacity, and accept what there is room for."""
        self._waiting = max(0.0, self._waiting - (now - self._worked_at) * capacity)
        self._worked_at = now
        room = 1.0 + max(1.0, capacity * max(BURST, self._queue)) + capacity * span
        taken = min(count, max(0, int(room - self._waiting + ROUNDING)))
        self._waiting += taken
        return taken

    def _remember(self, now: float, count: int) -> None:
        """Count requests that were offered, and forget those older than MEMORY."""
        recent = self._recent
        recent.append((now, count))
        self._offered += count
        while recent[0][0] <= now - MEMORY:
            self._offered -= recent.popleft()[1]
