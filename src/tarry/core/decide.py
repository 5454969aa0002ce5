"""Decide what happens after an attempt: the one place where a retry is decided.

Nothing here sleeps, reads a clock or rolls a die: the caller hands in the time and the draw.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, assert_never

from tarry.core.outcome import (
    FINAL,
    Again,
    Decision,
    Done,
    Failure,
    GiveUp,
    Outcome,
    Pending,
    Success,
    Why,
)
from tarry.core.policy import Policy

Draw = Callable[[], float]
"""Gives a number in [0, 1), evenly spread."""

if TYPE_CHECKING:

    class Past(Protocol):
        """The past that `decide` reads: a `Progress`, or an effort at work."""

        @property
        def attempts(self) -> int:
            """Attempts made so far, the one just ended included."""

        @property
        def started_at(self) -> float:
            """When the first of them began."""

        @property
        def memory(self) -> float | None:
            """What the last `Again` gave for the jitter to remember."""

        @property
        def deadline_at(self) -> float:
            """An end inherited from outside."""


def decide(
    policy: Policy, progress: "Past", outcome: Outcome, *, now: float, draw: Draw
) -> Decision:
    """Return what follows an attempt that ended `now` with this outcome.

    >>> from tarry.core.backoff import Exponential
    >>> from tarry.core.jitter import Full
    >>> from tarry.core.progress import Progress
    >>> policy = Policy(backoff=Exponential(base=1), jitter=Full())
    >>> decide(policy, Progress(attempts=1), Failure(), now=0.2, draw=lambda: 0.5)
    Again(delay=0.5, memory=None)
    """
    match outcome:
        case Failure():
            asked = None if outcome.retry_after is None else _asked(policy, outcome.retry_after)
            if outcome.kind in FINAL:
                return GiveUp(Why.NOT_RETRIED, asked)
            if not outcome.repeatable:
                return GiveUp(Why.NOT_REPEATABLE, asked)
            return _next_attempt(policy, progress, asked, now, draw)
        case Pending():
            return _next_attempt(policy, progress, None, now, draw)
        case Success():
            return Done()
        case _:
            assert_never(outcome)


def _next_attempt(
    policy: Policy, progress: "Past", asked: float | None, now: float, draw: Draw
) -> Decision:
    """Return another attempt, or `GiveUp` if a limit forbids it."""
    attempts = progress.attempts
    if policy.attempts is not None and attempts >= policy.attempts:
        return GiveUp(Why.ATTEMPTS, asked)
    left = progress.deadline_at - now
    if policy.within is not None:
        own = progress.started_at + policy.within - now
        left = own if own < left else left  # noqa: FURB136  min() takes longer than all of this
    if asked is not None:
        return _as_asked(policy, progress, asked, left, draw())
    wait, memory = policy.jitter.wait(policy.backoff, attempts, progress.memory, draw())
    return Again(wait, memory) if wait <= left else GiveUp(Why.WITHIN)


def _as_asked(policy: Policy, progress: "Past", asked: float, left: float, draw: float) -> Decision:
    """Wait as long as the server asked, and a little by chance, so that not all come back at once.

    The jitter's memory stays as it is: the wait was not the jitter's own.
    """
    if asked > policy.retry_after.at_most:
        return GiveUp(Why.RETRY_AFTER, asked)
    if asked > left:
        return GiveUp(Why.WITHIN, asked)
    spread = max(policy.backoff.curve(progress.attempts), asked / 2)
    return Again(asked + draw * min(spread, left - asked), progress.memory)


def _asked(policy: Policy, asked: float) -> float | None:
    """Return the wait the server asked for, if the policy honours it; a negative one means now."""
    if not policy.retry_after.honour or math.isnan(asked):
        return None
    return max(0.0, asked)
