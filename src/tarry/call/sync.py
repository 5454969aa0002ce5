"""Make the attempts and the waits of a plain call. `aio` is this with `await`."""

from collections.abc import Callable, Generator
from functools import wraps
from types import CoroutineType
from typing import Any, ParamSpec, TypeVar

from tarry.call.effort import Effort
from tarry.call.plan import Plan
from tarry.call.scope import ATTEMPT, ENDED, current
from tarry.call.shape import refuse_coroutine
from tarry.call.unguarded import guards_of
from tarry.call.world import world
from tarry.core.breaker import IGNORED, PASSED
from tarry.observe.stream import stream

Params = ParamSpec("Params")
Returned = TypeVar("Returned")
Item = TypeVar("Item")
Sent = TypeVar("Sent")
Begun = tuple[Generator[Item, Sent, Returned] | None, Any]
"""A generator and its first item; without the generator: what it returned instead."""


def retry_call(plan: Plan, function: Callable[Params, Returned]) -> Callable[Params, Returned]:
    """Return the function with retries, as planned."""
    if not plan.light:
        return _guarded(plan, function) if plan.guarded else _careful(plan, function)
    return _light(plan, function) if plan.scoped else _bare(plan, function)


def _careful(plan: Plan, function: Callable[Params, Returned]) -> Callable[Params, Returned]:
    """Use an effort from the start: listeners or result checks need every attempt."""
    get_scope, set_scope, reset_scope, scoped = current.get, current.set, current.reset, plan.scoped

    @wraps(function)
    def call(*args: Params.args, **kwargs: Params.kwargs) -> Returned:
        outer = get_scope()
        effort = Effort(plan, outer, world.clock())
        token = set_scope(effort.scope if scoped else outer)
        try:
            return persist(effort, function, args, kwargs)
        finally:
            effort.close()
            try:  # noqa: SIM105  suppress() takes its time
                reset_scope(token)
            except ValueError:  # the collector ends a forgotten coroutine in another context
                pass

    return call


def _light(plan: Plan, function: Callable[Params, Returned]) -> Callable[Params, Returned]:
    """Create only a scope for the common case, a first attempt that succeeds."""
    get_scope, set_scope, reset_scope = current.get, current.set, current.reset
    within, first, careful = plan.within, plan.first, _careful(plan, function)

    @wraps(function)
    def call(*args: Params.args, **kwargs: Params.kwargs) -> Returned:
        if get_scope() is not None or stream.listeners:
            return careful(*args, **kwargs)
        started_at = world.clock()
        scope = [started_at + within, first]
        token = set_scope(scope)
        try:
            try:
                result = function(*args, **kwargs)
            except Exception as error:
                effort = Effort(plan, None, started_at, 1, scope)
                if not effort.after_error(error):
                    raise
            else:
                if result.__class__ is CoroutineType:
                    refuse_coroutine(plan.name, result)
                return result
            return persist(effort, function, args, kwargs)
        finally:
            scope[ATTEMPT] = ENDED
            try:  # noqa: SIM105  suppress() takes its time
                reset_scope(token)
            except ValueError:  # the collector ends a forgotten coroutine in another context
                pass

    return call


def _bare(plan: Plan, function: Callable[Params, Returned]) -> Callable[Params, Returned]:
    """Like `_light`, but without a scope."""
    get_scope, careful = current.get, _careful(plan, function)

    @wraps(function)
    def call(*args: Params.args, **kwargs: Params.kwargs) -> Returned:
        if get_scope() is not None or stream.listeners:
            return careful(*args, **kwargs)
        started_at = world.clock()
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            effort = Effort(plan, None, started_at, 1)
            if not effort.after_error(error):
                raise
        else:
            if result.__class__ is CoroutineType:
                refuse_coroutine(plan.name, result)
            return result
        return persist(effort, function, args, kwargs)

    return call


def _guarded(plan: Plan, function: Callable[Params, Returned]) -> Callable[Params, Returned]:
    """Like `_light`, but ask the guards and report to them."""
    get_scope, set_scope, reset_scope = current.get, current.set, current.reset
    within, first, careful = plan.within, plan.first, _careful(plan, function)
    breaker, budget = guards_of(plan)

    @wraps(function)
    def call(*args: Params.args, **kwargs: Params.kwargs) -> Returned:
        if get_scope() is not None or stream.listeners:
            return careful(*args, **kwargs)
        started_at = world.clock()
        ticket = breaker.enter()
        budget.call(started_at)
        scope = [started_at + within, first]
        token, effort = set_scope(scope), None
        try:
            try:
                result = function(*args, **kwargs)
            except Exception as error:
                effort = Effort(plan, None, started_at, 1, scope, ticket)
                if not effort.after_error(error):
                    raise
            except BaseException:
                breaker.leave(ticket, IGNORED, started_at)
                raise
            else:
                breaker.leave(ticket, PASSED, started_at)
                budget.succeed(retried=False)
                if result.__class__ is CoroutineType:
                    refuse_coroutine(plan.name, result)
                return result
            return persist(effort, function, args, kwargs)
        finally:
            scope[ATTEMPT] = ENDED
            if effort is not None:
                effort.close()
            try:  # noqa: SIM105  suppress() takes its time
                reset_scope(token)
            except ValueError:  # the collector ends a forgotten coroutine in another context
                pass

    return call


def persist(
    effort: Effort,
    function: Callable[..., Returned],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Returned:
    """Make attempts until the effort says that the call is over."""
    while True:
        if effort.delay:
            world.sleep(effort.delay)
        effort.begin()
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            if not effort.after_error(error):
                raise
        else:
            if effort.after_result(result):
                return result
            if effort.discard is not None:
                effort.discard(result)


def retry_items(
    plan: Plan, function: Callable[Params, Generator[Item, Sent, Returned]]
) -> Callable[Params, Generator[Item, Sent, Returned]]:
    """Return the generator with retries up to its first item; later failures are not retried."""

    @wraps(function)
    def begin(*args: Params.args, **kwargs: Params.kwargs) -> Begun[Item, Sent, Returned]:
        rest = function(*args, **kwargs)
        try:
            return rest, next(rest)
        except StopIteration as end:
            return None, end.value

    start = retry_call(plan, begin)

    @wraps(function)
    def items(*args: Params.args, **kwargs: Params.kwargs) -> Generator[Item, Sent, Returned]:
        rest, item = start(*args, **kwargs)
        while rest is not None:
            try:
                try:
                    sent = yield item
                except GeneratorExit:
                    rest.close()
                    raise
                except BaseException as thrown:  # noqa: BLE001  whatever the consumer throws in
                    item = rest.throw(thrown)
                else:
                    item = rest.send(sent)
            except StopIteration as end:
                item = end.value
                break
        return item  # type: ignore[no-any-return]  # StopIteration does not say what it carries

    return items
