"""T13: masked errors.

Elsewhere the error that trips a breaker is replaced by one of the library, a setting that raises
TypeError means "for ever", and errors whose causes form a circle hang the library.
"""

import dataclasses
from collections.abc import Callable

import pytest

import tarry
from tarry import Breaker, CircuitOpen, Fixed, Policy, PolicyError, Quota

THREE = Policy(backoff=Fixed(0), attempts=3)


def raising(error: BaseException) -> Callable[[], None]:
    def function() -> None:
        raise error

    return function


def test_the_error_that_trips_a_breaker_comes_out_itself() -> None:
    for breaker in (Breaker(failures=1), tarry.retry(THREE, on=KeyError, breaker=Breaker(1))):
        error = KeyError("mine")
        with pytest.raises(KeyError) as caught:
            breaker(raising(error))()
        assert caught.value is error
        assert error.__cause__ is None
        assert error.__context__ is None
        with pytest.raises(CircuitOpen):
            breaker(raising(error))()


@pytest.mark.parametrize("wrong", [lambda: 3, TypeError, "3", 3.0, True, float("nan")])
def test_a_number_of_attempts_that_is_none_is_refused_at_birth(wrong: object) -> None:
    with pytest.raises(PolicyError, match="'attempts' is"):
        Policy(attempts=wrong)  # type: ignore[arg-type]


def test_causes_in_a_circle_hang_nobody() -> None:
    one, two = KeyError("one"), KeyError("two")
    one.__cause__, two.__cause__ = two, one
    one.__context__, two.__context__ = two, one
    with pytest.raises(KeyError) as caught:
        tarry.retry(THREE, on=KeyError)(raising(one))()
    assert caught.value is one
    one.__cause__ = two.__cause__ = one.__context__ = two.__context__ = None


@dataclasses.dataclass(frozen=True)
class FrozenError(Exception):
    code: int


class HostileError(Exception):
    """Raises at whatever is asked of it."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparing")

    def __hash__(self) -> int:
        raise RuntimeError("no hashing")

    def __bool__(self) -> bool:
        raise RuntimeError("no asking")

    def __str__(self) -> str:
        raise RuntimeError("no showing")

    def __setattr__(self, name: str, value: object) -> None:
        raise RuntimeError("no setting")


@pytest.mark.parametrize("kind", ["light", "guarded"])
@pytest.mark.parametrize("error", [FrozenError(5), HostileError()], ids=["frozen", "hostile"])
def test_however_odd_an_error_is_it_comes_out_itself(error: Exception, kind: str) -> None:
    budget, breaker = (None, None) if kind == "light" else (Quota(), Breaker(failures=99))
    try:
        tarry.retry(THREE, on=type(error), budget=budget, breaker=breaker)(raising(error))()
    except Exception as caught:  # noqa: BLE001  whatever comes out is looked at
        assert caught is error  # noqa: PT017  pytest.raises would ask things of it


def test_an_error_in_a_hook_does_not_take_the_place_of_the_users(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[object] = []
    monkeypatch.setattr("sys.excepthook", lambda *said: shown.append(said))

    def broken(_: object) -> None:
        raise ZeroDivisionError

    error = KeyError("mine")
    with pytest.raises(KeyError) as caught:
        tarry.retry(THREE, on=KeyError, hooks=broken)(raising(error))()
    assert caught.value is error
    assert len(shown) == 6  # and it does not go unnoticed


def test_an_error_in_a_predicate_comes_out_and_shows_what_it_was_asked_about() -> None:
    """It cannot be known whether to retry: a bug to be seen, beside the error and not instead."""

    def broken(_: Exception) -> bool:
        raise ZeroDivisionError

    error = KeyError("mine")
    with pytest.raises(ZeroDivisionError) as caught:
        tarry.retry(THREE, on=broken)(raising(error))()
    assert caught.value.__context__ is error
