"""Write events to the standard library's logging."""

import logging
from typing import assert_never

from tarry.observe.events import Attempted, BreakerMoved, Event, GivenUp, Retrying, Succeeded
from tarry.observe.facts import Errors, Facts, checked, facts_of, level_of, word_of

Line = tuple[str, tuple[object, ...]]
"""A format and its arguments: the text is formatted only if the record is written."""

LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


class Logger:
    """A listener that logs: ``tarry.observe.listen(Logger())``.

    A retry and a phase change of a breaker are warnings, giving up is an error, and success after
    retries is info. Attempts, first-time successes and polls are debug. Records also carry the
    facts as attributes (`tarry_event`, `tarry_call`, `tarry_attempt`, ...). With `errors="type"`,
    the messages of exceptions, which may hold secrets, are left out.
    """

    __slots__ = ("_errors", "_logger")

    def __init__(
        self, logger: logging.Logger | str = "tarry", *, errors: Errors = "message"
    ) -> None:
        self._logger = logging.getLogger(logger) if isinstance(logger, str) else logger
        self._errors = checked(errors)

    def __call__(self, event: Event) -> None:
        """Log the event."""
        level = LEVELS[level_of(event)]
        if not self._logger.isEnabledFor(level):
            return
        facts = facts_of(event, self._errors)
        text, values = _line(event, _outcome_text(facts))
        extra = {f"tarry_{key}": value for key, value in facts.items()}
        extra["tarry_event"] = word_of(event)
        self._logger.log(level, text, *values, extra=extra)


def _line(event: Event, ending: str) -> Line:
    match event:
        case Attempted():
            return "%s: attempt %d took %.3g s: %s", (event.name, event.attempt, event.took, ending)
        case Retrying():
            text = "%s: attempt %d: %s; trying again in %.3g s"
            return text, (event.name, event.attempt, ending, event.delay)
        case GivenUp():
            text = "%s: gave up after %s in %.3g s: %s%s"
            last = f" ({ending})" if ending else ""
            return text, (event.name, _tries(event.attempts), event.elapsed, event.why.value, last)
        case Succeeded():
            text = "%s: succeeded after %s in %.3g s"
            return text, (event.name, _tries(event.attempts), event.elapsed)
        case BreakerMoved():
            return "breaker %s: %s -> %s", (event.name, event.before.value, event.after.value)
        case _:
            assert_never(event)


def _outcome_text(facts: Facts) -> str:
    """Describe how an attempt ended: its error, or else the word for its outcome."""
    parts = (facts.get("error"), facts.get("error_message"))
    return ": ".join(str(part) for part in parts if part) or str(facts.get("outcome", ""))


def _tries(attempts: int) -> str:
    return "1 attempt" if attempts == 1 else f"{attempts} attempts"
