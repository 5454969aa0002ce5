"""What happened to the deliveries of an endpoint that came back at 0, and its metrics."""

from typing import NamedTuple

import numpy as np

from tarry.sim.backlog.endpoint import Capacity
from tarry.sim.run import Curve, Floats

SECOND = 1.0
INSTANT = 0.01
"""A bucket so short that it shows whether a pace is even."""
AT_A_TIME = 2**20
"""How many attempts are processed at a time: there may be a hundred million."""
SHOWN = 60.0
"""The last seconds of the outage, for which the times of attempts are kept for pictures."""
NONE = np.empty(0)


class DeliveryLog(NamedTuple):
    """The times of one run; a delivery that was not made has inf.

    `attempts` holds the times since the endpoint came back, in order. `spent` counts the attempts
    before that, and `before` has the times of the last of them, in any order. `most_spent` is the
    number of attempts of the lane that made the most of them.
    """

    attempts: Floats
    spent: int
    delivered: Floats
    fresh_at: Floats
    fresh_delivered: Floats
    lost: int
    ended: float
    before: Floats = NONE
    most_spent: int = 0

    @property
    def recovery(self) -> float | None:
        """When the last of the waiting deliveries was made."""
        last = float(self.delivered.max())
        return last if np.isfinite(last) else None

    @property
    def done(self) -> int:
        """How many deliveries were made, both waiting and fresh ones."""
        return int(np.isfinite(self.delivered).sum() + np.isfinite(self.fresh_delivered).sum())

    def peak_ratio(self, capacity: Capacity) -> float:
        """Return the most attempts in any second, divided by its largest capacity."""
        steps = [since for since, _ in capacity.steps]
        levels = np.array([level for _, level in capacity.steps])
        peak = 0.0
        for start in range(0, len(self.attempts), AT_A_TIME):
            ends = self.attempts[start : start + AT_A_TIME]
            before = np.searchsorted(self.attempts, ends - SECOND, side="right")
            counts = np.arange(start + 1, start + len(ends) + 1) - before
            most = np.maximum(_held(steps, levels, ends), _held(steps, levels, ends - SECOND))
            peak = max(peak, float((counts / most).max()))
        return peak

    def peak_10ms(self) -> float:
        """Return the most attempts in one hundredth of a second."""
        most, last, carried = 0, -1, 0
        for start in range(0, len(self.attempts), AT_A_TIME):
            places = (self.attempts[start : start + AT_A_TIME] / INSTANT).astype(np.int64)
            edges = np.flatnonzero(np.diff(places, prepend=-1, append=-1))
            counts = np.diff(edges)
            if places[0] == last:  # it continues from the previous part
                counts[0] += carried
            most = max(most, int(counts.max()))
            last, carried = int(places[-1]), int(counts[-1])
        return float(most)

    def fresh_p99(self) -> float | None:
        """Return the 99th percentile of fresh messages' waits, of undelivered ones to the end."""
        if not len(self.fresh_at):
            return None
        until = np.where(np.isfinite(self.fresh_delivered), self.fresh_delivered, self.ended)
        return float(np.quantile(until - self.fresh_at, 0.99))

    def curves(self, capacity: Capacity, outage: float = 0.0) -> dict[str, Curve]:
        """Return the curves to draw, per second, starting with the last part of the outage."""
        start = -np.ceil(min(outage, SHOWN))
        edges = np.arange(start, max(1.0, np.ceil(self.ended)) + SECOND)
        seconds = edges[:-1]
        arrivals = np.diff(np.searchsorted(self.attempts, edges)).astype(np.float64)
        arrivals += np.histogram(self.before, edges)[0]
        made = np.sort(self.delivered[np.isfinite(self.delivered)])
        level = np.array([capacity.at(second) if second >= 0 else 0.0 for second in seconds])
        return {
            "arrivals": Curve("attempts", "per second", seconds, arrivals),
            "capacity": Curve("capacity", "per second", seconds, level),
            "delivered": Curve(
                "delivered", "deliveries", edges, np.searchsorted(made, edges).astype(np.float64)
            ),
        }


def _held(steps: list[float], levels: Floats, moments: Floats) -> Floats:
    """Return the level at each moment; before the first step, the first level."""
    return levels[np.maximum(np.searchsorted(steps, moments, side="right") - 1, 0)]
