"""The scope of a call that may be retried: what calls inside it can know of it.

A scope is a plain list, because one is made for every call: when its time is up, and the number of
the attempt at work, or one of the marks below for a scope in which nothing is retried.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from tarry.call.world import world
from tarry.core.outcome import Why

Scope = list[float]
DEADLINE, ATTEMPT = 0, 1
ENDED = 0  # the call is over; a task may outlive the call that started it
DISABLED = -1  # retrying is turned off
ONCE = -2  # only one attempt: it has a deadline, but does not keep inner calls from retrying

current: ContextVar[Scope | None] = ContextVar("tarry_scope", default=None)


def hindrance(outer: Scope | None, *, nested: bool) -> Why | None:
    """Return why a call inside `outer` may not retry; None if it may."""
    attempt = ENDED if outer is None else outer[ATTEMPT]
    if disabled.everywhere or attempt == DISABLED:
        return Why.DISABLED
    return Why.NESTED if attempt > 0 and not nested else None


def inside(outer: Scope | None, deadline: float, first: int, *, nested: bool) -> Scope:
    """Return the scope for a call that is made inside another one, or inside none."""
    if outer is None or outer[ATTEMPT] == ENDED:
        return [deadline, first]
    passed_on = first == ONCE or hindrance(outer, nested=nested) is not None
    return [min(deadline, outer[DEADLINE]), outer[ATTEMPT] if passed_on else first]


def inherited_deadline(outer: Scope | None) -> float:
    """Return when the time of the outer scope is up."""
    return math.inf if outer is None or outer[ATTEMPT] == ENDED else outer[DEADLINE]


def remaining() -> float | None:
    """Seconds left for the call at work, inherited from every retry around; None is no limit.

    Pass it to the function that you call: `client.get(url, timeout=tarry.remaining())`.
    """
    scope = current.get()
    return None if scope is None or scope[ATTEMPT] == ENDED else left_of(scope)


def left_of(scope: Scope) -> float | None:
    """Seconds left in a scope; None is no limit."""
    left = scope[DEADLINE] - world.clock()
    return None if left == math.inf else max(0.0, left)


def attempt_number() -> int:
    """The number of the attempt at work in the scope around; 0 outside of any."""
    scope = current.get()
    return 0 if scope is None else max(0, int(scope[ATTEMPT]))


@contextmanager
def called_by(attempt: int) -> Iterator[None]:
    """Run the block as part of a caller's attempt: calls inside do not retry."""
    scope: Scope = [inherited_deadline(current.get()), max(1, attempt)]
    try:
        with _as_current(scope):
            yield
    finally:
        scope[ATTEMPT] = ENDED


@contextmanager
def _as_current(scope: Scope) -> Iterator[None]:
    """Make a scope the current one inside the block."""
    token = current.set(scope)
    try:
        yield
    finally:
        with suppress(ValueError):  # the block ends in another context than it began in
            current.reset(token)


class Disabled:
    """Turns retrying off: every call makes one attempt. Guards and predicates still work.

    `with tarry.disabled():` for a block, `tarry.disabled.everywhere = True` for the process.
    """

    __slots__ = ("everywhere",)

    def __init__(self) -> None:
        self.everywhere = False

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Turn retrying off inside the block, and in the tasks it starts."""
        scope: Scope = [inherited_deadline(current.get()), DISABLED]
        try:
            with _as_current(scope):
                yield
        finally:
            scope[DEADLINE] = math.inf  # the call around may end before the tasks started here


disabled = Disabled()
