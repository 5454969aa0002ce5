"""The metrics and curves of the server model, from what happened to each request."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tarry.sim.run import Curve, Floats, Measure

RECOVERED_SHARE = 0.8
"""The share of successful requests at which a service counts as recovered."""

WINDOW = 5.0
"""The period, in seconds, over which that share is measured."""

LOOKS_PER_SECOND = 10
"""The resolution of the recovery time: looks per second."""

WORST = 10
"""The period, in seconds, over which the worst amplification is measured."""

MEASURES: Mapping[str, Measure] = {
    "goodput": Measure("share of the requests begun after the trouble that were answered in time"),
    "amplification": Measure("attempts at the server for each request begun in the trouble"),
    "recovery": Measure("from the end of the trouble until 80 % are answered in time again", "s"),
    "p99": Measure("99 of 100 answered requests took no longer", "s"),
    "wasted": Measure("share of the workers' time spent on answers that no client waited for"),
    "worst_amplification": Measure("attempts for each new request in the worst 10 s"),
}


class Times(NamedTuple):
    """When the trouble starts and stops, and when the run ends."""

    start: float
    stop: float
    end: float


class Seconds(NamedTuple):
    """Running totals at the end of each whole second, and the number of waiting attempts then."""

    requests: Floats
    sent: Floats
    answered: Floats
    waiting: Floats


class Trace(NamedTuple):
    """What happened to each request, in the order in which they began.

    `ended` is NaN for requests that were not finished at the end of the run. `busy` and `wasted`
    are the workers' seconds since the start of the trouble.
    """

    began: Floats
    ended: Floats
    tries: Floats
    succeeded: npt.NDArray[np.bool_]
    seconds: Seconds
    busy: float
    wasted: float
    events: int


def metrics(trace: Trace, times: Times) -> Mapping[str, float | None]:
    """Return the metrics, under the names of `MEASURES`."""
    watched = trace.began >= times.start
    after = trace.began >= times.stop
    troubled = watched if times.start == times.stop else watched & ~after
    over = ~np.isnan(trace.ended)
    took = (trace.ended - trace.began)[watched & trace.succeeded]
    return {
        "goodput": _mean(trace.succeeded[after]),
        "amplification": _mean(trace.tries[troubled & over]),
        "recovery": _recovery(trace, times),
        "p99": float(np.quantile(took, 0.99)) if took.size else None,
        "wasted": trace.wasted / trace.busy if trace.busy else 0.0,
        "worst_amplification": _worst_amplification(trace.seconds, times),
    }


def curves(seconds: Seconds, times: Times, capacity: float, speed: float) -> Mapping[str, Curve]:
    """Return the curves, one point per second; `speed` is the server's speed in the trouble."""
    starts = np.arange(len(seconds.sent), dtype=float)
    overlap = np.minimum(starts + 1, times.stop) - np.maximum(starts, times.start)
    slow = np.clip(overlap, 0, 1) * (1 - speed)
    middle = starts + 0.5
    return {
        "offered": Curve("attempts at the server", "1/s", middle, _differences(seconds.sent)),
        "goodput": Curve(
            "requests answered in time", "1/s", middle, _differences(seconds.answered)
        ),
        "queue": Curve("attempts waiting", "", starts + 1, seconds.waiting),
        "capacity": Curve("capacity", "1/s", middle, capacity * (1 - slow)),
    }


def _recovery(trace: Trace, times: Times) -> float | None:
    """Return the time from the trouble to the first window with enough successful requests."""
    answered = np.concatenate(([0.0], np.cumsum(trace.succeeded)))
    looks = math.floor((times.end - times.stop - WINDOW) * LOOKS_PER_SECOND) + 1
    after = np.arange(max(0, looks)) / LOOKS_PER_SECOND
    first = np.searchsorted(trace.began, times.stop + after)
    last = np.searchsorted(trace.began, times.stop + after + WINDOW)
    back = answered[last] - answered[first] >= RECOVERED_SHARE * (last - first)
    places = np.flatnonzero(back & (last > first))
    return float(after[places[0]]) if places.size else None


def _worst_amplification(seconds: Seconds, times: Times) -> float | None:
    """Return the most attempts per request in `WORST` seconds that end after the trouble began."""
    sent, requests = _sliding(seconds.sent), _sliding(seconds.requests)
    ends = np.arange(len(sent)) + min(WORST, len(seconds.sent))
    counted = (ends > times.start) & (requests > 0)
    return float(np.max(sent[counted] / requests[counted])) if counted.any() else None


def _sliding(total: Floats) -> Floats:
    """Return the sums over `WORST` seconds, or over the whole run, from running totals."""
    counted = np.concatenate(([0.0], total))
    width = min(WORST, len(total))
    return counted[width:] - counted[: len(counted) - width]


def _differences(total: Floats) -> Floats:
    return np.diff(total, prepend=0.0)


def _mean(values: npt.NDArray[np.bool_] | Floats) -> float | None:
    return float(values.mean()) if values.size else None
