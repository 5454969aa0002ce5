"""Put a plan around a function of whatever kind."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from tarry.call import aio, sync
from tarry.call.plan import Plan
from tarry.call.shape import Shape, name_of, shape_of
from tarry.errors import DecorationError, PolicyError

Params = ParamSpec("Params")
Returned = TypeVar("Returned")

DRIVERS: dict[Shape, Callable[[Plan, Any], Any]] = {
    Shape.FUNCTION: sync.retry_call,
    Shape.COROUTINE: aio.retry_call,
    Shape.GENERATOR: sync.retry_items,
    Shape.ASYNC_GENERATOR: aio.retry_items,
}
GIVES_ITEMS = frozenset({Shape.GENERATOR, Shape.ASYNC_GENERATOR})
CAN_BE_CUT_OFF = frozenset({Shape.COROUTINE, Shape.ASYNC_GENERATOR})


def wrap(plan: Plan, function: Callable[Params, Returned]) -> Callable[Params, Returned]:
    """Return the function with retries, as planned; its signature stays the same."""
    shape = shape_of(function)
    if shape in GIVES_ITEMS and not plan.takes_any_result:
        raise DecorationError(f"{function!r} is {shape.value}: it has no result to judge")
    limit = plan.policy.attempt_timeout
    if limit is not None and shape not in CAN_BE_CUT_OFF:
        wanted = f"None for {shape.value}, which cannot be cut off (give what it calls a timeout)"
        raise PolicyError("attempt_timeout", limit, wanted)
    named = plan if plan.name else plan.replace(name=name_of(function))
    return DRIVERS[shape](named, function)  # type: ignore[no-any-return]  # fits the shape
