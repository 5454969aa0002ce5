"""Retry budgets to share between functions: the rules of `core.budget` with a history."""

from abc import ABC, abstractmethod
from functools import partial

from tarry.call.shared import Guard, State
from tarry.call.world import world
from tarry.core.budget import QuotaRule, RatioRule
from tarry.core.checks import Seconds
from tarry.core.window import Window, slot_end
from tarry.errors import BudgetSpent


class Allowance(Guard[State], ABC):
    """A budget that can be spent by hand as well."""

    __slots__ = ()

    @abstractmethod
    def take(self, now: float) -> bool:
        """May one more retry be made? It is paid for from here on."""

    def spend(self) -> None:
        """Take one retry by hand, for loops of your own; raises BudgetSpent if none is left."""
        if not self.take(world.clock()):
            raise BudgetSpent(self.name)


class Quota(Allowance[float]):
    """A bucket of tokens: a failed retry costs `cost`, a success pays `pay_back`.

    Keeps nearly all useful retries while a part of the calls fails, and nearly none in an outage:
    then `capacity / cost` retries are all there is. The budget to start with.

    >>> Quota(capacity=10, cost=5).tokens
    10.0
    """

    __slots__ = ("rule",)

    rule: QuotaRule

    def __init__(
        self, capacity: float = 500, cost: float = 5, pay_back: float = 1, *, name: str = "quota"
    ) -> None:
        self.rule = QuotaRule(capacity, cost, pay_back)
        super().__init__(name, self.rule.capacity)

    def __repr__(self) -> str:
        return f"<Quota {self.name!r}: {self._state:g} of {self.rule.capacity:g} tokens>"

    @property
    def tokens(self) -> float:
        """How many tokens are left."""
        return self._state

    def call(self, now: float) -> None:
        """A call begins: nothing to pay, only retries cost."""

    def take(self, now: float) -> bool:  # noqa: ARG002  a quota knows no time
        """May one more retry be made? It is paid for from here on."""
        before, after = self._take_step(self.rule.spend)
        return after is not before

    def succeed(self, *, retried: bool) -> None:
        """A call succeeded, at its first attempt or at a retry."""
        if self._state < self.rule.capacity:  # else there is nothing to pay, and no lock to take
            self._take_step(partial(self.rule.succeed, retried=retried))


class Ratio(Allowance[Window]):
    """Retries are at most `ratio` of the calls in the last `window` seconds.

    While calls are few, `bootstrap` retries in a window are allowed all the same.
    """

    __slots__ = ("_slot", "_slot_ends_at", "rule")

    rule: RatioRule

    def __init__(
        self,
        ratio: float = 0.1,
        window: Seconds = 10.0,
        bootstrap: int = 10,
        *,
        name: str = "ratio",
    ) -> None:
        super().__init__(name, Window())
        self.rule = RatioRule(ratio, window, bootstrap)
        self._slot = 0  # of the calls counted aside
        self._slot_ends_at = 0.0

    def __repr__(self) -> str:
        rule = self.rule
        return f"<Ratio {self.name!r}: {rule.ratio:.3g} of the calls in {rule.window:g} s>"

    def call(self, now: float) -> None:
        """A call begins."""
        with self._lock:
            if now >= self._slot_ends_at:
                self._begin_slot(now)
            self._aside += 1

    def take(self, now: float) -> bool:
        """May one more retry be made? It counts from here on."""
        before, after = self._take_step(partial(self.rule.spend, slot=self.rule.slot(now)))
        return after is not before

    def succeed(self, *, retried: bool) -> None:
        """A call succeeded: the ratio is of calls, so that changes nothing."""

    def _begin_slot(self, now: float) -> None:
        """The next slice of the window; the calls of the last one go into the state."""
        slot = self.rule.slot(now)
        ends_at = slot_end(slot, self.rule.window)
        self._take_step(lambda _: None)
        self._slot, self._slot_ends_at = slot, ends_at

    def _with_counted_aside(self, state: Window, aside: int) -> Window:
        return self.rule.call(state, aside, self._slot) if aside else state
