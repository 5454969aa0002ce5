"""What is called: functions that do next to nothing, so that the time is the library's own."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any

Function = Callable[..., Any]
Wrap = Callable[[Function], Function]

ERRORS = (ConnectionError, TimeoutError)
WITHIN = 45.0
CAP = 20.0
HOUR = 3600.0
FAILING_ATTEMPTS = 10


@dataclass(frozen=True)
class Setting:
    """What every contestant is told: how often to try, and the first wait of its backoff."""

    attempts: int = 5
    base: float = 0.1


USUAL = Setting()
NO_WAIT = Setting(attempts=FAILING_ATTEMPTS, base=0.0)
LONG_WAIT = Setting(base=CAP)


def succeed(value: int) -> int:
    """A call that works."""
    return value


async def asucceed(value: int) -> int:
    """A call that works."""
    return value


def fail(value: int) -> int:
    """A call that never works."""
    raise ConnectionError(value)


async def afail(value: int) -> int:
    """A call that never works."""
    raise ConnectionError(value)


def in_kind(
    function: Function, call: Function, acall: Callable[..., Awaitable[object]]
) -> Function:
    """The one of two wrappers that fits the function."""
    return acall if iscoroutinefunction(function) else call
