"""What listeners report of an event: its level, and its facts as plain data.

Every listener uses this, so that a log line and a span say the same about an event.
"""

from typing import Literal, assert_never

from tarry.core.breaker import Phase
from tarry.core.outcome import Failure, Outcome, Pending, Success, Why
from tarry.errors import PolicyError
from tarry.observe.events import Attempted, BreakerMoved, Event, GivenUp, Retrying, Succeeded

Level = Literal["debug", "info", "warning", "error"]
Errors = Literal["type", "message"]
"""What to report of an exception: only its type, or also its message, which may hold secrets."""
Facts = dict[str, str | int | float]

WORDS: dict[type[Event], str] = {
    Attempted: "attempted",
    Retrying: "retrying",
    GivenUp: "gave_up",
    Succeeded: "succeeded",
    BreakerMoved: "breaker_moved",
}
OPENNESS = {Phase.CLOSED: 0.0, Phase.HALF_OPEN: 0.5, Phase.OPEN: 1.0}
"""A breaker's phase as a number, for gauges."""


def word_of(event: Event) -> str:
    """Return one word for what happened."""
    return WORDS[type(event)]


def level_of(event: Event) -> Level:
    """Return how serious the event is.

    A poll that finds nothing yet is not a problem. Nor is an end before any attempt: an error that
    is never retried reaches the caller as if tarry were not there, and while a breaker is open, the
    news is that it opened. A call nested in another retry leaves the report to the outer one.
    """
    match event:
        case Attempted():
            return "debug"
        case Retrying():
            return "debug" if isinstance(event.outcome, Pending) else "warning"
        case GivenUp():
            at_once = event.why is Why.NOT_RETRIED and event.attempts == 1
            quiet = at_once or event.attempts == 0 or event.why is Why.NESTED
            return "debug" if quiet else "error"
        case Succeeded():
            return "info" if event.attempts > 1 else "debug"
        case BreakerMoved():
            return "warning"
        case _:
            assert_never(event)


def facts_of(event: Event, errors: Errors) -> Facts:
    """Return all facts of the event, but never the arguments of the call."""
    match event:
        case Attempted():
            facts: Facts = {"call": event.name, "attempt": event.attempt, "took": event.took}
            facts["outcome"] = outcome_word(event.outcome)
        case Retrying():
            facts = {"call": event.name, "attempt": event.attempt, "delay": event.delay}
            facts["outcome"] = outcome_word(event.outcome)
        case GivenUp():
            facts = {"call": event.name, "attempts": event.attempts, "elapsed": event.elapsed}
            facts["reason"] = reason_word(event.why)
            if event.retry_after is not None:
                facts["retry_after"] = event.retry_after
        case Succeeded():
            return {"call": event.name, "attempts": event.attempts, "elapsed": event.elapsed}
        case BreakerMoved():
            return _move_of(event)
        case _:
            assert_never(event)
    return facts if event.error is None else {**facts, **_error_facts(event.error, errors)}


def outcome_word(outcome: Outcome) -> str:
    """Return one word for how an attempt ended: success, pending, or the kind of failure."""
    match outcome:
        case Success():
            return "success"
        case Pending():
            return "pending"
        case Failure():
            return outcome.kind.value
        case _:
            assert_never(outcome)


def reason_word(why: Why) -> str:
    """Return one word for why retrying ended."""
    return why.name.lower()


def checked(errors: Errors) -> Errors:
    """Return the setting; raise PolicyError if it is not a valid one."""
    if errors not in {"type", "message"}:
        raise PolicyError("errors", errors, "'type' or 'message'")
    return errors


def _move_of(event: BreakerMoved) -> Facts:
    facts: Facts = {
        "breaker": event.name,
        "before": event.before.value,
        "after": event.after.value,
    }
    retry_at = event.retry_at if event.after is Phase.OPEN else None
    return facts if retry_at is None else {**facts, "retry_at": retry_at}


def _error_facts(error: BaseException, errors: Errors) -> Facts:
    kind = type(error)
    name = kind.__qualname__
    facts: Facts = {"error": name if kind.__module__ == "builtins" else f"{kind.__module__}.{name}"}
    return {**facts, "error_message": str(error)} if errors == "message" else facts
