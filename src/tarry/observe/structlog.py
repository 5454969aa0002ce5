"""Write events to structlog, with the facts as keys and values."""

from tarry.observe.events import Event
from tarry.observe.facts import Errors, checked, facts_of, level_of, word_of

try:
    import structlog
except ModuleNotFoundError:
    message = "tarry.observe.structlog needs structlog: pip install 'tarry[structlog]'"
    raise ModuleNotFoundError(message, name="structlog") from None


class Logger:
    """A listener that logs: ``tarry.observe.listen(Logger())``.

    The events are `tarry.retrying`, `tarry.gave_up` and so on, at the levels of `log.Logger`.
    `logger` is any structlog logger, for example yours with values bound to it. With
    `errors="type"`, the messages of exceptions, which may hold secrets, are left out.
    """

    __slots__ = ("_errors", "_logger")

    def __init__(
        self,
        logger: object = None,
        *,
        errors: Errors = "message",
    ) -> None:
        self._logger = structlog.get_logger("tarry") if logger is None else logger
        self._errors = checked(errors)

    def __call__(self, event: Event) -> None:
        """Log the event."""
        # By name: not every structlog logger has a `log` that accepts the level as a number.
        write = getattr(self._logger, level_of(event))
        write(f"tarry.{word_of(event)}", **facts_of(event, self._errors))
