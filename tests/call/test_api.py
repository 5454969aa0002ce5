import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

import tarry
from tarry import (
    Breaker,
    CircuitOpen,
    DecorationError,
    Failure,
    Fixed,
    GaveUp,
    NoJitter,
    Policy,
    PolicyError,
    Quota,
    Ratio,
)
from tarry.call.api import DEFAULT
from tarry.call.http.aiohttp import retry_middleware
from tarry.call.http.httpx import RetryTransport
from tarry.call.http.requests import RetryAdapter
from tarry.call.plan import plan_of
from tarry.observe import Event, GivenUp, Retrying, Succeeded

STEADY = Policy(backoff=Fixed(1), jitter=NoJitter(), attempts=3)


def test_the_default_policy_is_the_one_without_settings() -> None:
    assert DEFAULT == Policy() == tarry.Policy()


def test_by_default_there_are_five_attempts(slept: list[float]) -> None:
    tries: list[int] = []

    @tarry.retry(on=ConnectionError)
    def fails() -> None:
        tries.append(1)
        raise ConnectionError

    with pytest.raises(ConnectionError):
        fails()
    assert len(tries) == 5
    assert len(slept) == 4


def test_without_brackets_it_is_not_a_decorator_and_says_so() -> None:
    def function() -> None: ...

    decorate: Any = tarry.retry
    with pytest.raises(DecorationError, match=r"unless named: write @tarry\.retry\(on"):
        decorate(function)
    with pytest.raises(DecorationError, match=r"exceptions go in on=: write retry\(on=OSError\)"):
        decorate(OSError)
    with pytest.raises(DecorationError, match="nothing is retried unless named"):
        tarry.retry(Policy())
    with pytest.raises(DecorationError, match="nothing is retried unless named"):
        tarry.attempts()


def test_everything_but_the_policy_is_named() -> None:
    front_doors: list[Any] = [tarry.retry, tarry.attempts]
    for front_door in front_doors:
        with pytest.raises(TypeError):
            front_door(Policy(), ConnectionError)


def test_one_decorator_may_be_put_on_many_functions(events: list[Event]) -> None:
    """Elsewhere each further function adds a line to every log of all of them."""
    decorate = tarry.retry(STEADY.replace(backoff=Fixed(0)), on=ConnectionError)

    def function(name: str) -> Any:  # noqa: ANN401
        def fails() -> None:
            raise ConnectionError(name)

        return decorate(fails)

    for fails in [function("one"), function("two"), function("three")]:
        with pytest.raises(ConnectionError):
            fails()
        assert sum(isinstance(event, Retrying) for event in events) == 2
        assert sum(isinstance(event, GivenUp) for event in events) == 1
        events.clear()


@pytest.mark.usefixtures("still_time")
def test_every_argument_reaches_the_function() -> None:
    quota, breaker = Quota(), Breaker(failures=3)
    heard: list[Event] = []
    answers = [None, "bad", "pending", "done"]

    @tarry.retry(
        STEADY.replace(attempts=4),
        on=ConnectionError,
        until=lambda answer: answer == "done",
        on_result=lambda answer: answer == "bad",
        budget=quota,
        breaker=breaker,
        hooks=heard.append,
        name="job",
        scoped=False,
    )
    def poll() -> str:
        assert tarry.remaining() is None
        answer = answers.pop(0)
        if answer is None:
            raise ConnectionError
        return answer

    assert poll() == "done"
    assert quota.tokens == 500 - 2 * 5 + 5  # two retries paid, the last of them refunded
    assert {event.name for event in heard} == {"job"}
    assert [type(event).__name__ for event in heard] == [
        "Attempted",
        "Retrying",
        "Attempted",
        "Retrying",
        "Attempted",
        "Retrying",
        "Attempted",
        "Succeeded",
    ]
    assert heard[-1] == Succeeded("job", 4, 3.0)


@pytest.mark.usefixtures("still_time")
def test_every_argument_reaches_the_block() -> None:
    ratio, breaker = Ratio(bootstrap=1), Breaker(failures=9)
    heard: list[Event] = []
    answers, seen = ["bad", "pending", "done"], list[str]()
    for attempt in tarry.attempts(
        STEADY,
        on=ConnectionError,
        until=lambda answer: answer == "done",
        on_result=lambda answer: answer == "bad",
        budget=ratio,
        breaker=breaker,
        hooks=[heard.append],
        name="job",
        scoped=False,
    ):
        with attempt:
            assert tarry.remaining() is None
            seen.append(attempt.result(answers.pop(0)))
    assert seen == ["bad", "pending", "done"]
    assert {event.name for event in heard} == {"job"}
    assert len(heard) == 6
    with pytest.raises(tarry.BudgetSpent):
        ratio.spend()


def test_a_block_is_called_a_block(events: list[Event]) -> None:
    for attempt in tarry.attempts(on=ConnectionError):
        with attempt:
            pass
    assert [event.name for event in events] == ["block", "block"]


def test_a_result_may_say_what_failure_it_is(slept: list[float]) -> None:
    answers = [Failure(retry_after=7), None, Failure()]

    @tarry.retry(Policy(backoff=Fixed(0), jitter=NoJitter()), on_result=lambda answer: answer)
    def ask() -> Failure | None:
        return answers.pop(0)

    assert ask() is None
    assert len(slept) == 1
    assert slept[0] >= 7


@pytest.mark.usefixtures("still_time")
def test_a_result_nobody_wants_ends_in_gave_up_with_the_facts() -> None:
    poll = tarry.retry(STEADY, until=bool)(lambda: 0)
    with pytest.raises(GaveUp) as caught:
        poll()
    error = caught.value
    assert (error.why, error.attempts, error.elapsed, error.last, error.retry_after) == (
        tarry.Why.ATTEMPTS,
        3,
        2.0,
        0,
        None,
    )
    assert str(error) == "gave up after 3 attempts in 2 s: all attempts are used up"


@pytest.mark.usefixtures("still_time")
def test_a_result_with_too_long_a_wait_hands_the_wait_on() -> None:
    ask = tarry.retry(STEADY, on_result=lambda _: Failure(retry_after=90))(lambda: "busy")
    with pytest.raises(GaveUp) as caught:
        ask()
    assert (caught.value.why, caught.value.retry_after, caught.value.last) == (
        tarry.Why.RETRY_AFTER,
        90,
        "busy",
    )


@pytest.mark.usefixtures("still_time")
def test_on_result_is_asked_before_until() -> None:
    asked: list[str] = []

    def bad(answer: int) -> bool:
        asked.append("on_result")
        return answer < 2

    def enough(answer: int) -> bool:
        asked.append("until")
        return answer == 3

    answers = iter([1, 2, 3])
    tarry.retry(STEADY, until=enough, on_result=bad)(lambda: next(answers))()
    assert asked == ["on_result", "on_result", "until", "on_result", "until"]


def test_a_breaker_is_shared_by_functions_and_blocks_alike() -> None:
    breaker = Breaker(failures=2, name="db")
    once = Policy(attempts=1)

    @tarry.retry(once, on=ConnectionError, breaker=breaker)
    def plain() -> None:
        raise ConnectionError

    @tarry.retry(once, on=ConnectionError, breaker=breaker)
    async def awaited() -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        plain()
    with pytest.raises(ConnectionError):
        asyncio.run(awaited())
    with pytest.raises(CircuitOpen, match="circuit 'db' is open; try again in"):
        plain()
    with pytest.raises(CircuitOpen):
        asyncio.run(awaited())
    with pytest.raises(CircuitOpen):
        iter(tarry.attempts(on=ConnectionError, breaker=breaker)).__next__()


def test_the_policy_must_be_one() -> None:
    wrong: Any = {"attempts": 3}
    with pytest.raises(PolicyError, match="'policy' is"):
        tarry.retry(wrong, on=ConnectionError)
    with pytest.raises(PolicyError, match="'policy' is"):
        tarry.attempts(wrong, on=ConnectionError)


@pytest.mark.parametrize(
    "declared",
    [
        tarry.retry,
        tarry.attempts,
        tarry.Policy.call,
        tarry.Policy.acall,
        RetryTransport,
        RetryAdapter,
        retry_middleware,
    ],
)
def test_a_keyword_is_declared_alike_wherever_users_call(declared: Callable[..., object]) -> None:
    everywhere = inspect.signature(plan_of).parameters
    shown = inspect.signature(declared).parameters
    keywords = shown.keys() & everywhere.keys() - {"policy"}
    assert keywords >= {"budget", "breaker", "hooks"}
    for name in keywords:
        assert shown[name] == everywhere[name]
