import asyncio
import contextvars
from collections.abc import Callable
from types import coroutine
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import tarry
from tarry import (
    AttemptTimedOut,
    Breaker,
    CircuitOpen,
    Exponential,
    Fixed,
    GaveUp,
    NoJitter,
    Policy,
    PolicyError,
    TarryError,
)
from tarry.call.block import Attempts, Loop
from tarry.call.scope import ATTEMPT, ENDED, Scope, current
from tarry.call.world import world

STEADY = Policy(backoff=Exponential(base=1, cap=60), jitter=NoJitter(), attempts=4)
QUICK = Policy(backoff=Fixed(0), attempts=3)


@pytest.fixture(params=["for with", "for async with", "async for with", "async for async with"])
def run_block(request: pytest.FixtureRequest) -> Any:  # noqa: ANN401
    """The four ways to write the loop, as a function of the attempts and the block's body."""
    return {
        "for with": for_with,
        "for async with": for_async_with,
        "async for with": async_for_with,
        "async for async with": async_for_async_with,
    }[request.param]


async def for_with(attempts: Attempts, body: Callable[..., Any]) -> None:
    for attempt in attempts:
        with attempt as same:
            assert same is attempt
            await body(attempt)


async def for_async_with(attempts: Attempts, body: Callable[..., Any]) -> None:
    for attempt in attempts:
        async with attempt as same:
            assert same is attempt
            await body(attempt)


async def async_for_with(attempts: Attempts, body: Callable[..., Any]) -> None:
    async for attempt in attempts:
        with attempt as same:
            assert same is attempt
            await body(attempt)


async def async_for_async_with(attempts: Attempts, body: Callable[..., Any]) -> None:
    async for attempt in attempts:
        async with attempt as same:
            assert same is attempt
            await body(attempt)


@pytest.mark.anyio
async def test_a_block_that_succeeds_runs_once(run_block: Any, slept: list[float]) -> None:  # noqa: ANN401
    numbers: list[int] = []

    async def body(attempt: Any) -> None:  # noqa: ANN401
        numbers.append(attempt.number)

    await run_block(tarry.attempts(STEADY, on=ConnectionError), body)
    assert numbers == [1]
    assert slept == []


@pytest.mark.anyio
async def test_a_block_that_fails_runs_again_after_a_wait(
    run_block: Any,  # noqa: ANN401
    slept: list[float],
) -> None:
    numbers: list[int] = []

    async def body(attempt: Any) -> None:  # noqa: ANN401
        await anyio.lowlevel.checkpoint()
        numbers.append(attempt.number)
        if attempt.number < 4:
            raise ConnectionError

    await run_block(tarry.attempts(STEADY, on=ConnectionError), body)
    assert numbers == [1, 2, 3, 4]
    assert slept == [1, 2, 4]


@pytest.mark.anyio
async def test_the_last_error_itself_comes_out_of_a_block(
    run_block: Any,  # noqa: ANN401
    slept: list[float],
) -> None:
    errors = [ConnectionError(number) for number in range(4)]

    async def body(attempt: Any) -> None:  # noqa: ANN401
        raise errors[attempt.number - 1]

    with pytest.raises(ConnectionError) as caught:
        await run_block(tarry.attempts(STEADY, on=ConnectionError), body)
    assert caught.value is errors[3]
    assert [error.__context__ for error in errors] == [None] * 4
    assert slept == [1, 2, 4]
    assert caught.value.__notes__ == [
        "tarry: gave up after 4 attempts in 7 s: all attempts are used up"
    ]


@pytest.mark.anyio
async def test_an_error_that_is_not_named_comes_out_of_a_block_at_once(
    run_block: Any,  # noqa: ANN401
    slept: list[float],
) -> None:
    async def body(_: Any) -> None:  # noqa: ANN401
        raise KeyError

    with pytest.raises(KeyError) as caught:
        await run_block(tarry.attempts(STEADY, on=ConnectionError), body)
    assert not hasattr(caught.value, "__notes__")
    assert slept == []


@pytest.mark.anyio
async def test_a_cancelled_block_ends_at_once_and_nothing_after_it_runs(
    run_block: Any,  # noqa: ANN401
) -> None:
    """Elsewhere the block swallows the cancellation and the code after it runs on."""
    reached: list[str] = []

    async def body(_: Any) -> None:  # noqa: ANN401
        reached.append("in the block")
        await anyio.sleep_forever()

    with anyio.move_on_after(0.02) as scope:
        await run_block(tarry.attempts(QUICK, on=Exception), body)
        reached.append("after the block")
    assert scope.cancelled_caught
    assert reached == ["in the block"]
    assert current.get() is None


@pytest.mark.anyio
async def test_what_ends_the_program_ends_the_block(run_block: Any) -> None:  # noqa: ANN401
    for kind in (SystemExit, GeneratorExit):
        tries: list[int] = []

        async def body(_: Any, kind: Any = kind, tries: list[int] = tries) -> None:  # noqa: ANN401
            tries.append(1)
            raise kind

        with pytest.raises(kind):
            await run_block(tarry.attempts(QUICK, on=Exception), body)
        assert tries == [1]


@pytest.mark.anyio
async def test_a_blocks_result_is_judged(run_block: Any, slept: list[float]) -> None:  # noqa: ANN401
    answers = ["pending", "bad", "done"]

    async def body(attempt: Any) -> None:  # noqa: ANN401
        answer = answers.pop(0)
        assert attempt.result(answer) is answer

    await run_block(
        tarry.attempts(
            STEADY, until=lambda answer: answer == "done", on_result=lambda answer: answer == "bad"
        ),
        body,
    )
    assert answers == []
    assert slept == [1, 2]


@pytest.mark.anyio
async def test_a_block_nobody_is_content_with_gives_up(run_block: Any) -> None:  # noqa: ANN401
    async def body(attempt: Any) -> None:  # noqa: ANN401
        attempt.result(attempt.number)

    with pytest.raises(GaveUp) as caught:
        await run_block(tarry.attempts(QUICK, until=lambda number: number > 9), body)
    assert (caught.value.last, caught.value.attempts) == (3, 3)


@pytest.mark.anyio
async def test_a_block_is_a_scope_while_it_runs(run_block: Any) -> None:  # noqa: ANN401
    inner, seen = list[int](), list[Scope | None]()

    @tarry.retry(QUICK, on=ConnectionError)
    def fails() -> None:
        inner.append(1)
        raise ConnectionError

    async def body(_: Any) -> None:  # noqa: ANN401
        seen.append(current.get())
        fails()

    with pytest.raises(ConnectionError):
        await run_block(tarry.attempts(QUICK, on=ConnectionError), body)
    assert len(inner) == 3
    assert current.get() is None
    assert seen[0] is not None
    assert seen[0][ATTEMPT] == ENDED


@pytest.mark.anyio
async def test_a_block_without_a_scope_lets_others_retry_on_top(run_block: Any) -> None:  # noqa: ANN401
    inner: list[int] = []

    @tarry.retry(QUICK, on=ConnectionError)
    def fails() -> None:
        inner.append(1)
        raise ConnectionError

    async def body(_: Any) -> None:  # noqa: ANN401
        assert tarry.remaining() is None
        fails()

    with pytest.raises(ConnectionError):
        await run_block(tarry.attempts(QUICK, on=ConnectionError, scoped=False), body)
    assert len(inner) == 9


@pytest.mark.anyio
async def test_a_wait_in_the_midst_of_a_block_can_be_cancelled() -> None:
    tries: list[int] = []
    patient = Policy(backoff=Fixed(60), jitter=NoJitter(), within=None)

    async def body(_: Any) -> None:  # noqa: ANN401
        tries.append(1)
        raise ConnectionError

    for run in (async_for_with, async_for_async_with, for_async_with):
        tries.clear()
        with anyio.move_on_after(0.02) as scope:
            await run(tarry.attempts(patient, on=ConnectionError), body)
        assert scope.cancelled_caught
        assert tries == [1]
        assert current.get() is None


def test_attempts_are_looped_over_as_often_as_you_like() -> None:
    attempts = tarry.attempts(QUICK, on=ConnectionError)
    for _ in range(3):
        numbers = []
        for attempt in attempts:
            with attempt:
                numbers.append(attempt.number)
                if attempt.number < 3:
                    raise ConnectionError
        assert numbers == [1, 2, 3]


def test_a_loop_is_its_own_iterator() -> None:
    loop = iter(tarry.attempts(QUICK, on=ConnectionError))
    assert iter(loop) is loop
    assert loop.__aiter__() is loop
    with next(loop):
        pass
    with pytest.raises(StopIteration):
        next(loop)
    with pytest.raises(StopIteration):
        next(loop)


def test_leaving_the_loop_from_inside_the_block_is_a_success(slept: list[float]) -> None:
    def found() -> int:
        for attempt in tarry.attempts(STEADY, on=ConnectionError):
            with attempt:
                return attempt.number
        return 0

    assert found() == 1
    for attempt in tarry.attempts(STEADY, on=ConnectionError):
        with attempt:
            break
    for attempt in tarry.attempts(STEADY, on=ConnectionError):
        with attempt:
            continue
    assert slept == []
    assert current.get() is None


def test_an_attempt_knows_what_time_remains(push: Callable[[float], None]) -> None:
    remaining: list[float | None] = []
    for attempt in tarry.attempts(STEADY.replace(within=10), on=ConnectionError):
        with attempt:
            remaining += [attempt.remaining, tarry.remaining()]
            push(3)
            remaining += [attempt.remaining, tarry.remaining()]
    assert remaining == [10, 10, 7, 7]
    for attempt in tarry.attempts(STEADY.replace(within=None), on=ConnectionError):
        with attempt:
            assert attempt.remaining is None


def test_an_attempt_knows_when_it_is_over() -> None:
    over: list[bool] = []
    for attempt in tarry.attempts(QUICK, on=ConnectionError):
        over.append(attempt.over)
        with attempt:
            if attempt.number == 1:
                raise ConnectionError
        over.append(attempt.over)
    assert over == [False, False, False, True]


def test_a_loop_without_a_block_in_it_is_an_error_and_not_endless() -> None:
    rounds: list[int] = []
    with pytest.raises(TarryError, match="write `with attempt:` inside the loop"):  # noqa: PT012
        for attempt in tarry.attempts(QUICK, on=ConnectionError):
            rounds.append(attempt.number)  # noqa: PERF401  the error is what counts
    assert rounds == [1]


def test_a_loop_that_is_asked_on_from_inside_the_block_is_an_error() -> None:
    loop = iter(tarry.attempts(QUICK, on=ConnectionError))
    with next(loop), pytest.raises(TarryError, match="write `with attempt:` inside the loop"):
        next(loop)


def test_an_attempt_is_entered_once() -> None:
    numbers: list[int] = []
    for attempt in tarry.attempts(QUICK, on=ConnectionError):
        with attempt:
            numbers.append(attempt.number)
            if attempt.number == 1:
                raise ConnectionError
        with pytest.raises(TarryError, match="an attempt is entered once"), attempt:
            numbers.append(99)
    assert numbers == [1, 2]
    with pytest.raises(TarryError, match="an attempt is entered once"), attempt:
        numbers.append(99)
    loop = iter(tarry.attempts(QUICK, on=ConnectionError))
    with next(loop) as again, pytest.raises(TarryError, match="entered once"), again:
        numbers.append(99)
    assert numbers == [1, 2]


@pytest.mark.anyio
async def test_an_async_attempt_is_entered_once() -> None:
    loop = iter(tarry.attempts(QUICK, on=ConnectionError))
    async with next(loop) as again:
        with pytest.raises(TarryError, match="entered once"):
            await again.__aenter__()


# The breaker


def test_a_block_is_refused_while_the_circuit_is_open() -> None:
    breaker = Breaker(name="db")
    breaker.trip()
    with pytest.raises(CircuitOpen, match="circuit 'db' is open"):  # noqa: PT012
        for attempt in tarry.attempts(on=ConnectionError, breaker=breaker):
            with attempt:
                raise AssertionError


@pytest.mark.usefixtures("still_time")
def test_a_block_whose_circuit_opens_during_the_wait_ends_with_its_own_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    breaker, scopes = Breaker(failures=9), list[Scope | None]()
    monkeypatch.setattr(world, "sleep", lambda _: breaker.trip())
    error = ConnectionError("mine")
    with pytest.raises(ConnectionError) as caught:  # noqa: PT012
        for attempt in tarry.attempts(STEADY, on=ConnectionError, breaker=breaker):
            with attempt:
                scopes.append(current.get())
                raise error
    assert caught.value is error
    assert error.__notes__[0].startswith("tarry: gave up after 1 attempt in ")
    assert len(scopes) == 1
    assert scopes[0] is not None
    assert scopes[0][ATTEMPT] == ENDED
    assert attempt.over
    assert list(Loop(attempt)) == []


def test_an_interrupt_in_the_midst_of_a_blocks_wait_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    scopes: list[Scope | None] = []
    monkeypatch.setattr(world, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        for attempt in tarry.attempts(STEADY, on=ConnectionError, breaker=Breaker()):
            with attempt:
                scopes.append(current.get())
                raise ConnectionError
    assert attempt.over
    assert len(scopes) == 1
    assert scopes[0] is not None
    assert scopes[0][ATTEMPT] == ENDED


@pytest.mark.usefixtures("still_time")
def test_a_probe_whose_block_is_never_entered_is_given_back(push: Callable[[float], None]) -> None:
    breaker = Breaker(open_for=10, jitter=0)
    breaker.trip()
    push(10)
    loop = iter(tarry.attempts(on=ConnectionError, breaker=breaker))
    next(loop)
    with pytest.raises(CircuitOpen):
        breaker.enter()
    with pytest.raises(TarryError, match="inside the loop"):
        next(loop)
    assert breaker.enter()


# Cut off


@pytest.mark.anyio
async def test_an_async_block_is_cut_off_when_it_takes_too_long(slept: list[float]) -> None:
    for run in (for_async_with, async_for_async_with):
        numbers: list[int] = []

        async def body(attempt: Any, numbers: list[int] = numbers) -> None:  # noqa: ANN401
            numbers.append(attempt.number)
            if attempt.number < 3:
                await anyio.sleep_forever()

        await run(tarry.attempts(STEADY.replace(attempt_timeout=0.02), on=ConnectionError), body)
        assert numbers == [1, 2, 3]
    assert slept == [1, 2, 1, 2]


@pytest.mark.anyio
async def test_the_last_cut_comes_out_of_the_block() -> None:
    async def body(_: Any) -> None:  # noqa: ANN401
        await anyio.sleep_forever()

    for run in (for_async_with, async_for_async_with):
        with pytest.raises(AttemptTimedOut) as caught:
            await run(tarry.attempts(QUICK.replace(attempt_timeout=0.01), on=ConnectionError), body)
        assert "gave up after 3 attempts" in caught.value.__notes__[0]
        assert current.get() is None


@pytest.mark.anyio
async def test_errors_pass_through_the_limit_of_a_block_as_they_are() -> None:
    limited = QUICK.replace(attempt_timeout=30)
    for error in (KeyError("x"), TimeoutError("mine"), StopAsyncIteration(), RuntimeError("y")):

        async def body(_: Any, error: Exception = error) -> None:  # noqa: ANN401
            raise error

        with pytest.raises(type(error)) as caught:
            await for_async_with(tarry.attempts(limited, on=ConnectionError), body)
        assert caught.value is error


@pytest.mark.anyio
async def test_a_block_with_a_limit_can_be_cancelled() -> None:
    async def body(_: Any) -> None:  # noqa: ANN401
        await anyio.sleep_forever()

    with anyio.move_on_after(0.02) as scope:
        await for_async_with(tarry.attempts(QUICK.replace(attempt_timeout=30), on=Exception), body)
    assert scope.cancelled_caught
    assert current.get() is None


def test_a_plain_block_cannot_be_cut_off_and_says_so() -> None:
    with pytest.raises(PolicyError) as caught:  # noqa: PT012
        for attempt in tarry.attempts(QUICK.replace(attempt_timeout=5), on=ConnectionError):
            with attempt:
                raise AssertionError
    assert (caught.value.field, caught.value.value) == ("attempt_timeout", 5.0)
    assert caught.value.wanted == (
        "None for a plain `with`, which cannot be cut off; use `async with`"
    )
    assert current.get() is None


def test_a_limit_that_cannot_be_set_leaves_no_scope_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_library() -> None:
        raise TarryError("nothing to wait with")

    monkeypatch.setattr("tarry.call.aio.async_library", no_library)

    async def main() -> None:
        async def body(_: Any) -> None:  # noqa: ANN401
            raise AssertionError

        with pytest.raises(TarryError, match="nothing to wait with"):
            await for_async_with(
                tarry.attempts(QUICK.replace(attempt_timeout=5), on=ConnectionError), body
            )
        assert current.get() is None

    asyncio.run(main())


# Contexts that are not ours


@coroutine
def suspension() -> Any:  # noqa: ANN401  a coroutine that comes back when it is sent on
    yield "suspended"


def test_a_block_that_is_thrown_away_elsewhere_takes_no_scope_away() -> None:
    scopes: list[Scope | None] = []

    async def body(_: Any) -> None:  # noqa: ANN401
        scopes.append(current.get())
        await suspension()

    running = for_with(tarry.attempts(QUICK, on=ConnectionError), body)
    contextvars.copy_context().run(running.send, None)

    @tarry.retry(QUICK, on=ConnectionError)
    def cleans_up() -> None:
        mine = current.get()
        assert mine is not None
        running.close()
        assert current.get() is mine

    cleans_up()
    assert scopes[0] is not None
    assert scopes[0][ATTEMPT] == ENDED


def test_a_loop_that_is_left_before_its_block_gives_the_probe_back(
    push: Callable[[float], None],
) -> None:
    breaker = Breaker(open_for=10, lease=1_000)
    breaker.trip()
    push(10)
    for _ in tarry.attempts(on=OSError, breaker=breaker):
        break
    with breaker.calling():
        pass
    assert breaker.phase == "closed"


def test_a_plain_block_that_cannot_be_cut_off_gives_the_probe_back(
    push: Callable[[float], None],
) -> None:
    breaker = Breaker(open_for=10, lease=1_000)
    breaker.trip()
    push(10)
    loop = iter(tarry.attempts(Policy(attempt_timeout=1), on=OSError, breaker=breaker))
    with pytest.raises(PolicyError), next(loop):
        pass
    with breaker.calling():
        pass
    assert breaker.phase == "closed"


@pytest.mark.anyio
async def test_an_error_on_the_way_out_of_a_cut_leaves_no_scope_behind() -> None:
    async def stubborn() -> None:
        try:
            await anyio.sleep(60)
        finally:
            raise ValueError("not so fast")

    policy = Policy(attempt_timeout=0.01, attempts=1)
    with pytest.raises(BaseExceptionGroup):  # noqa: PT012  the loop is part of it
        async for attempt in tarry.attempts(policy, on=OSError):
            async with attempt, anyio.create_task_group() as group:
                group.start_soon(stubborn)
    assert current.get() is None
    assert attempt.over
