import asyncio
import gc
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from types import coroutine
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import trio

import tarry
from tarry import (
    AttemptTimedOut,
    Breaker,
    Exponential,
    Fixed,
    NoJitter,
    Policy,
    Quota,
    Ratio,
)
from tarry.call.aio import retry_call
from tarry.call.matching import On
from tarry.call.plan import plan_of
from tarry.call.scope import current
from tarry.call.world import world
from tarry.observe import Attempted, Event

STEADY = Policy(backoff=Exponential(base=1, cap=60), jitter=NoJitter(), attempts=4)
QUICK = Policy(backoff=Fixed(0), attempts=3)
Decorate = Callable[[Callable[..., Any]], Callable[..., Any]]


def ignore(_: object) -> None:
    pass


WAYS: dict[str, dict[str, Any]] = {
    "light": {},
    "bare": {"scoped": False},
    "careful": {"hooks": ignore},
    "careful and bare": {"hooks": ignore, "scoped": False},
    "guarded": {"budget": Quota(1e9), "breaker": Breaker(failures=10**9)},
    "guarded and bare": {"budget": Quota(1e9), "breaker": Breaker(10**9), "scoped": False},
    "guarded and careful": {"budget": Quota(1e9), "breaker": Breaker(10**9), "hooks": ignore},
    "guarded by a breaker": {"breaker": Breaker(failures=None, rate=1, minimum=10**9)},
    "guarded by a budget": {"budget": Ratio(1.0, 10, 10**9)},
}


@pytest.fixture(params=WAYS)
def retried(request: pytest.FixtureRequest) -> Decorate:
    """The ways a function is driven: they differ in what they cost, not in what they do."""
    return tarry.retry(STEADY, on=ConnectionError, **WAYS[request.param])


def failing(*errors: BaseException) -> Callable[[], Coroutine[Any, Any, str]]:
    """An async function that raises these, one a call, and then is done."""
    left = list(errors)

    async def function() -> str:
        await anyio.lowlevel.checkpoint()
        if left:
            raise left.pop(0)
        return "done"

    return function


@pytest.mark.anyio
async def test_a_call_that_succeeds_is_made_once(retried: Decorate, slept: list[float]) -> None:
    tries: list[object] = []

    @retried
    async def add(*args: object, **kwargs: object) -> str:
        tries.append((args, kwargs))
        return "done"

    assert await add(1, 2, three=3) == "done"
    assert tries == [((1, 2), {"three": 3})]
    assert slept == []


@pytest.mark.anyio
async def test_a_call_that_fails_is_made_again_after_a_wait(
    retried: Decorate, slept: list[float]
) -> None:
    assert await retried(failing(*[ConnectionError() for _ in range(3)]))() == "done"
    assert slept == [1, 2, 4]


@pytest.mark.anyio
async def test_the_last_error_itself_comes_out(retried: Decorate, slept: list[float]) -> None:
    errors = [ConnectionError(number) for number in range(4)]
    with pytest.raises(ConnectionError) as caught:
        await retried(failing(*errors))()
    assert caught.value is errors[3]
    assert [error.__context__ for error in errors] == [None] * 4
    assert slept == [1, 2, 4]
    assert caught.value.__notes__ == [
        "tarry: gave up after 4 attempts in 7 s: all attempts are used up"
    ]


@pytest.mark.anyio
async def test_an_error_that_is_not_named_comes_out_at_once_and_untouched(
    retried: Decorate, slept: list[float]
) -> None:
    error = KeyError("x")
    with pytest.raises(KeyError) as caught:
        await retried(failing(error))()
    assert caught.value is error
    assert not hasattr(error, "__notes__")
    assert slept == []


@pytest.mark.anyio
async def test_inside_another_retry_it_makes_one_attempt(
    retried: Decorate, slept: list[float]
) -> None:
    tries: list[int] = []

    @tarry.retry(STEADY, on=ValueError)
    @retried
    async def fails() -> None:
        tries.append(1)
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await fails()
    assert (tries, slept) == ([1], [])


@pytest.mark.anyio
async def test_a_result_that_is_not_taken_is_discarded_before_the_wait(
    slept: list[float],
) -> None:
    dropped: list[object] = []

    async def discard(result: object) -> None:
        await anyio.lowlevel.checkpoint()
        dropped.append((result, len(slept)))

    async def answer() -> int:
        return answers.pop(0)

    plan = plan_of(STEADY, until=lambda said: said == 3, discard=discard, name="f")
    answers = [1, 2, 3]
    assert await retry_call(plan, answer)() == 3
    assert dropped == [(1, 0), (2, 1)]


@pytest.mark.anyio
async def test_a_result_is_judged_and_not_touched(slept: list[float]) -> None:
    answers: list[object] = [0, [], "done"]

    @tarry.retry(STEADY, until=bool)
    async def poll() -> object:
        return answers.pop(0)

    assert await poll() == "done"
    assert slept == [1, 2]


@pytest.mark.anyio
async def test_a_wait_of_nothing_does_not_sleep_at_all(slept: list[float]) -> None:
    for way in WAYS.values():
        function = failing(ConnectionError(), ConnectionError())
        assert await tarry.retry(QUICK, on=ConnectionError, **way)(function)() == "done"
    assert slept == []


@pytest.mark.anyio
async def test_a_real_wait_leaves_the_event_loop_to_others() -> None:
    ticks: list[int] = []
    policy = Policy(backoff=Fixed(0.2), jitter=NoJitter(), attempts=2)

    async def tick() -> None:
        while len(ticks) < 5:
            ticks.append(1)
            await anyio.sleep(0.002)

    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        await tarry.retry(policy, on=ConnectionError)(failing(ConnectionError()))()
        assert len(ticks) == 5


# Cancellation


@pytest.mark.anyio
@pytest.mark.parametrize("named", [Exception, lambda _: True], ids=["type", "predicate"])
async def test_a_cancelled_call_ends_at_once_and_for_good(named: On) -> None:
    tries: list[int] = []
    after: list[int] = []

    @tarry.retry(QUICK, on=named)
    async def works() -> None:
        tries.append(1)
        await anyio.sleep_forever()

    with anyio.move_on_after(0.02) as scope:
        await works()
        after.append(1)
    assert scope.cancelled_caught
    assert (tries, after) == ([1], [])
    assert current.get() is None


@pytest.mark.anyio
async def test_a_call_cancelled_in_the_midst_of_a_wait_ends_at_once() -> None:
    tries: list[int] = []
    quota, breaker = Quota(), Breaker(failures=9, rate=1, minimum=9)

    @tarry.retry(
        Policy(backoff=Fixed(60), jitter=NoJitter(), within=None),
        on=ConnectionError,
        budget=quota,
        breaker=breaker,
    )
    async def works() -> None:
        tries.append(1)
        raise ConnectionError

    began = time.monotonic()
    with anyio.move_on_after(0.02) as scope:
        await works()
    assert scope.cancelled_caught
    assert tries == [1]
    assert time.monotonic() - began < 30
    assert quota.tokens == 495  # counted when decided


def test_wait_for_is_obeyed() -> None:
    async def main() -> None:
        tries: list[int] = []

        @tarry.retry(QUICK, on=Exception)
        async def works() -> None:
            tries.append(1)
            await asyncio.sleep(60)

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(works(), 0.02)
        assert tries == [1]

    asyncio.run(main())


def test_a_cancelled_task_is_cancelled() -> None:
    async def main() -> None:
        started = asyncio.Event()

        @tarry.retry(QUICK, on=Exception, hooks=ignore, breaker=Breaker())
        async def works() -> None:
            started.set()
            await asyncio.sleep(60)

        task = asyncio.create_task(works())
        await started.wait()
        task.cancel("enough")
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        assert task.cancelled()
        assert caught.value.args == ("enough",)
        assert not hasattr(caught.value, "__notes__")

    asyncio.run(main())


def test_cleaning_up_after_a_cancellation_may_await() -> None:
    async def main() -> list[str]:
        said: list[str] = []

        @tarry.retry(QUICK, on=Exception)
        async def works() -> None:
            try:
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(0)
                said.append("cleaned up")

        task = asyncio.create_task(works())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return said

    assert asyncio.run(main()) == ["cleaned up"]


def test_an_error_in_place_of_a_cancellation_is_an_error() -> None:
    """Who turns a cancellation into an error has asked for the error to be handled."""

    async def main() -> int:
        tries: list[int] = []

        @tarry.retry(QUICK, on=ConnectionError)
        async def works() -> None:
            tries.append(1)
            if len(tries) == 1:
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    raise ConnectionError from None

        task = asyncio.create_task(works())
        await asyncio.sleep(0.01)
        task.cancel()
        await task
        return len(tries)

    assert asyncio.run(main()) == 2


@coroutine
def suspension() -> Any:  # noqa: ANN401  a coroutine that comes back when it is sent on
    yield "suspended"


def test_a_coroutine_that_is_closed_ends_quietly(retried: Decorate) -> None:
    ended: list[type[BaseException]] = []

    @retried
    async def waits() -> None:
        try:
            await suspension()
        except BaseException as end:
            ended.append(type(end))
            raise

    running = waits()
    assert running.send(None) == "suspended"
    running.close()
    assert ended == [GeneratorExit]
    assert current.get() is None
    waits().close()  # never begun


def test_a_call_may_be_made_in_one_task_and_awaited_in_another(slept: list[float]) -> None:
    async def main() -> str:
        made = tarry.retry(STEADY, on=ConnectionError)(failing(ConnectionError()))()
        return await asyncio.create_task(made)

    assert asyncio.run(main()) == "done"
    assert slept == [1]


@pytest.mark.anyio
async def test_errors_of_a_task_group_come_as_the_group_they_are() -> None:
    tries: list[int] = []

    @tarry.retry(QUICK, on=ExceptionGroup)
    async def works() -> str:
        tries.append(1)
        async with anyio.create_task_group() as group:
            group.start_soon(failing(ConnectionError() if len(tries) == 1 else BufferError()))
        return "done"

    with pytest.raises(ExceptionGroup) as caught:
        await works()
    assert len(tries) == 3
    assert caught.group_contains(BufferError)


# Cut off


@pytest.mark.anyio
async def test_an_attempt_that_takes_too_long_is_cut_off_and_tried_again(
    slept: list[float],
) -> None:
    tries: list[int] = []

    @tarry.retry(STEADY.replace(attempt_timeout=0.02), on=ConnectionError)
    async def hangs_at_first() -> str:
        tries.append(1)
        if len(tries) < 3:
            await anyio.sleep_forever()
        return "done"

    assert await hangs_at_first() == "done"
    assert len(tries) == 3
    assert slept == [1, 2]


@pytest.mark.anyio
async def test_the_last_cut_comes_out_as_a_timeout() -> None:
    heard: list[Event] = []

    @tarry.retry(QUICK.replace(attempt_timeout=0.01), on=ConnectionError, hooks=heard.append)
    async def hangs() -> None:
        await anyio.sleep_forever()

    with pytest.raises(TimeoutError) as caught:
        await hangs()
    error = caught.value
    assert isinstance(error, AttemptTimedOut)
    assert error.seconds == 0.01
    assert str(error) == "the attempt was cut off after 0.01 s"
    assert error.__suppress_context__  # that it was cancelled for it is our affair
    assert "gave up after 3 attempts" in error.__notes__[0]
    kinds = [event.outcome for event in heard if isinstance(event, Attempted)]
    assert kinds == [tarry.Failure(tarry.Kind.TIMEOUT)] * 3


@pytest.mark.anyio
async def test_an_attempt_is_cut_off_when_the_time_of_the_whole_call_is_up() -> None:
    @tarry.retry(QUICK.replace(attempt_timeout=30, within=0.02), on=ConnectionError)
    async def hangs() -> None:
        await anyio.sleep_forever()

    @tarry.retry(QUICK.replace(within=0.02), on=ConnectionError)
    async def around() -> None:
        await tarry.retry(QUICK.replace(attempt_timeout=30), on=ConnectionError)(
            anyio.sleep_forever
        )()

    @tarry.retry(QUICK.replace(attempt_timeout=30, within=0.02, attempts=1), on=ConnectionError)
    async def once() -> None:
        await anyio.sleep_forever()

    for function in (hangs, around, once):
        with anyio.fail_after(30), pytest.raises(AttemptTimedOut) as caught:
            await function()
        assert caught.value.seconds <= 0.02


@pytest.mark.anyio
async def test_a_timeout_of_the_functions_own_is_judged_like_any_error() -> None:
    tries: list[int] = []

    @tarry.retry(QUICK.replace(attempt_timeout=30), on=ConnectionError)
    async def times_out() -> None:
        tries.append(1)
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine") as caught:
        await times_out()
    assert tries == [1]
    assert not isinstance(caught.value, AttemptTimedOut)


@pytest.mark.anyio
async def test_the_cut_of_another_call_is_not_ours_to_retry() -> None:
    tries: list[int] = []

    @tarry.retry(QUICK.replace(attempt_timeout=0.01, attempts=1), on=ConnectionError)
    async def inner() -> None:
        await anyio.sleep_forever()

    @tarry.retry(QUICK.replace(attempt_timeout=30), on=ConnectionError)
    async def outer() -> None:
        tries.append(1)
        await inner()

    with pytest.raises(AttemptTimedOut):
        await outer()
    assert tries == [1]


@pytest.mark.anyio
async def test_a_cancellation_from_outside_is_no_timeout() -> None:
    tries: list[int] = []

    @tarry.retry(QUICK.replace(attempt_timeout=30), on=Exception)
    async def hangs() -> None:
        tries.append(1)
        await anyio.sleep_forever()

    with anyio.move_on_after(0.02) as scope:
        await hangs()
    assert scope.cancelled_caught
    assert tries == [1]


def test_a_cancellation_at_the_same_moment_as_the_cut_wins() -> None:
    async def main() -> int:
        tries: list[int] = []

        @tarry.retry(QUICK.replace(attempt_timeout=0.01), on=Exception)
        async def hangs() -> None:
            tries.append(1)
            try:
                await asyncio.sleep(60)
            finally:
                task.cancel()  # the cut is on its way already

        task = asyncio.create_task(hangs())
        with pytest.raises(asyncio.CancelledError):
            await task
        return len(tries)

    assert asyncio.run(main()) == 1


@pytest.mark.anyio
async def test_an_attempt_in_time_is_not_disturbed_by_the_limit() -> None:
    @tarry.retry(QUICK.replace(attempt_timeout=0.2), on=ConnectionError)
    async def quick() -> str:
        await anyio.lowlevel.checkpoint()
        return "done"

    assert await quick() == "done"
    await anyio.sleep(0.21)  # the limit passes, and nobody is cut off
    assert await quick() == "done"


# Async generators


async def numbers(tries: list[int], *, fail: int, before: int = 0) -> AsyncGenerator[int, object]:
    """Counts to three, but fails as often as said, after so many items."""
    tries.append(1)
    for number in range(1, 4):
        await anyio.lowlevel.checkpoint()
        if number == before + 1 and len(tries) <= fail:
            raise ConnectionError(len(tries))
        yield number


@pytest.mark.anyio
async def test_a_generator_is_begun_again_until_its_first_item(
    retried: Decorate, slept: list[float]
) -> None:
    tries: list[int] = []
    assert [item async for item in retried(numbers)(tries, fail=2)] == [1, 2, 3]
    assert len(tries) == 3
    assert slept == [1, 2]


@pytest.mark.anyio
async def test_a_generator_that_gives_nothing_is_done(retried: Decorate) -> None:
    @retried
    async def nothing() -> AsyncIterator[int]:
        for item in list[int]():
            yield item

    assert [item async for item in nothing()] == []


@pytest.mark.anyio
async def test_after_the_first_item_a_generator_is_not_retried(
    retried: Decorate, slept: list[float]
) -> None:
    tries, seen = list[int](), list[int]()
    running = retried(numbers)(tries, fail=1, before=2)
    with pytest.raises(ConnectionError) as caught:  # noqa: PT012  the loop is what is tested
        async for item in running:
            seen.append(item)
    assert seen == [1, 2]
    assert len(tries) == 1
    assert slept == []
    assert not hasattr(caught.value, "__notes__")
    assert [item async for item in running] == []


@pytest.mark.anyio
async def test_the_error_of_a_generator_that_never_began_comes_out(
    retried: Decorate, slept: list[float]
) -> None:
    tries: list[int] = []
    with pytest.raises(ConnectionError) as caught:
        await anext(retried(numbers)(tries, fail=9))
    assert caught.value.args == (4,)
    assert len(slept) == 3


@pytest.mark.anyio
async def test_what_is_sent_and_thrown_reaches_the_generator(retried: Decorate) -> None:
    @retried
    async def echo() -> AsyncGenerator[object, object]:
        said: object = "hello"
        while said != "stop":
            try:
                said = yield said
            except KeyError as error:
                said = error

    running = echo()
    assert await anext(running) == "hello"
    assert await running.asend(5) == 5
    error = KeyError()
    assert await running.athrow(error) is error
    with pytest.raises(StopAsyncIteration):
        await running.asend("stop")


@pytest.mark.anyio
async def test_what_is_thrown_and_not_caught_comes_out(retried: Decorate) -> None:
    for kind in (ConnectionError, KeyboardInterrupt):
        running = retried(numbers)([], fail=0)
        await anext(running)
        error = kind()
        with pytest.raises(kind) as caught:
            await running.athrow(error)
        assert caught.value is error


@pytest.mark.anyio
async def test_a_generator_may_end_when_something_is_thrown(retried: Decorate) -> None:
    @retried
    async def ends() -> AsyncGenerator[int, None]:
        try:
            yield 1
        except KeyError:
            return

    running = ends()
    await anext(running)
    with pytest.raises(StopAsyncIteration):
        await running.athrow(KeyError())


@pytest.mark.anyio
async def test_closing_closes_the_generator_inside_and_waits_for_it(retried: Decorate) -> None:
    closed: list[str] = []

    @retried
    async def watched() -> AsyncGenerator[int, None]:
        try:
            yield 1
            yield 2
        finally:
            await anyio.lowlevel.checkpoint()
            closed.append("closed")

    async with aclosing(watched()) as running:
        assert await anext(running) == 1
    assert closed == ["closed"]


@pytest.mark.anyio
async def test_a_cancelled_generator_is_not_begun_again(retried: Decorate) -> None:
    tries: list[int] = []

    @retried
    async def hangs() -> AsyncIterator[int]:
        tries.append(1)
        await anyio.sleep_forever()
        yield 1

    with anyio.move_on_after(0.02) as scope:
        async for _ in hangs():
            pass
    assert scope.cancelled_caught
    assert tries == [1]


@pytest.mark.anyio
async def test_only_the_way_to_the_first_item_is_cut_off() -> None:
    tries: list[int] = []

    @tarry.retry(QUICK.replace(attempt_timeout=0.1), on=ConnectionError)
    async def slow_start() -> AsyncIterator[int]:
        tries.append(1)
        if len(tries) == 1:
            await anyio.sleep_forever()
        yield 1
        await anyio.sleep(0.12)
        yield 2

    assert [item async for item in slow_start()] == [1, 2]
    assert len(tries) == 2


@pytest.mark.anyio
async def test_between_items_there_is_no_scope(retried: Decorate) -> None:
    seen: list[object] = []

    @retried
    async def looks() -> AsyncIterator[int]:
        yield 1
        seen.append(current.get())
        yield 2

    seen += [current.get() async for _ in looks()]
    assert seen == [None, None, None]


# Without asyncio


def test_trio_needs_no_asyncio_running() -> None:
    policy = Policy(backoff=Fixed(0.001), jitter=NoJitter(), attempts=3, attempt_timeout=5)
    function = tarry.retry(policy, on=ConnectionError)(
        failing(ConnectionError(), ConnectionError())
    )
    assert trio.run(function) == "done"


def test_a_loop_that_is_closed_over_waiting_calls_hears_no_complaint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The coroutine ends where it is cleaned up, in another context than it began in."""
    tries: list[int] = []

    async def main(function: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        task = asyncio.ensure_future(function())
        await asyncio.sleep(0)
        assert not task.done()
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001  it is meant

    complaints: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", complaints.append)
    for way in WAYS.values():

        @tarry.retry(STEADY, on=ConnectionError, **way)
        async def waits() -> None:
            tries.append(1)
            await asyncio.get_running_loop().create_future()

        loop = asyncio.new_event_loop()
        loop.run_until_complete(main(waits))
        loop.close()
        del loop, waits
        gc.collect()
    assert len(tries) == len(WAYS)
    assert complaints == []
    assert world.sleep is time.sleep
