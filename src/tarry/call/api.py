"""The front door: `retry` around a function, `attempts` around a block."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from tarry.call.block import Attempts
from tarry.call.matching import On
from tarry.call.plan import OnResult, Until, plan_of
from tarry.call.policy import Policy
from tarry.call.wrap import wrap
from tarry.core.policy import Policy as PurePolicy
from tarry.errors import DecorationError
from tarry.observe.stream import Listener

if TYPE_CHECKING:
    from tarry.call.plan import Budget, Circuit

Params = ParamSpec("Params")
Returned = TypeVar("Returned")

DEFAULT = Policy()


def retry(  # noqa: PLR0913  the front door: each argument is a feature
    policy: PurePolicy | None = None,
    *,
    on: On | None = None,
    until: Until | None = None,
    on_result: OnResult | None = None,
    budget: "Budget | None" = None,
    breaker: "Circuit | None" = None,
    hooks: Listener | Iterable[Listener] = (),
    name: str = "",
    scoped: bool = True,
) -> Callable[[Callable[Params, Returned]], Callable[Params, Returned]]:
    """Try a function again when it fails: a decorator.

    Works on functions, coroutines, generators and async generators; generators are retried until
    their first item. Nothing is retried unless named:

    on: exception types, or a function that is given the exception and returns True, False or a
        `Failure` (with `retry_after`, say), or a tuple of these.
    until: a function that is given the result; tried again until it returns True. A wait for a
        condition, not a failure: it feeds no breaker and no budget.
    on_result: a function that is given the result and returns True or a `Failure` if it is bad.

    When attempts or time run out, the last exception itself is raised, with a note; after an
    unwanted result, `GaveUp`.

    budget: a `Quota` or `Ratio`, shared by as many functions as you like.
    breaker: a `Breaker`, likewise; while it is open, `CircuitOpen` is raised.
    hooks: functions that are called with every event of this function.
    name: its name in events; its module and qualified name, if not given.
    scoped: False opens no scope, so that calls inside may retry on top and inherit no deadline.

    >>> @retry(on=(ConnectionError, TimeoutError))
    ... def fetch() -> str:
    ...     return "hello"
    >>> fetch()
    'hello'
    """
    _check_place(policy)
    plan = plan_of(
        DEFAULT if policy is None else policy,
        on=on,
        until=until,
        on_result=on_result,
        budget=budget,
        breaker=breaker,
        hooks=hooks,
        name=name,
        scoped=scoped,
    )

    def decorate(function: Callable[Params, Returned]) -> Callable[Params, Returned]:
        return wrap(plan, function)

    return decorate


def attempts(  # noqa: PLR0913  what `retry` takes
    policy: PurePolicy | None = None,
    *,
    on: On | None = None,
    until: Until | None = None,
    on_result: OnResult | None = None,
    budget: "Budget | None" = None,
    breaker: "Circuit | None" = None,
    hooks: Listener | Iterable[Listener] = (),
    name: str = "",
    scoped: bool = True,
) -> Attempts:
    """Try a block again when it fails: loop over it with `for` or `async for`.

    >>> for attempt in attempts(on=OSError):
    ...     with attempt:
    ...         answer = 42
    >>> answer
    42

    Takes what `retry` takes. For `until` and `on_result`, hand the result in inside the block:
    ``attempt.result(value)``.
    """
    return Attempts(
        plan_of(
            DEFAULT if policy is None else policy,
            on=on,
            until=until,
            on_result=on_result,
            budget=budget,
            breaker=breaker,
            hooks=hooks,
            name=name,
            otherwise="block",
            scoped=scoped,
        )
    )


def _check_place(policy: object) -> None:
    """Raise for two common mistakes: no brackets, or an exception in place of the policy."""
    if isinstance(policy, type) and issubclass(policy, BaseException):
        raise DecorationError(f"exceptions go in on=: write retry(on={policy.__name__})")
    if callable(policy):
        raise DecorationError("nothing is retried unless named: write @tarry.retry(on=...)")
