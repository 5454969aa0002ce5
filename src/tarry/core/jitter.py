"""Longest wait and a draw in, wait out: cap first, then draw.

Every jitter has `wait(backoff, attempts, memory, draw)`, which returns the wait and what to
remember for the next one (None for the kinds that remember nothing). `draw` is in [0, 1).
Only `Percent` may pass the cap, by its share; no kind but `NoJitter` and the `clamp="outside"` of
`Decorrelated` ever gives one value more often than another.
"""

import math
from typing import Literal

from tarry.core import checks
from tarry.core.backoff import Backoff
from tarry.core.value import Value, settle
from tarry.errors import PolicyError

Memory = float | None

NEGLIGIBLE_SHARE = 1e-300
"""A level below this share of the next one, on a curve that starts near 0, counts as 0."""


class NoJitter(Value):
    """The curve itself: every client waits the same. Only for tests and single clients."""

    def wait(
        self, backoff: Backoff, attempts: int, memory: Memory, draw: float
    ) -> tuple[float, Memory]:
        """Return the curve's value."""
        del memory, draw
        return backoff.curve(attempts), None


class Full(Value):
    """Anything from 0 to the curve: simple, and short of waits."""

    def wait(
        self, backoff: Backoff, attempts: int, memory: Memory, draw: float
    ) -> tuple[float, Memory]:
        """A wait between 0 and the curve."""
        del memory
        return draw * backoff.curve(attempts), None


class Equal(Value):
    """Half the curve for certain, the other half by chance."""

    def wait(
        self, backoff: Backoff, attempts: int, memory: Memory, draw: float
    ) -> tuple[float, Memory]:
        """A wait between half the curve and the curve."""
        del memory
        half = backoff.curve(attempts) / 2
        return half + draw * half, None


class Percent(Value):
    """The curve, give or take a share of it: `Percent(0.2)` is ±20 %, around the capped curve."""

    share: float

    def __init__(self, share: float) -> None:
        settle(self, "share", checks.share("jitter.share", share))

    def wait(
        self, backoff: Backoff, attempts: int, memory: Memory, draw: float
    ) -> tuple[float, Memory]:
        """A wait around the curve."""
        del memory
        return backoff.curve(attempts) * (1 + self.share * (2 * draw - 1)), None


class Decorrelated(Value):
    """Anything from the first wait of the curve to three times the wait before.

    The clamp sits inside the draw: uniform between base and min(cap, 3 x previous). With
    `clamp="outside"` it is the form AWS published, min(cap, uniform(base, 3 x previous)), kept for
    comparison: a quarter and more of its late waits are exactly the cap, so clients meet there.
    On a flat curve there is no room above the base, and three times nothing is nothing: with such
    a base, or none, it draws between 0 and the curve.
    """

    clamp: Literal["inside", "outside"]

    def __init__(self, clamp: Literal["inside", "outside"] = "inside") -> None:
        if clamp not in ("inside", "outside"):  # a tuple: what is no string may have no hash
            raise PolicyError("jitter.clamp", clamp, "'inside' or 'outside'")
        settle(self, "clamp", clamp)

    def wait(
        self, backoff: Backoff, attempts: int, memory: Memory, draw: float
    ) -> tuple[float, Memory]:
        """A wait between the base and three times the last one."""
        base, cap = backoff.curve(1), backoff.ceiling
        if base == 0 or base >= cap:
            return draw * backoff.curve(attempts), None
        reach = 3 * (base if memory is None else memory)
        high = min(cap, reach) if self.clamp == "inside" else reach
        drawn = min(cap, base + draw * (high - base))
        return drawn, drawn


class Smooth(Value):
    """Retries of many clients arrive as one even flow, without waves: the default.

    All clients follow one smooth line F(t), the time since the first failure, and a client's n-th
    retry falls at F(n - 1 + draw). The windows of neighbouring retries meet without gap or
    overlap, so arrivals neither pause nor jump; a wait is the way from one point to the next:

        F(t) = A(t) tanh(2 sqrt t),  A(n) = (curve(1) + total(n)) / 1.4,  geometric in between

    On an exponential curve with factor 2 this is the shape Polly calls decorrelated jitter v2. The
    sum makes it meaningful on every curve. Where a window would reach past the ceiling (at the cap,
    on flat curves) the whole window is scaled down to end there: the ceiling is never passed and
    no wait piles up on it.
    """

    def wait(
        self, backoff: Backoff, attempts: int, memory: Memory, draw: float
    ) -> tuple[float, Memory]:
        """Return the way from the last retry's point on the line to this one's."""
        if backoff.curve(attempts) == 0 and backoff.total(attempts) == 0:  # nothing to spread
            return 0.0, 0.0
        before, after = levels(backoff, attempts)
        here = _geometric_point(before, after, draw) * rise(attempts - 1 + draw)
        start, end = before * rise(attempts - 1), after * rise(attempts)
        last = middle(backoff, attempts - 1) if memory is None else memory
        last = min(last, start)  # a rounding error, or another policy's memory, may lie beyond
        longest, ceiling = end - last, backoff.ceiling
        if longest <= ceiling:
            return here - last, here
        return min(ceiling, (here - last) * ceiling / longest), here


Jitter = NoJitter | Full | Equal | Percent | Decorrelated | Smooth


def levels(backoff: Backoff, attempts: int) -> tuple[float, float]:
    """A(n - 1) and A(n), the line's height without its soft start where a window begins and ends.

    1.4 is Polly's figure: it puts the middle of the first window near the first wait.
    """
    before = backoff.curve(1) + backoff.total(attempts - 1)
    return before / 1.4, (before + backoff.curve(attempts)) / 1.4


def _geometric_point(before: float, after: float, part: float) -> float:
    """Return a point on the geometric way from one level to the next."""
    if before <= after * NEGLIGIBLE_SHARE:  # no ratio to follow
        return before + (after - before) * part
    return before * float((after / before) ** part)


def rise(reach: float) -> float:
    """The soft start: steep at 0, so that arrivals begin from nothing, then level at 1."""
    return math.tanh(2 * math.sqrt(reach))


def middle(backoff: Backoff, attempts: int) -> float:
    """Return the middle of the previous retry's window, for when its true place is unknown."""
    if attempts == 0:
        return 0.0
    before, after = levels(backoff, attempts)
    return _geometric_point(before, after, 0.5) * rise(attempts - 0.5)
