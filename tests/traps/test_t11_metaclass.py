"""T11: exclusion check by metaclass.

Elsewhere a class with an ABC metaclass is called as if it were a predicate; the instance is truthy,
and the breaker never opens: 10 failures, threshold 2, closed.
"""

import abc
from enum import EnumMeta

import pytest

import tarry
from tarry import Breaker, CircuitOpen, Fixed, Policy


class AbstractError(Exception, metaclass=abc.ABCMeta):
    """An error whose metaclass is not `type`."""


class SpecialError(AbstractError):
    pass


class Meta(type):
    """A metaclass whose classes look like anything but classes."""

    def __call__(cls, *args: object) -> object:
        return super().__call__(*args)

    def __bool__(cls) -> bool:
        return False


class OddError(Exception, metaclass=Meta):
    pass


@pytest.mark.parametrize("kind", [AbstractError, SpecialError, OddError])
def test_a_class_is_a_class_whatever_its_metaclass(kind: type[Exception]) -> None:
    made: list[int] = []

    @tarry.retry(Policy(backoff=Fixed(0), attempts=3), on=kind)
    def fails(error: Exception) -> None:
        made.append(1)
        raise error

    with pytest.raises(kind):
        fails(kind())
    assert len(made) == 3
    with pytest.raises(KeyError):
        fails(KeyError())
    assert len(made) == 4


@pytest.mark.parametrize("kind", [AbstractError, SpecialError, OddError])
def test_a_breaker_that_names_such_a_class_opens_on_it_and_on_nothing_else(
    kind: type[Exception],
) -> None:
    breaker = Breaker(failures=2, on=kind)

    @breaker
    def fails(error: Exception) -> None:
        raise error

    for _ in range(10):
        with pytest.raises(KeyError):
            fails(KeyError())
    assert breaker.phase == "closed"
    for number in range(10):
        with pytest.raises(kind if number < 2 else CircuitOpen):
            fails(kind())
    assert breaker.phase == "open"


def test_a_class_that_is_no_exception_is_refused_whatever_its_metaclass() -> None:
    class Virtual(metaclass=abc.ABCMeta):  # noqa: B024  it has nothing abstract
        pass

    Virtual.register(KeyError)
    for wrong in (Virtual, int, EnumMeta):
        with pytest.raises(tarry.PolicyError, match="'on' is"):
            tarry.retry(on=wrong)  # type: ignore[arg-type]
