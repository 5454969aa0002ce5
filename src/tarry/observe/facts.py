"""What there is to tell of an event: how grave it is, and its facts as plain data.

Every listener builds on this, so that a log line and a span say the same of the same thing.
"""

from typing import Literal, assert_never

from tarry.core.breaker import Phase
from tarry.core.outcome import Failure, Outcome, Pending, Success, Why
from tarry.errors import PolicyError
from tarry.observe.events import Attempted, BreakerMoved, Event, GivenUp, Retrying, Succeeded

Level = Literal["debug", "info", "warning", "error"]
Errors = Literal["type", "message"]
"""What to tell of an exception: only its type, or its message too, which may hold secrets."""
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
    """What happened, in one word."""
    return WORDS[type(event)]


def level_of(event: Event) -> Level:
    """How grave it is.

    A poll that finds nothing yet is no trouble. Nor is an end before anything was tried: an error
    that is never retried goes to the caller as if tarry were not there, and while a breaker is
    open, that it opened is the news. A call nested in another retry leaves the word to that one.
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
    """All there is to know of the event, but never what the function was called with."""
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
    """How an attempt ended, in one word: success, pending, or the kind of failure."""
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
    """Why retrying ended, in one word."""
    return why.name.lower()


def checked(errors: Errors) -> Errors:
    """The setting, if it is one there is."""
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
