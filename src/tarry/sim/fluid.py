"""The server model as a fluid: deterministic, without single requests, for thousands of settings.

Work is measured in seconds of the whole server's time, so the capacity is 1 and a load is a rate. A
queue, served oldest first and to its end, suffers a slowdown. Attempts that are not done after
`timeout` seconds come back `wait` seconds later, if they may be retried. The event model shows how
one service behaves. This model maps which settings make a service get stuck.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tarry.core import checks
from tarry.errors import ScenarioError
from tarry.sim.run import Floats
from tarry.sim.server.metrics import RECOVERED_SHARE

STEPS_IN_TIMEOUT = 10
"""The number of simulation steps in a timeout."""

TINY = 1e-9
"""Below this, a flow or a queue is only rounding error."""


class Sweep(NamedTuple):
    """For each setting, times in seconds since the end of the slowdown; inf if never reached.

    `drained` is when the queue is empty again. `recovery` is when enough first tries are in time.
    """

    drained: Floats
    recovery: Floats


def drain_time(
    load: npt.ArrayLike, retries: npt.ArrayLike, *, slowdown: float = 20.0, speed: float = 0.1
) -> Floats:
    """Return how long a backlog takes to drain if each request is tried 1 + `retries` times.

    >>> drain_time([0.5, 0.9, 0.5], [0, 0, 3]).round(3).tolist()
    [16.0, 160.0, inf]
    """
    offered = np.asarray(load, dtype=float) * (1 + np.asarray(retries, dtype=float))
    spare = np.maximum(0.0, 1 - offered)
    backlog = slowdown * np.maximum(0.0, offered - speed)
    drains = np.full(backlog.shape, math.inf)
    np.divide(backlog, spare, out=drains, where=spare > 0)
    return np.where(backlog > 0, drains, 0.0)


def sweep(  # noqa: PLR0913  one argument per setting
    loads: npt.ArrayLike,
    retries: npt.ArrayLike,
    *,
    allowed: npt.ArrayLike = math.inf,
    slowdown: npt.ArrayLike = 20.0,
    speed: npt.ArrayLike = 0.1,
    timeout: float = 1.0,
    wait: float = 0.3,
    watch: float = 360.0,
) -> Sweep:
    """Simulate all settings at once: each is a number, or an array of one shape.

    `retries` limits the retries of a request. `allowed` limits the retries of all requests
    together, as a share of the requests (a budget).
    """
    timeout = checks.positive_seconds("timeout", timeout)
    watch = checks.seconds("watch", watch)
    given = np.broadcast_arrays(
        _settings("loads", loads, above=0.0),
        _settings("retries", retries),
        _settings("allowed", allowed),
        _settings("slowdown", slowdown),
        _settings("speed", speed, above=0.0),
    )
    load, limit, share, lasts, slow = (np.ravel(part) for part in given)
    flow = _Flow(
        load,
        limit,
        share,
        late=STEPS_IN_TIMEOUT,
        back=max(1, round(wait / timeout * STEPS_IN_TIMEOUT)),
    )
    drained, recovery = (np.full(load.shape, math.inf) for _ in range(2))
    step = timeout / STEPS_IN_TIMEOUT
    for place in range(math.ceil((lasts.max() + watch) / step)):
        now = place * step
        after = now - lasts
        in_time = flow.advance(np.where(after < 0, slow, 1.0) * step, step)
        _note(drained, after + step, flow.came - flow.done < TINY)
        _note(recovery, after + step - timeout, in_time >= RECOVERED_SHARE)
        if np.isfinite(drained).all() and np.isfinite(recovery).all():
            break
    shape = given[0].shape
    return Sweep(drained.round(9).reshape(shape), recovery.round(9).reshape(shape))


def _settings(name: str, value: npt.ArrayLike, *, above: float | None = None) -> Floats:
    """Return one setting as an array, and refuse numbers that make no sense."""
    values = np.asarray(value, dtype=float)
    if not (values >= 0).all() or (above is not None and (values <= above).any()):
        raise ScenarioError(name, value, "0 or more" if above is None else f"above {above:g}")
    return values


def _note(moments: Floats, after: Floats, holds: npt.NDArray[np.bool_]) -> None:
    """Save the first moment after the slowdown at which the condition holds."""
    first = holds & (after >= 0) & (moments == math.inf)
    moments[first] = after[first]


class _Flow:
    """The queue and the attempts waiting for their retry, in steps of equal length."""

    def __init__(self, load: Floats, retries: Floats, share: Floats, late: int, back: int) -> None:
        kinds = int(retries.max()) + 1  # first tries, first retries, second retries, ...
        self.came = np.zeros(load.shape)
        self.done = np.zeros(load.shape)
        self._load = load
        self._most = share * load  # retries per second
        self._may = (np.arange(1, kinds)[:, None] <= retries).astype(float)
        self._place = 0
        # Ring buffers: arrivals in each of the last steps, and retries in each of the next.
        self._kinds = np.zeros((late, kinds, len(load)))
        self._before = np.zeros((late, len(load)))
        self._back = np.zeros((back, kinds - 1, len(load)))

    def advance(self, capacity: Floats, step: float) -> Floats:
        """Simulate one step; of the attempts that time out now, return the share done in time."""
        now, then = self._place % len(self._kinds), self._place % len(self._back)
        self._place += 1
        came_then, before = self._kinds[now].copy(), self._before[now].copy()
        total = came_then.sum(axis=0)
        self._before[now] = self.came
        self._kinds[now, 0] = self._load * step
        self._kinds[now, 1:] = self._retries_allowed(self._back[then], step)
        self.came = self.came + self._kinds[now].sum(axis=0)
        in_time: Floats = np.clip((self.done - before) / np.maximum(total, TINY), 0.0, 1.0)
        in_time[total == 0] = 1.0  # no attempts, so none was late
        self._back[then] = came_then[:-1] * (1 - in_time) * self._may
        self.done = np.minimum(self.came, self.done + capacity)
        return in_time

    def _retries_allowed(self, wanted: Floats, step: float) -> Floats:
        """Return the retries that the budget allows."""
        total = wanted.sum(axis=0)
        most = self._most * step
        granted: Floats = wanted * np.minimum(1.0, most / np.maximum(total, TINY))
        return granted
