"""Budgets and breakers in virtual time: the rules of `core`, one state each, shared by all calls.

They are asked and told in the same order as by a call of the library, so a storm shows what the
guard itself would do.
"""

from collections.abc import Callable
from typing import assert_never

from tarry.core import breaker as core
from tarry.core.breaker import PASSED, BreakerRule, BreakerState, Phase, Verdict
from tarry.core.budget import QuotaRule, RatioRule
from tarry.core.window import Window


class Tokens:
    """What a quota has left."""

    __slots__ = ("_rule", "_tokens")

    def __init__(self, rule: QuotaRule) -> None:
        self._rule = rule
        self._tokens = rule.capacity

    def call(self, now: float) -> None:
        """A call begins: nothing to pay, only retries cost."""

    def take(self, now: float) -> bool:  # noqa: ARG002  a quota knows no time
        """May one more retry be made? It is paid for from here on."""
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
    """What a ratio has counted."""

    __slots__ = ("_aside", "_counted", "_rule", "_slot")

    def __init__(self, rule: RatioRule) -> None:
        self._rule = rule
        self._counted = Window()
        self._slot = 0
        self._aside = 0  # calls of the slot that are not in the window yet: adding them takes long

    def call(self, now: float) -> None:
        """A call begins."""
        slot = self._rule.slot(now)
        if slot != self._slot:
            self._gather()
            self._slot = slot
        self._aside += 1

    def take(self, now: float) -> bool:
        """May one more retry be made? It counts from here on."""
        self._gather()
        counted = self._rule.spend(self._counted, self._rule.slot(now))
        if counted is None:
            return False
        self._counted = counted
        return True

    def succeed(self, *, retried: bool) -> None:
        """A call succeeded: the ratio is of calls, so that changes nothing."""

    def _gather(self) -> None:
        if self._aside:
            self._counted = self._rule.call(self._counted, self._aside, self._slot)
            self._aside = 0


Budget = Tokens | Share


def budget_of(rule: QuotaRule | RatioRule) -> Budget:
    """A budget that has not been touched yet."""
    match rule:
        case QuotaRule():
            return Tokens(rule)
        case RatioRule():
            return Share(rule)
        case _:
            assert_never(rule)


class Circuit:
    """Where a breaker stands."""

    __slots__ = ("_draw", "_rule", "_state")

    def __init__(self, rule: BreakerRule, draw: Callable[[], float]) -> None:
        self._rule = rule
        self._draw = draw
        self._state = BreakerState()

    def enter(self, now: float) -> int | None:
        """A ticket for one attempt, or None: the circuit is open."""
        self._state, ticket = core.admit(self._rule, self._state, now)
        return ticket

    def leave(self, ticket: int, verdict: Verdict, *, took: float, now: float) -> None:
        """The attempt with this ticket is over."""
        state, rule = self._state, self._rule
        if verdict is PASSED and ticket == state.ticket and not state.streak and not rule.windowed:
            return  # nothing would change
        self._state = core.record(rule, state, ticket, verdict, took=took, now=now, draw=self._draw)

    def refuses(self, *, until: float) -> bool:
        """Whether an attempt would certainly be refused up to then, for all that is known."""
        state = self._state
        return state.phase is not Phase.CLOSED and until < core.retry_at(self._rule, state)
