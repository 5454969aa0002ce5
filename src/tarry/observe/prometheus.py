"""Count events for Prometheus."""

from threading import Lock
from typing import assert_never
from weakref import WeakKeyDictionary

from tarry.observe.events import Attempted, BreakerMoved, Event, GivenUp, Retrying, Succeeded
from tarry.observe.facts import OPENNESS, outcome_word, reason_word

try:
    from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram
except ModuleNotFoundError:
    message = "tarry.observe.prometheus needs prometheus-client: pip install 'tarry[prometheus]'"
    raise ModuleNotFoundError(message, name="prometheus_client") from None

WAITS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0)


class Series:
    """The time series of one registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.attempts = Counter(
            "tarry_attempts_total",
            "Attempts made, by how they ended.",
            ("name", "outcome"),
            registry=registry,
        )
        self.retries = Counter(
            "tarry_retries_total", "Retries decided on.", ("name",), registry=registry
        )
        self.gave_up = Counter(
            "tarry_gave_up_total",
            "Calls given up, by the reason.",
            ("name", "reason"),
            registry=registry,
        )
        self.calls = Counter(
            "tarry_calls_total",
            "Calls that ended, by their result: succeeded or gave_up.",
            ("name", "result"),
            registry=registry,
        )
        self.waits = Histogram(
            "tarry_wait_seconds",
            "Waits before a retry.",
            ("name",),
            buckets=WAITS,
            registry=registry,
        )
        self.breaker_open = Gauge(
            "tarry_breaker_open",
            "Whether a breaker is open: 1, half-open: 0.5, closed: 0.",
            ("name",),
            registry=registry,
            multiprocess_mode="livemax",  # of several processes, show the worst
        )


_registered: "WeakKeyDictionary[CollectorRegistry, Series]" = WeakKeyDictionary()
_registering = Lock()


class Metrics:
    """A listener that counts: ``tarry.observe.listen(Metrics())``.

    Any number of them may share a registry, where the time series are registered once. But if two
    of them listen to the same event, it is counted twice.
    """

    __slots__ = ("_series",)

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        with _registering:
            if registry not in _registered:
                _registered[registry] = Series(registry)
            self._series = _registered[registry]

    def __call__(self, event: Event) -> None:
        """Count the event."""
        series, name = self._series, event.name
        match event:
            case Attempted():
                series.attempts.labels(name, outcome_word(event.outcome)).inc()
            case Retrying():
                series.retries.labels(name).inc()
                series.waits.labels(name).observe(event.delay)
            case GivenUp():
                series.gave_up.labels(name, reason_word(event.why)).inc()
                series.calls.labels(name, "gave_up").inc()
            case Succeeded():
                series.calls.labels(name, "succeeded").inc()
            case BreakerMoved():
                series.breaker_open.labels(name).set(OPENNESS[event.after])
            case _:
                assert_never(event)
