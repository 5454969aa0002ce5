"""Budgets and breakers in virtual time: the rules of `core`, each with one shared state.

They are called in the same order as in a call of the library, so a storm shows what the real guard
would do.
"""

from collections.abc import Callable
from typing import assert_never

from tarry.core import breaker as core
from tarry.core.breaker import PASSED, BreakerRule, BreakerState, Phase, Verdict
from tarry.core.budget import QuotaRule, RatioRule
from tarry.core.window import Window


class Tokens:
    """The tokens that a quota has left."""

    __slots__ = ("_rule", "_tokens")

    def __init__(self, rule: QuotaRule) -> None:
        self._rule = rule
        self._tokens = rule.capacity

    def call(self, now: float) -> None:
        """A call begins. This costs nothing; only retries do."""

    def take(self, now: float) -> bool:  # noqa: ARG002  a quota does not depend on time
        """Return whether one more retry may be made, and pay for it."""
        left = self._rule.spend(self._tokens)
        if left is None:
            return False
        self._tokens = left
        return True

    def succeed(self, *, retried: bool) -> None:
        """A call succeeded, at its first attempt or at a retry."""
        if self._tokens < self._rule.capacity:
            self._tokens = self._rule.succeed(self._tokens, retried=retried)


class Share:
    """The calls and retries that a ratio has counted."""

    __slots__ = ("_aside", "_counted", "_rule", "_slot")

    def __init__(self, rule: RatioRule) -> None:
        self._rule = rule
        self._counted = Window()
        self._slot = 0
        self._aside = 0  # calls of this slot that are not in the window yet: adding them is slow

    def call(self, now: float) -> None:
        """A call begins."""
        slot = self._rule.slot(now)
        if slot != self._slot:
            self._count_aside()
            self._slot = slot
        self._aside += 1

    def take(self, now: float) -> bool:
        """Return whether one more retry may be made, and count it."""
        self._count_aside()
        counted = self._rule.spend(self._counted, self._rule.slot(now))
        if counted is None:
            return False
        self._counted = counted
        return True

    def succeed(self, *, retried: bool) -> None:
        """A call succeeded. This changes nothing, since the ratio counts calls."""

    def _count_aside(self) -> None:
        if self._aside:
            self._counted = self._rule.call(self._counted, self._aside, self._slot)
            self._aside = 0


Budget = Tokens | Share


def budget_of(rule: QuotaRule | RatioRule) -> Budget:
    """Return an unused budget."""
    match rule:
        case QuotaRule():
            return Tokens(rule)
        case RatioRule():
            return Share(rule)
        case _:
            assert_never(rule)


class Circuit:
    """The state of a breaker."""

    __slots__ = ("_draw", "_rule", "_state")

    def __init__(self, rule: BreakerRule, draw: Callable[[], float]) -> None:
        self._rule = rule
        self._draw = draw
        self._state = BreakerState()

    def enter(self, now: float) -> int | None:
        """Return a ticket for one attempt; None if the circuit is open."""
        self._state, ticket = core.admit(self._rule, self._state, now)
        return ticket

    def leave(self, ticket: int, verdict: Verdict, *, took: float, now: float) -> None:
        """Record that the attempt with this ticket is over."""
        state, rule = self._state, self._rule
        if verdict is PASSED and ticket == state.ticket and not state.streak and not rule.windowed:
            return  # the state would not change
        self._state = core.record(rule, state, ticket, verdict, took=took, now=now, draw=self._draw)

    def refuses(self, *, until: float) -> bool:
        """Return whether, as far as is known now, every attempt until then would be refused."""
        state = self._state
        return state.phase is not Phase.CLOSED and until < core.retry_at(self._rule, state)
