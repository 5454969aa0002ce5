"""Checks of settings: each returns the value as stored, or raises with the allowed values."""

import math
from collections.abc import Callable, Iterable
from types import UnionType
from typing import Protocol, TypeVar

from tarry.errors import PolicyError

Part = TypeVar("Part")

LONGEST_DURATION = 1e9
"""The longest duration, about 31 years: sleeping and adding up stay far from their limits."""


class Span(Protocol):
    """A duration that knows its seconds, such as `datetime.timedelta`."""

    def total_seconds(self) -> float:
        """The duration in seconds."""


Seconds = float | Span


def number(field: str, value: object, wanted: str, fits: Callable[[float], bool]) -> float:
    """A finite number for which `fits` holds. A bool is not a number here."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise PolicyError(field, value, wanted)
    try:
        converted = float(value)
    except OverflowError:  # an int past the largest float
        converted = math.inf
    if not (math.isfinite(converted) and fits(converted)):
        raise PolicyError(field, value, wanted)
    return converted


def seconds(
    field: str,
    value: object,
    wanted: str = f"a number of seconds from 0 to {LONGEST_DURATION:,.0f}",
) -> float:
    """A duration: seconds or a timedelta, not negative and not above `LONGEST_DURATION`."""
    total = getattr(value, "total_seconds", None)
    amount = total() if callable(total) else value
    return number(field, amount, wanted, lambda span: 0 <= span <= LONGEST_DURATION)


def positive_seconds(field: str, value: object) -> float:
    """A duration above zero."""
    wanted = f"a number of seconds above 0, up to {LONGEST_DURATION:,.0f}"
    amount = seconds(field, value, wanted)
    if amount == 0:
        raise PolicyError(field, value, wanted)
    return amount


def share(field: str, value: object) -> float:
    """A share of a whole: 0 to 1."""
    return number(field, value, "a number from 0 to 1", lambda part: 0 <= part <= 1)


def count(field: str, value: object, *, least: int = 1) -> int:
    """A whole number, `least` or more."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise PolicyError(field, value, f"a whole number, {least} or more")
    return value


def flag(field: str, value: object) -> bool:
    """True or false, and no other value that is only truthy or falsy."""
    if not isinstance(value, bool):
        raise PolicyError(field, value, "true or false")
    return value


def word(field: str, value: object) -> str:
    """A text that can be encoded: half a surrogate pair cannot."""
    if not isinstance(value, str) or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise PolicyError(field, value, "a string of valid Unicode")
    return value


def statuses(field: str, values: object) -> frozenset[int]:
    """A set of HTTP statuses."""
    wanted = "HTTP statuses from 100 to 599"
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise PolicyError(field, values, f"a list of {wanted}")
    codes: set[int] = set()
    for index, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int) or not 100 <= value <= 599:  # noqa: PLR2004  the range of HTTP statuses
            raise PolicyError(f"{field}[{index}]", value, wanted)
        codes.add(int(value))  # a member of http.HTTPStatus becomes a plain int
    return frozenset(codes)


def one_of(field: str, value: Part, kinds: type | UnionType) -> Part:
    """A value of one of the `kinds`, a class or a union of classes."""
    if not isinstance(value, kinds):
        names: list[str] = [kind.__name__ for kind in getattr(kinds, "__args__", [kinds])]
        raise PolicyError(field, value, f"one of {', '.join(names)}" if names[1:] else names[0])
    return value
