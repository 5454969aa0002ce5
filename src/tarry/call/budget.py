"""Retry budgets to share between functions: the rules of `core.budget` with a history."""

from tarry.call.shared import Guard
from tarry.call.world import world
from tarry.core.budget import QuotaRule, RatioRule
from tarry.core.checks import Seconds
from tarry.core.window import Window, slot_end
from tarry.errors import BudgetSpent


class Quota(Guard):
    """A bucket of tokens: a failed retry costs `cost`, a success pays `pay_back`.

    Keeps nearly all useful retries while a part of the calls fails, and nearly none in an outage:
    then `capacity / cost` retries are all there is. The budget to start with.

    >>> Quota(capacity=10, cost=5).tokens
    10.0
    """

    __slots__ = ("_tokens", "rule")

    def __init__(
        self, capacity: float = 500, cost: float = 5, pay_back: float = 1, *, name: str = "quota"
    ) -> None:
        super().__init__(name)
        self.rule = QuotaRule(capacity, cost, pay_back)
        self._tokens = self.rule.capacity

    def __repr__(self) -> str:
        return f"<Quota {self.name!r}: {self._tokens:g} of {self.rule.capacity:g} tokens>"

    def __reduce__(self) -> tuple[object, ...]:
        rule = self.rule
        return _quota, (rule.capacity, rule.cost, rule.pay_back, self.name)

    @property
    def tokens(self) -> float:
        """How many tokens are left."""
        return self._tokens

    def call(self, now: float) -> None:
        """A call begins: nothing to pay, only retries cost."""

    def take(self, now: float) -> bool:  # noqa: ARG002  a quota knows no time
        """May one more retry be made? It is paid for from here on."""
        with self._lock:
            left = self.rule.spend(self._tokens)
            if left is None:
                return False
            self._tokens = left
            return True

    def succeed(self, *, retried: bool) -> None:
        """A call succeeded, at its first attempt or at a retry."""
        if self._tokens >= self.rule.capacity:  # full: nothing to pay back, and no lock to take
            return
        with self._lock:
            self._tokens = self.rule.succeed(self._tokens, retried=retried)

    def spend(self) -> None:
        """Take one retry by hand, for loops of your own; raises BudgetSpent if none is left."""
        if not self.take(world.clock()):
            raise BudgetSpent(self.name)


class Ratio(Guard):
    """Retries are at most `ratio` of the calls in the last `window` seconds.

    While calls are few, `bootstrap` retries in a window are allowed all the same.
    """

    __slots__ = ("_calls", "_counted", "_slot", "_slot_ends_at", "rule")

    def __init__(
        self,
        ratio: float = 0.1,
        window: Seconds = 10.0,
        bootstrap: int = 10,
        *,
        name: str = "ratio",
    ) -> None:
        super().__init__(name)
        self.rule = RatioRule(ratio, window, bootstrap)
        self._counted = Window()
        self._calls = 0  # of the slice `_slot`, not in `_counted` yet: most calls just add one here
        self._slot = 0
        self._slot_ends_at = 0.0

    def __repr__(self) -> str:
        rule = self.rule
        return f"<Ratio {self.name!r}: {rule.ratio:.3g} of the calls in {rule.window:g} s>"

    def __reduce__(self) -> tuple[object, ...]:
        rule = self.rule
        return _ratio, (rule.ratio, rule.window, rule.bootstrap, self.name)

    def call(self, now: float) -> None:
        """A call begins."""
        with self._lock:
            if now >= self._slot_ends_at:
                self._count()
                self._slot = self.rule.slot(now)
                self._slot_ends_at = slot_end(self._slot, self.rule.window)
            self._calls += 1

    def take(self, now: float) -> bool:
        """May one more retry be made? It counts from here on."""
        with self._lock:
            self._count()
            counted = self.rule.spend(self._counted, self.rule.slot(now))
            if counted is None:
                return False
            self._counted = counted
            return True

    def succeed(self, *, retried: bool) -> None:
        """A call succeeded: the ratio is of calls, so that changes nothing."""

    def spend(self) -> None:
        """Take one retry by hand, for loops of your own; raises BudgetSpent if none is left."""
        if not self.take(world.clock()):
            raise BudgetSpent(self.name)

    def _count(self) -> None:
        if self._calls:
            self._counted = self.rule.call(self._counted, self._calls, self._slot)
            self._calls = 0


def _quota(capacity: float, cost: float, pay_back: float, name: str) -> Quota:
    return Quota(capacity, cost, pay_back, name=name)


def _ratio(ratio: float, window: float, bootstrap: int, name: str) -> Ratio:
    return Ratio(ratio, window, bootstrap, name=name)
