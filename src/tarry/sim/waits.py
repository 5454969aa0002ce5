"""The waits of many clients at once: `Policy.wait` for whole arrays.

What depends only on the number of failed attempts is computed by the core, once per number, and
kept in a table. The rest is one draw per client. A property test checks that this agrees with the
core.
"""

from typing import assert_never

import numpy as np
import numpy.typing as npt

from tarry.core.backoff import Backoff
from tarry.core.jitter import (
    NEGLIGIBLE_SHARE,
    Decorrelated,
    Equal,
    Full,
    Jitter,
    NoJitter,
    Percent,
    Smooth,
    levels,
    middle,
    rise,
)
from tarry.core.policy import Policy
from tarry.sim.run import Floats

Counts = npt.NDArray[np.int64]


class Waits:
    """The waits of a policy, for one-dimensional arrays of clients.

    >>> from tarry.core.backoff import Exponential
    >>> waits = Waits(Policy(backoff=Exponential(base=1), jitter=Full()))
    >>> waits.draw(3, no_memory(2), np.array([0.25, 0.5]))[0].tolist()
    [1.0, 2.0]
    """

    def __init__(self, policy: Policy) -> None:
        self._backoff = policy.backoff
        self._jitter = _without_room(policy.backoff, policy.jitter)
        self._table = np.zeros((len(self._column(1)), 1))  # after 0 attempts there is no wait
        self._forgetful = no_memory(0)

    def draw(self, attempts: int | Counts, memory: Floats, draws: Floats) -> tuple[Floats, Floats]:
        """Return the waits after `attempts` failures: one number for all, or one per client.

        The second array is the jitter's memory for the next call; NaN means none, as in `memory`.
        The caller must not write to either array: they may be the same.
        """
        column = self._columns(attempts)
        match self._jitter:
            case Smooth():
                return _smooth(column, self._backoff.ceiling, memory, draws)
            case Decorrelated() as jitter:
                return _decorrelated(jitter, self._backoff, memory, draws)
            case jitter:
                return _waits_around(jitter, column[0], draws), self._empty_memory(len(draws))

    def _columns(self, attempts: int | Counts) -> Floats:
        """Return the table's columns for these numbers of attempts."""
        try:
            return self._table.take(attempts, axis=1)
        except IndexError:  # cheaper than a check for the largest number every time
            self._learn(int(np.max(attempts)))
            return self._table.take(attempts, axis=1)

    def _learn(self, attempts: int) -> None:
        known = self._table.shape[1]
        new = range(known, max(attempts + 1, 2 * known))
        self._table = np.column_stack([self._table, *(self._column(number) for number in new)])

    def _column(self, attempts: int) -> tuple[float, ...]:
        smooth = isinstance(self._jitter, Smooth)
        return _window(self._backoff, attempts) if smooth else (self._backoff.curve(attempts),)

    def _empty_memory(self, size: int) -> Floats:
        """Return an empty memory for `size` clients: a shared array that is never written."""
        if len(self._forgetful) < size:
            self._forgetful = no_memory(size)
            self._forgetful.setflags(write=False)
        return self._forgetful[:size]


def no_memory(clients: int) -> Floats:
    """Return the jitter's memory for clients that have not waited yet."""
    return np.full(clients, np.nan)


def _without_room(backoff: Backoff, jitter: Jitter) -> Jitter:
    """Replace decorrelated jitter that has no room above its base by `Full`, as the core does."""
    if isinstance(jitter, Decorrelated) and not 0 < backoff.curve(1) < backoff.ceiling:
        return Full()
    return jitter


def _waits_around(
    jitter: NoJitter | Full | Equal | Percent, curve: Floats, draws: Floats
) -> Floats:
    match jitter:
        case NoJitter():
            return np.full(len(draws), curve)
        case Full():
            return draws * curve
        case Equal():
            half = curve / 2
            return half + draws * half
        case Percent():
            return curve * (1 + jitter.share * (2 * draws - 1))
        case _:
            assert_never(jitter)


def _decorrelated(
    jitter: Decorrelated, backoff: Backoff, memory: Floats, draws: Floats
) -> tuple[Floats, Floats]:
    """Return the waits of decorrelated jitter, which are also its memory."""
    base, cap = backoff.curve(1), backoff.ceiling
    high = 3 * np.where(np.isnan(memory), base, memory)
    if jitter.clamp == "inside":
        np.minimum(cap, high, out=high)
    high -= base
    high *= draws
    high += base
    drawn = np.minimum(cap, high, out=high)
    return drawn, drawn


def _window(backoff: Backoff, attempts: int) -> tuple[float, ...]:
    """Return what `Smooth` knows of a window before the draw.

    These are: the level at its start, the growth of the level as a ratio or (from zero) as a
    difference, where on the time line the window begins and ends, where a client without memory is
    assumed to be, and how many windows have passed.
    """
    before, after = levels(backoff, attempts)
    ratio, step = (
        (1.0, after - before) if before <= after * NEGLIGIBLE_SHARE else (after / before, 0.0)
    )
    start, end = before * rise(attempts - 1), after * rise(attempts)
    return before, ratio, step, start, end, middle(backoff, attempts - 1), attempts - 1


def _smooth(window: Floats, ceiling: float, memory: Floats, draws: Floats) -> tuple[Floats, Floats]:
    before, ratio, step, start, end, unremembered, passed = window
    here = before * ratio**draws + step * draws
    here *= np.tanh(2 * np.sqrt(passed + draws))
    last = np.minimum(np.where(np.isnan(memory), unremembered, memory), start)
    way, longest = here - last, end - last
    far = longest > ceiling
    if far.any():
        way[far] = np.minimum(ceiling, way[far] * ceiling / longest[far])
    return way, here
