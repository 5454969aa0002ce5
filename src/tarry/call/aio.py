"""Make the attempts and the waits of an async call: `sync` with `await`."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from types import CoroutineType
from typing import Any, ParamSpec, TypeVar

from tarry.call.effort import Effort
from tarry.call.plan import Plan
from tarry.call.scope import ATTEMPT, ENDED, current, remaining
from tarry.call.shape import refuse_coroutine
from tarry.call.unguarded import guards_of
from tarry.call.world import async_library, world
from tarry.core.breaker import IGNORED, PASSED
from tarry.errors import AttemptTimedOut
from tarry.observe.stream import stream

Params = ParamSpec("Params")
Returned = TypeVar("Returned")
Item = TypeVar("Item")
Sent = TypeVar("Sent")
Begun = tuple[AsyncGenerator[Item, Sent] | None, Any]
"""A generator and its first item; no generator if it ended without one."""


def retry_call(
    plan: Plan, function: Callable[Params, Awaitable[Returned]]
) -> Callable[Params, Coroutine[Any, Any, Returned]]:
    """Return the function with retries, as planned."""
    if plan.policy.attempt_timeout is not None:
        function = _timed(plan, function)
    if not plan.light:
        return _guarded(plan, function) if plan.guarded else _careful(plan, function)
    return _light(plan, function) if plan.scoped else _bare(plan, function)


def _careful(
    plan: Plan, function: Callable[Params, Awaitable[Returned]]
) -> Callable[Params, Coroutine[Any, Any, Returned]]:
    """Use an effort from the start: listeners or result checks need every attempt."""
    get_scope, set_scope, reset_scope, scoped = current.get, current.set, current.reset, plan.scoped

    @wraps(function)
    async def call(*args: Params.args, **kwargs: Params.kwargs) -> Returned:
        outer = get_scope()
        effort = Effort(plan, outer, world.clock())
        token = set_scope(effort.scope if scoped else outer)
        try:
            return await persist(effort, function, args, kwargs)
        finally:
            effort.close()
            try:  # noqa: SIM105  suppress() takes its time
                reset_scope(token)
            except ValueError:  # the collector ends a forgotten coroutine in another context
                pass

    return call


def _light(
    plan: Plan, function: Callable[Params, Awaitable[Returned]]
) -> Callable[Params, Coroutine[Any, Any, Returned]]:
    """Create only a scope for the common case, a first attempt that succeeds."""
    get_scope, set_scope, reset_scope = current.get, current.set, current.reset
    within, first, careful = plan.within, plan.first, _careful(plan, function)

    @wraps(function)
    async def call(*args: Params.args, **kwargs: Params.kwargs) -> Returned:
        if get_scope() is not None or stream.listeners:
            return await careful(*args, **kwargs)
        started_at = world.clock()
        scope = [started_at + within, first]
        token = set_scope(scope)
        try:
            try:
                result = await function(*args, **kwargs)
            except Exception as error:
                effort = Effort(plan, None, started_at, 1, scope)
                if not effort.after_error(error):
                    raise
            else:
                if result.__class__ is CoroutineType:
                    refuse_coroutine(plan.name, result)
                return result
            return await persist(effort, function, args, kwargs)
        finally:
            scope[ATTEMPT] = ENDED
            try:  # noqa: SIM105  suppress() takes its time
                reset_scope(token)
            except ValueError:  # the collector ends a forgotten coroutine in another context
                pass

    return call


def _bare(
    plan: Plan, function: Callable[Params, Awaitable[Returned]]
) -> Callable[Params, Coroutine[Any, Any, Returned]]:
    """Like `_light`, but without a scope."""
    get_scope, careful = current.get, _careful(plan, function)

    @wraps(function)
    async def call(*args: Params.args, **kwargs: Params.kwargs) -> Returned:
        if get_scope() is not None or stream.listeners:
            return await careful(*args, **kwargs)
        started_at = world.clock()
        try:
            result = await function(*args, **kwargs)
        except Exception as error:
            effort = Effort(plan, None, started_at, 1)
            if not effort.after_error(error):
                raise
        else:
            if result.__class__ is CoroutineType:
                refuse_coroutine(plan.name, result)
            return result
        return await persist(effort, function, args, kwargs)

    return call


def _guarded(
    plan: Plan, function: Callable[Params, Awaitable[Returned]]
) -> Callable[Params, Coroutine[Any, Any, Returned]]:
    """Like `_light`, but ask the guards and report to them."""
    get_scope, set_scope, reset_scope = current.get, current.set, current.reset
    within, first, careful = plan.within, plan.first, _careful(plan, function)
    breaker, budget = guards_of(plan)

    @wraps(function)
    async def call(*args: Params.args, **kwargs: Params.kwargs) -> Returned:
        if get_scope() is not None or stream.listeners:
            return await careful(*args, **kwargs)
        started_at = world.clock()
        ticket = breaker.enter()
        budget.call(started_at)
        scope = [started_at + within, first]
        token, effort = set_scope(scope), None
        try:
            try:
                result = await function(*args, **kwargs)
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
            return await persist(effort, function, args, kwargs)
        finally:
            scope[ATTEMPT] = ENDED
            if effort is not None:
                effort.close()
            try:  # noqa: SIM105  suppress() takes its time
                reset_scope(token)
            except ValueError:  # the collector ends a forgotten coroutine in another context
                pass

    return call


async def persist(
    effort: Effort,
    function: Callable[..., Awaitable[Returned]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Returned:
    """Make attempts until the effort says that the call is over."""
    while True:
        if effort.delay:
            await world.asleep(effort.delay)
        effort.begin()
        try:
            result = await function(*args, **kwargs)
        except Exception as error:
            if not effort.after_error(error):
                raise
        else:
            if effort.after_result(result):
                return result
            if effort.discard is not None:
                await effort.discard(result)


def retry_items(
    plan: Plan, function: Callable[Params, AsyncGenerator[Item, Sent]]
) -> Callable[Params, AsyncGenerator[Item, Sent]]:
    """Return the generator with retries up to its first item; later failures are not retried."""

    @wraps(function)
    async def begin(*args: Params.args, **kwargs: Params.kwargs) -> Begun[Item, Sent]:
        rest = function(*args, **kwargs)
        try:
            return rest, await anext(rest)
        except StopAsyncIteration:
            return None, None

    start = retry_call(plan, begin)

    @wraps(function)
    async def items(*args: Params.args, **kwargs: Params.kwargs) -> AsyncGenerator[Item, Sent]:
        rest, item = await start(*args, **kwargs)
        while rest is not None:
            try:
                try:
                    sent = yield item
                except GeneratorExit:
                    await rest.aclose()
                    raise
                except BaseException as thrown:  # noqa: BLE001  whatever the consumer throws in
                    item = await rest.athrow(thrown)
                else:
                    item = await rest.asend(sent)
            except StopAsyncIteration:
                return

    return items


def _timed(
    plan: Plan, function: Callable[Params, Awaitable[Returned]]
) -> Callable[Params, Awaitable[Returned]]:
    """Return the function with a time limit for each attempt."""

    @wraps(function)
    async def attempt(*args: Params.args, **kwargs: Params.kwargs) -> Returned:
        async with cut_off(plan):
            return await function(*args, **kwargs)

    return attempt


@asynccontextmanager
async def cut_off(plan: Plan) -> AsyncIterator[None]:
    """End the block at the policy's attempt_timeout, or when the time left for the call is over."""
    longest = plan.policy.attempt_timeout or 0.0
    left = remaining()
    limit = longest if left is None else min(longest, left)
    library = async_library()
    if library.__name__ != "asyncio":
        with library.move_on_after(limit) as timer:
            yield
        if timer.cancelled_caught:
            raise AttemptTimedOut(limit, plan) from None
        return
    timer = library.timeout(limit)
    try:
        async with timer:
            yield
    except TimeoutError:
        if not timer.expired():
            raise
        raise AttemptTimedOut(limit, plan) from None
