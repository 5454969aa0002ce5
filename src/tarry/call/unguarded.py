"""Guards that allow everything. They replace missing guards, so that callers need no check."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tarry.call.plan import Budget, Circuit, Plan
    from tarry.core.breaker import Verdict
    from tarry.observe.stream import Listener


def guards_of(plan: "Plan") -> "tuple[Circuit, Budget]":
    """Return the breaker and the budget of a plan; a missing one becomes one that allows all."""
    breaker = NO_BREAKER if plan.breaker is None else plan.breaker  # it may be falsy
    return breaker, NO_BUDGET if plan.budget is None else plan.budget


class NoBreaker:
    """A breaker that is always closed."""

    __slots__ = ()
    retry_at = None

    def enter(self, hooks: "tuple[Listener, ...]" = ()) -> int:  # noqa: ARG002  as a breaker has it
        """Allow the call."""
        return 0

    def leave(
        self, ticket: int, verdict: "Verdict", began_at: float, hooks: "tuple[Listener, ...]" = ()
    ) -> None:
        """Ignore the report."""


class NoBudget:
    """A budget without end."""

    __slots__ = ()

    def call(self, now: float) -> None:
        """Count nothing."""

    def take(self, now: float) -> bool:  # noqa: ARG002  as a budget has it
        """Allow the retry."""
        return True

    def succeed(self, *, retried: bool) -> None:
        """Pay nothing back."""


NO_BREAKER, NO_BUDGET = NoBreaker(), NoBudget()
