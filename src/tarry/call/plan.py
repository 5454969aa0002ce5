"""A plan: the settings of a call, fixed before it is made."""

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tarry.call.matching import Judge, On, judge_of, never
from tarry.call.scope import ONCE
from tarry.call.shape import is_coroutine_function
from tarry.core.checks import flag, one_of, word
from tarry.core.outcome import Failure
from tarry.core.policy import Policy
from tarry.core.value import Value
from tarry.errors import DecorationError, PolicyError
from tarry.observe.stream import Listener

Until = Callable[[Any], bool]
OnResult = Callable[[Any], bool | Failure | None]
Discard = Callable[[Any], Any]
Predicate = TypeVar("Predicate", bound=Callable[..., object])


if TYPE_CHECKING:
    from tarry.core.breaker import Verdict

    class Budget(Protocol):
        """A budget, as an effort uses it: `Quota` or `Ratio`."""

        def call(self, now: float) -> None:
            """A call begins."""

        def take(self, now: float) -> bool:
            """May one more retry be made? It counts from here on."""

        def succeed(self, *, retried: bool) -> None:
            """A call succeeded, at its first attempt or at a retry."""

    class Circuit(Protocol):
        """A breaker, as an effort uses it: `Breaker`."""

        @property
        def retry_at(self) -> float | None:
            """When a call may be let through again; None is at once."""

        def enter(self, hooks: tuple[Listener, ...] = ()) -> int:
            """Return a ticket for one call, to report with; raise CircuitOpen if refused."""

        def leave(
            self, ticket: int, verdict: Verdict, began_at: float, hooks: tuple[Listener, ...] = ()
        ) -> None:
            """Report how the call with this ticket went, and when it began."""


class Plan(Value):
    """A policy, what it retries, and its guards.

    `within` is the policy's, as a number. `takes_any_result` says that results are not judged.
    `light` says that a first attempt that succeeds need not be reported at all, `guarded` that only
    the guards need the report. `first` is the number of the first attempt in the scope: a call with
    only one attempt is no retrying scope for the calls inside.

    `discard` is called with a rejected result before the wait, because the result may hold
    something open (an async driver awaits it). `returns_last` returns the last such result instead
    of raising `GaveUp`.
    """

    policy: Policy
    judge: Judge
    until: Until | None
    on_result: OnResult | None
    budget: "Budget | None"
    breaker: "Circuit | None"
    hooks: tuple[Listener, ...]
    name: str
    scoped: bool
    within: float
    takes_any_result: bool
    light: bool
    guarded: bool
    first: int
    discard: Discard | None
    returns_last: bool


def plan_of(  # noqa: PLR0913  all that can be said about a call is said here, once
    policy: Policy,
    *,
    on: On | None = None,
    until: Until | None = None,
    on_result: OnResult | None = None,
    budget: "Budget | None" = None,
    breaker: "Circuit | None" = None,
    hooks: Listener | Iterable[Listener] = (),
    name: str = "",
    otherwise: str = "",
    scoped: bool = True,
    discard: Discard | None = None,
    returns_last: bool = False,
) -> Plan:
    """Return the plan for a call, or raise an error that says what is wrong with it.

    Its name is `name`, or else the policy's name, or else `otherwise`.
    """
    if on is None and until is None and on_result is None:
        wanted = "on= (exceptions), until= or on_result="
        raise DecorationError(f"nothing is retried unless named: give {wanted}")
    one_of("policy", policy, Policy)
    if budget is not None and (isinstance(budget, type) or not hasattr(budget, "take")):
        raise PolicyError("budget", budget, "a Quota or a Ratio")
    if breaker is not None and (isinstance(breaker, type) or not hasattr(breaker, "enter")):
        raise PolicyError("breaker", breaker, "a Breaker")
    if not scoped and policy.attempt_timeout is not None:
        wanted = "true with an attempt_timeout, because the scope has the time left"
        raise PolicyError("scoped", scoped, wanted)
    listeners = (hooks,) if callable(hooks) else tuple(hooks)
    for place, hook in enumerate(listeners):
        _plain_function(f"hooks[{place}]", hook)
    takes_any_result = until is None and on_result is None
    quiet = takes_any_result and not listeners
    unguarded = budget is None and breaker is None
    return Plan(
        policy=policy,
        judge=never if on is None else judge_of(on),
        until=None if until is None else _plain_function("until", until),
        on_result=None if on_result is None else _plain_function("on_result", on_result),
        budget=budget,
        breaker=breaker,
        hooks=listeners,
        name=word("name", name) or policy.name or otherwise,
        scoped=flag("scoped", scoped),
        within=math.inf if policy.within is None else policy.within,
        takes_any_result=takes_any_result,
        light=quiet and unguarded,
        guarded=quiet and scoped and not unguarded,
        first=ONCE if policy.attempts == 1 else 1,
        discard=discard,
        returns_last=returns_last,
    )


def _plain_function(field: str, value: Predicate) -> Predicate:
    """Return the function; raise PolicyError for anything else, despite its annotation."""
    given: object = value
    if not callable(given) or is_coroutine_function(value):
        raise PolicyError(field, value, "a plain function")
    return value
