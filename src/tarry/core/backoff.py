"""How long a wait may grow: failed attempts in, seconds out.

`curve(n)` is the backoff after n failed attempts (n >= 1); the jitter draws below or around it.
`total(n)` is the sum of the first n of them, `ceiling` the longest one. All are finite for any n.
"""

import math
from collections.abc import Iterable

from tarry.core import checks
from tarry.core.value import Value, settle
from tarry.errors import PolicyError

DEFAULT_CAP = 60.0


class Fixed(Value):
    """The same backoff every time; with `NoJitter()` it is the wait itself.

    >>> Fixed(2).curve(9)
    2.0
    """

    delay: float

    def __init__(self, delay: checks.Seconds) -> None:
        settle(self, "delay", checks.seconds("backoff.delay", delay))

    @property
    def ceiling(self) -> float:
        """The longest backoff."""
        return self.delay

    def curve(self, attempts: int) -> float:  # noqa: ARG002  every backoff has this signature
        """Return the backoff after this many failed attempts."""
        return self.delay

    def total(self, attempts: int) -> float:
        """Return the sum of the first `attempts` backoffs."""
        return self.delay * attempts


class Linear(Value):
    """A wait that grows by `step` with every failed attempt, up to `cap`.

    >>> [Linear(step=2, cap=5).curve(n) for n in (1, 2, 3)]
    [2.0, 4.0, 5.0]
    """

    step: float
    cap: float

    def __init__(self, step: checks.Seconds, cap: checks.Seconds = DEFAULT_CAP) -> None:
        settle(self, "cap", checks.seconds("backoff.cap", cap))
        settle(self, "step", _below_cap("backoff.step", step, self.cap))

    @property
    def ceiling(self) -> float:
        """The longest backoff."""
        return self.cap

    def curve(self, attempts: int) -> float:
        """Return the backoff after this many failed attempts."""
        return min(self.cap, self.step * attempts)

    def total(self, attempts: int) -> float:
        """Return the sum of the first `attempts` backoffs."""
        fits = self.step * attempts <= self.cap
        rising = attempts if fits else int(self.cap / self.step)
        return self.step * rising * (rising + 1) / 2 + self.cap * (attempts - rising)


class Exponential(Value):
    """A wait that is multiplied by `factor` with every failed attempt, from `base` up to `cap`.

    >>> [Exponential(base=0.5, cap=3).curve(n) for n in (1, 2, 3, 4)]
    [0.5, 1.0, 2.0, 3.0]
    """

    base: float
    factor: float
    cap: float

    def __init__(
        self, base: checks.Seconds, factor: float = 2.0, cap: checks.Seconds = DEFAULT_CAP
    ) -> None:
        growing = checks.number(
            "backoff.factor", factor, "a finite number, 1 or more", lambda ratio: ratio >= 1
        )
        settle(self, "cap", checks.seconds("backoff.cap", cap))
        settle(self, "base", _below_cap("backoff.base", base, self.cap))
        settle(self, "factor", growing)

    @property
    def ceiling(self) -> float:
        """The longest backoff."""
        return self.cap

    def curve(self, attempts: int) -> float:
        """Return the backoff after this many failed attempts."""
        try:
            grown = self.base * self.factor ** (attempts - 1)
        except OverflowError:  # 2.0 ** 1024 is past the largest float: the cap, unless 0 x it
            return self.cap if self.base else 0.0
        return grown if grown < self.cap else self.cap  # noqa: FURB136  min() takes longer

    def total(self, attempts: int) -> float:
        """Return the sum of the first `attempts` backoffs."""
        if self.base == 0 or self.factor == 1:
            return self.base * attempts
        growth = math.log(self.factor)
        rising = min(attempts, int((math.log(self.cap) - math.log(self.base)) / growth) + 1)
        # Summed from the top, last (1 - factor^-rising) / (1 - 1/factor): nothing overflows.
        falling = -math.expm1(-rising * growth)
        risen = self.curve(rising) * falling / ((self.factor - 1) / self.factor)
        return risen + self.cap * (attempts - rising)


class Fibonacci(Value):
    """A wait that grows like 1, 1, 2, 3, 5, 8 times `base`, up to `cap`.

    >>> [Fibonacci(base=1, cap=6).curve(n) for n in (1, 2, 3, 4, 5, 6)]
    [1.0, 1.0, 2.0, 3.0, 5.0, 6.0]
    """

    base: float
    cap: float

    def __init__(self, base: checks.Seconds, cap: checks.Seconds = DEFAULT_CAP) -> None:
        settle(self, "cap", checks.seconds("backoff.cap", cap))
        settle(self, "base", _below_cap("backoff.base", base, self.cap))

    @property
    def ceiling(self) -> float:
        """The longest backoff."""
        return self.cap

    def curve(self, attempts: int) -> float:
        """Return the backoff after this many failed attempts."""
        return self._wait_and_sum(attempts)[0]

    def total(self, attempts: int) -> float:
        """Return the sum of the first `attempts` backoffs."""
        return self._wait_and_sum(attempts)[1]

    def _wait_and_sum(self, attempts: int) -> tuple[float, float]:
        """Return the wait after this many failed attempts, and the sum of all waits up to it."""
        if self.base == 0:
            return 0.0, 0.0
        last, wait, following, summed = 0.0, self.base, self.base, 0.0
        for done in range(attempts):
            if wait >= self.cap:
                return self.cap, summed + self.cap * (attempts - done)
            summed += wait
            last, wait, following = wait, following, wait + following
        return last, summed


class Schedule(Value):
    """The waits you list, in order; the last one repeats.

    >>> [Schedule([10, 30, 120]).curve(n) for n in (1, 2, 3, 4)]
    [10.0, 30.0, 120.0, 120.0]
    """

    delays: tuple[float, ...]

    def __init__(self, delays: Iterable[checks.Seconds]) -> None:
        wanted = "a list of one or more waits in seconds"
        if isinstance(delays, (str, bytes)) or not isinstance(delays, Iterable):
            raise PolicyError("backoff.delays", delays, wanted)
        listed = tuple(
            checks.seconds(f"backoff.delays[{index}]", delay) for index, delay in enumerate(delays)
        )
        if not listed:
            raise PolicyError("backoff.delays", listed, wanted)
        settle(self, "delays", listed)

    @property
    def ceiling(self) -> float:
        """The longest backoff."""
        return max(self.delays)

    def curve(self, attempts: int) -> float:
        """Return the backoff after this many failed attempts."""
        return self.delays[min(attempts, len(self.delays)) - 1]

    def total(self, attempts: int) -> float:
        """Return the sum of the first `attempts` backoffs."""
        beyond = max(0, attempts - len(self.delays))
        return sum(self.delays[:attempts]) + self.delays[-1] * beyond


Backoff = Fixed | Linear | Exponential | Fibonacci | Schedule


def _below_cap(field: str, value: checks.Seconds, cap: float) -> float:
    wanted = f"a number of seconds from 0 to cap ({cap:g})"
    length = checks.seconds(field, value, wanted)
    if length > cap:
        raise PolicyError(field, value, wanted)
    return length
