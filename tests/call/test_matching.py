import abc
import asyncio
import functools
from typing import Any

import pytest

from tarry import BudgetSpent, CircuitOpen, Failure, Kind, PolicyError, Refused, TarryError
from tarry.call.matching import PLAIN_FAILURE, On, judge_of, never

OPEN = CircuitOpen("db", 40.0, 10.0)
SPENT = BudgetSpent("quota")


class AbstractError(Exception, metaclass=abc.ABCMeta):
    """Its metaclass makes some take it for a predicate."""


class Virtual(metaclass=abc.ABCMeta):  # noqa: B024  others are registered with it
    pass


def is_odd(error: Exception) -> bool:
    return str(error) == "odd"


@pytest.mark.parametrize(
    ("on", "error", "failure"),
    [
        (OSError, OSError(), PLAIN_FAILURE),
        (OSError, ConnectionResetError(), PLAIN_FAILURE),
        (OSError, ValueError(), None),
        ((OSError, ValueError), ValueError(), PLAIN_FAILURE),
        ([OSError, ValueError], KeyError(), None),
        ({OSError}, OSError(), PLAIN_FAILURE),
        (frozenset({OSError}), OSError(), PLAIN_FAILURE),
        (AbstractError, AbstractError(), PLAIN_FAILURE),
        (AbstractError, OSError(), None),
        (is_odd, ValueError("odd"), PLAIN_FAILURE),
        (is_odd, ValueError("even"), None),
        ((OSError, is_odd), ValueError("odd"), PLAIN_FAILURE),
        ((OSError, is_odd), OSError("even"), PLAIN_FAILURE),
        ((OSError, is_odd), ValueError("even"), None),
        (ExceptionGroup, ExceptionGroup("some", [OSError()]), PLAIN_FAILURE),
        (OSError, ExceptionGroup("some", [OSError()]), None),
    ],
    ids=repr,
)
def test_an_exception_is_retried_if_it_is_named(
    on: On, error: Exception, failure: Failure | None
) -> None:
    assert judge_of(on)(error) is failure


def test_a_predicate_may_say_what_failure_it_is() -> None:
    throttled = Failure(Kind.THROTTLED, retry_after=3)
    assert judge_of(lambda _: throttled)(OSError()) is throttled
    assert judge_of((is_odd, lambda _: throttled))(ValueError("odd")) is PLAIN_FAILURE


def test_the_first_predicate_that_says_yes_is_heard_and_no_other() -> None:
    def explodes(_: Exception) -> bool:
        raise AssertionError

    assert judge_of((is_odd, explodes))(ValueError("odd")) is PLAIN_FAILURE
    assert judge_of((OSError, explodes))(OSError()) is PLAIN_FAILURE


@pytest.mark.parametrize("answer", [1, "yes", [0]])
def test_a_predicate_need_only_look_true(answer: Any) -> None:  # noqa: ANN401
    assert judge_of(lambda _: answer)(OSError()) is PLAIN_FAILURE


@pytest.mark.parametrize("answer", [None, 0, ""])
def test_a_predicate_need_only_look_false(answer: Any) -> None:  # noqa: ANN401
    assert judge_of(lambda _: answer)(OSError()) is None


def test_what_a_predicate_raises_comes_out() -> None:
    def broken(_: Exception) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        judge_of(broken)(OSError())


@pytest.mark.parametrize("on", [Exception, TarryError, (Exception, ValueError)])
@pytest.mark.parametrize("refusal", [OPEN, SPENT, Refused()])
def test_a_refusal_is_not_retried_by_who_did_not_ask_for_it(on: On, refusal: Exception) -> None:
    assert judge_of(on)(refusal) is None


@pytest.mark.parametrize(
    ("on", "refusal", "failure"),
    [
        (CircuitOpen, OPEN, Failure(retry_after=10.0)),
        (Refused, OPEN, Failure(retry_after=10.0)),
        (Refused, SPENT, Failure()),
        ((Exception, CircuitOpen), OPEN, Failure(retry_after=10.0)),
        ((Exception, BudgetSpent), OPEN, None),
        ((Exception, CircuitOpen), SPENT, None),
        (CircuitOpen, SPENT, None),
    ],
    ids=repr,
)
def test_who_asks_for_a_refusal_waits_as_long_as_it_says(
    on: On, refusal: Exception, failure: Failure | None
) -> None:
    assert judge_of(on)(refusal) == failure


def test_a_predicate_is_asked_about_refusals_too() -> None:
    judge = judge_of((Exception, lambda error: isinstance(error, CircuitOpen)))
    assert judge(OPEN) is PLAIN_FAILURE
    assert judge(SPENT) is None


async def is_async(_: Exception) -> bool:
    return True


class AsyncPredicate:
    async def __call__(self, _: Exception) -> bool:
        return True


@pytest.mark.parametrize(
    ("on", "value"),
    [
        ((), ()),
        ([], []),
        (BaseException, BaseException),
        (KeyboardInterrupt, KeyboardInterrupt),
        (asyncio.CancelledError, asyncio.CancelledError),
        (BaseExceptionGroup, BaseExceptionGroup),
        ((OSError, SystemExit), SystemExit),
        ((OSError, 5), 5),
        ("OSError", "OSError"),
        (int, int),
        (Virtual, Virtual),
        (OSError | ValueError, OSError | ValueError),
        (is_async, is_async),
    ],
    ids=repr,
)
def test_what_cannot_be_retried_is_refused(on: Any, value: object) -> None:  # noqa: ANN401
    with pytest.raises(PolicyError) as caught:
        judge_of(on)
    assert (caught.value.field, caught.value.value) == ("on", value)
    assert caught.value.wanted == (
        "a subclass of Exception, a function that takes the exception and returns True, False or "
        "a Failure, or a tuple of these (cancellation and exit are never retried)"
    )


@pytest.mark.parametrize("on", [AsyncPredicate(), functools.partial(is_async)])
def test_a_predicate_that_has_to_be_awaited_is_refused(on: Any) -> None:  # noqa: ANN401
    """What it returns is a coroutine, and a coroutine looks like a yes."""
    with pytest.raises(PolicyError, match="'on' is"):
        judge_of(on)


def test_a_predicate_may_be_any_object_to_call() -> None:
    class Predicate:
        def __call__(self, error: Exception) -> bool:
            return isinstance(error, OSError)

    assert judge_of(Predicate())(OSError()) is PLAIN_FAILURE


def test_without_on_no_exception_is_retried() -> None:
    assert never(OSError()) is None
