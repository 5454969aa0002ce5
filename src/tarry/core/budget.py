"""Retry budgets: how many retries all callers together may make.

A rule is a frozen value, and so is the state. Each step takes a state and returns the next one, or
None for "no". A retry is counted when it is decided, not when it is made: counting later would let
a burst through.
"""

from tarry.core import checks
from tarry.core.value import Value, settle
from tarry.core.window import SLICES, Window, slot_of, span
from tarry.errors import PolicyError


class QuotaRule(Value):
    """Tokens: a retry costs `cost`, which it gets back if it succeeds; a success pays `pay_back`.

    While few calls fail, retries refund themselves; in an outage nothing is paid back and
    `capacity / cost` retries are all there is.
    """

    capacity: float
    cost: float
    pay_back: float

    def __init__(self, capacity: float = 500, cost: float = 5, pay_back: float = 1) -> None:
        wanted = "a finite number above 0"
        settle(self, "capacity", checks.number("quota.capacity", capacity, wanted, _above_zero))
        settle(self, "cost", checks.number("quota.cost", cost, wanted, _above_zero))
        if self.cost > self.capacity:
            raise PolicyError("quota.cost", cost, f"at most the capacity ({self.capacity:g})")
        settle(
            self,
            "pay_back",
            checks.number("quota.pay_back", pay_back, "0 or more, and finite", lambda n: n >= 0),
        )

    def spend(self, tokens: float) -> float | None:
        """Return the tokens left after one more retry, or None if there are too few."""
        return tokens - self.cost if tokens >= self.cost else None

    def succeed(self, tokens: float, *, retried: bool) -> float:
        """Return the tokens after a call that succeeded, at its first attempt or at a retry."""
        return min(self.capacity, tokens + (self.cost if retried else self.pay_back))


class RatioRule(Value):
    """Retries are at most `ratio` of the calls of the last `window` seconds.

    While calls are few, `bootstrap` retries in a window are allowed all the same.
    """

    ratio: float
    window: float
    bootstrap: int

    def __init__(
        self, ratio: float = 0.1, window: checks.Seconds = 10.0, bootstrap: int = 10
    ) -> None:
        settle(self, "ratio", checks.share("ratio.ratio", ratio))
        settle(self, "window", span("ratio.window", window))
        settle(self, "bootstrap", checks.count("ratio.bootstrap", bootstrap, least=0))

    def slot(self, now: float) -> int:
        """The slice of the window that `now` falls in."""
        return slot_of(now, self.window)

    def call(self, counted: Window, calls: int, slot: int) -> Window:
        """Return the counts with this many more calls in a slice."""
        return counted.add(slot, (calls, 0))

    def spend(self, counted: Window, slot: int) -> Window | None:
        """Return the counts with one more retry, or None if it would be too many.

        Calls are counted over slightly less than the window, retries over slightly more, so that
        the rule holds in the true window and not just in round slices.
        """
        calls, _ = counted.sums(slot, SLICES, 2)
        _, retries = counted.sums(slot, SLICES + 1, 2)
        # Divided, because 0.29 * 100 is a little less than 29, but 29 / 100 is 0.29.
        fair = calls and (retries + 1) / calls <= self.ratio
        return counted.add(slot, (0, 1)) if fair or retries < self.bootstrap else None


def _above_zero(number: float) -> bool:
    return number > 0
