"""Guards that let everything through: they stand where there is none, and save the asking."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tarry.call.plan import Budget, Circuit, Plan
    from tarry.core.breaker import Verdict
    from tarry.observe.stream import Listener


def guards_of(plan: "Plan") -> "tuple[Circuit, Budget]":
    """The breaker and the budget; where there is none, one that lets everything through."""
    breaker = NO_BREAKER if plan.breaker is None else plan.breaker  # one may look like a False
    return breaker, NO_BUDGET if plan.budget is None else plan.budget


class NoBreaker:
    """A breaker that is always closed."""

    __slots__ = ()
    retry_at = None

    def enter(self, hooks: "tuple[Listener, ...]" = ()) -> int:  # noqa: ARG002  as a breaker has it
        """Every call may be made; there is nothing to report."""
        return 0

    def leave(
        self, ticket: int, verdict: "Verdict", began_at: float, hooks: "tuple[Listener, ...]" = ()
    ) -> None:
        """Nobody wants to know."""


class NoBudget:
    """A budget without end."""

    __slots__ = ()

    def call(self, now: float) -> None:
        """Nothing is counted."""

    def take(self, now: float) -> bool:  # noqa: ARG002  as a budget has it
        """Any number of retries may be made."""
        return True

    def succeed(self, *, retried: bool) -> None:
        """Nothing is paid back."""


NO_BREAKER, NO_BUDGET = NoBreaker(), NoBudget()
