"""Report events to OpenTelemetry: metrics, and events on the current span.

Only the API is used: without an SDK, nothing is recorded and nothing breaks.
"""

from typing import assert_never

from tarry.observe.events import Attempted, BreakerMoved, Event, GivenUp, Retrying, Succeeded
from tarry.observe.facts import (
    OPENNESS,
    Errors,
    checked,
    facts_of,
    outcome_word,
    reason_word,
    word_of,
)

try:
    from opentelemetry.metrics import MeterProvider, get_meter
    from opentelemetry.trace import get_current_span
except ModuleNotFoundError:
    message = "tarry.observe.otel needs opentelemetry-api: pip install 'tarry[otel]'"
    raise ModuleNotFoundError(message, name="opentelemetry") from None

WELL_KNOWN = {"error": "exception.type", "error_message": "exception.message"}
"""Facts that have a standard name in OpenTelemetry; the others get a name with tarry's prefix."""


class Metrics:
    """A listener that counts: ``tarry.observe.listen(Metrics())``.

    The instruments are those of `prometheus.Metrics`, named by OpenTelemetry's conventions. Without
    a provider, the global one is used, even if it is set later.
    """

    __slots__ = ("_attempts", "_breaker_open", "_calls", "_gave_up", "_retries", "_waits")

    def __init__(self, meter_provider: MeterProvider | None = None) -> None:
        meter = get_meter("tarry", meter_provider=meter_provider)
        self._attempts = meter.create_counter(
            "tarry.attempts", "{attempt}", "Attempts made, by how they ended."
        )
        self._retries = meter.create_counter("tarry.retries", "{retry}", "Retries decided on.")
        self._gave_up = meter.create_counter(
            "tarry.gave_up", "{call}", "Calls given up, by the reason."
        )
        self._calls = meter.create_counter(
            "tarry.calls", "{call}", "Calls that ended, by their result: succeeded or gave_up."
        )
        self._waits = meter.create_histogram("tarry.wait", "s", "Waits before a retry.")
        self._breaker_open = meter.create_gauge(
            "tarry.breaker.open", "1", "Whether a breaker is open: 1, half-open: 0.5, closed: 0."
        )

    def __call__(self, event: Event) -> None:
        """Count the event."""
        named = {"tarry.call": event.name}
        match event:
            case Attempted():
                self._attempts.add(1, {**named, "tarry.outcome": outcome_word(event.outcome)})
            case Retrying():
                self._retries.add(1, named)
                self._waits.record(event.delay, named)
            case GivenUp():
                self._gave_up.add(1, {**named, "tarry.reason": reason_word(event.why)})
                self._calls.add(1, {**named, "tarry.result": "gave_up"})
            case Succeeded():
                self._calls.add(1, {**named, "tarry.result": "succeeded"})
            case BreakerMoved():
                self._breaker_open.set(OPENNESS[event.after], {"tarry.breaker": event.name})
            case _:
                assert_never(event)


class SpanEvents:
    """A listener that adds events to the current span: ``tarry.observe.listen(SpanEvents())``.

    The events are `tarry.retrying`, `tarry.gave_up` and `tarry.breaker_moved`. With
    `errors="type"`, the messages of exceptions, which may hold secrets, are left out.
    """

    __slots__ = ("_errors",)

    def __init__(self, *, errors: Errors = "message") -> None:
        self._errors = checked(errors)

    def __call__(self, event: Event) -> None:
        """Add the event to the current span, if it is recording."""
        if isinstance(event, (Attempted, Succeeded)):
            return
        span = get_current_span()
        if not span.is_recording():
            return
        facts = facts_of(event, self._errors)
        attributes = {WELL_KNOWN.get(key, f"tarry.{key}"): fact for key, fact in facts.items()}
        span.add_event(f"tarry.{word_of(event)}", attributes)
