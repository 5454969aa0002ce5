import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Tracer

import tarry
from tarry.observe import Retrying, Succeeded, listen
from tarry.observe.otel import Metrics, SpanEvents

Reading = tuple[str, dict[str, object], float]


@pytest.fixture
def reader() -> InMemoryMetricReader:
    return InMemoryMetricReader()


@pytest.fixture
def provider(reader: InMemoryMetricReader) -> Iterator[MeterProvider]:
    provider = MeterProvider([reader])
    yield provider
    provider.shutdown()


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def tracer(exporter: InMemorySpanExporter) -> Iterator[Tracer]:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield provider.get_tracer("tests")
    provider.shutdown()


def readings(reader: InMemoryMetricReader) -> list[Reading]:
    """What was measured: name, attributes and value; of waits their sum."""
    data = reader.get_metrics_data()
    assert data is not None
    [scope] = data.resource_metrics[0].scope_metrics
    assert scope.scope.name == "tarry"
    return [
        (
            f"{metric.name} {metric.unit}",
            dict(point.attributes or {}),
            point.sum if isinstance(point, HistogramDataPoint) else point.value,
        )
        for metric in scope.metrics
        for point in cast("list[Any]", metric.data.data_points)
    ]


def test_a_story_in_numbers(
    story: Callable[[], None], provider: MeterProvider, reader: InMemoryMetricReader
) -> None:
    listen(Metrics(provider))
    story()
    fetch, charge = {"tarry.call": "fetch"}, {"tarry.call": "charge"}
    assert readings(reader) == [
        ("tarry.attempts {attempt}", {**fetch, "tarry.outcome": "transient"}, 2),
        ("tarry.attempts {attempt}", {**fetch, "tarry.outcome": "success"}, 1),
        ("tarry.attempts {attempt}", {**charge, "tarry.outcome": "transient"}, 2),
        ("tarry.retries {retry}", fetch, 2),
        ("tarry.retries {retry}", charge, 1),
        ("tarry.wait s", fetch, 4.0),
        ("tarry.wait s", charge, 2.0),
        ("tarry.calls {call}", {**fetch, "tarry.result": "succeeded"}, 1),
        ("tarry.calls {call}", {**charge, "tarry.result": "gave_up"}, 1),
        ("tarry.breaker.open 1", {"tarry.breaker": "bank"}, 1.0),
        ("tarry.gave_up {call}", {**charge, "tarry.reason": "attempts"}, 1),
    ]


def test_two_on_one_provider_share_its_instruments(
    provider: MeterProvider, reader: InMemoryMetricReader, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        for count in (Metrics(provider), Metrics(provider)):
            count(Succeeded("f", 1, 0.3))
    assert not caplog.records
    named = {"tarry.call": "f", "tarry.result": "succeeded"}
    assert readings(reader) == [("tarry.calls {call}", named, 2)]


def test_a_story_on_the_span_at_work(
    story: Callable[[], None], tracer: Tracer, exporter: InMemorySpanExporter
) -> None:
    listen(SpanEvents())
    with tracer.start_as_current_span("checkout"):
        story()
    [span] = exporter.get_finished_spans()
    error = {"exception.type": "ConnectionError", "exception.message": "refused 7"}
    assert [(event.name, dict(event.attributes or {})) for event in span.events][2:] == [
        (
            "tarry.retrying",
            {
                "tarry.call": "charge",
                "tarry.attempt": 1,
                "tarry.delay": 2.0,
                "tarry.outcome": "transient",
                **error,
            },
        ),
        (
            "tarry.breaker_moved",
            {
                "tarry.breaker": "bank",
                "tarry.before": "closed",
                "tarry.after": "open",
                "tarry.retry_at": 38.5,
            },
        ),
        (
            "tarry.gave_up",
            {
                "tarry.call": "charge",
                "tarry.attempts": 2,
                "tarry.elapsed": 3.0,
                "tarry.reason": "attempts",
                **error,
            },
        ),
    ]
    assert [event.name for event in span.events][:2] == ["tarry.retrying", "tarry.retrying"]
    assert "hunter2" not in str([event.attributes for event in span.events])


def test_messages_of_exceptions_can_be_left_out(
    tracer: Tracer, exporter: InMemorySpanExporter
) -> None:
    with tracer.start_as_current_span("checkout"):
        SpanEvents(errors="type")(Retrying("f", 1, 0.3, tarry.Failure(), OSError("secret")))
    [event] = exporter.get_finished_spans()[0].events
    assert event.attributes is not None
    assert event.attributes["exception.type"] == "OSError"
    assert "secret" not in str(event.attributes)


def test_outside_of_any_span_nothing_is_told() -> None:
    class Unspeakable(Exception):  # noqa: N818  a name like any other
        def __str__(self) -> str:
            raise AssertionError

    SpanEvents()(Retrying("f", 1, 0.3, tarry.Failure(), Unspeakable()))


def test_what_to_tell_of_errors_is_checked() -> None:
    wrong: Any = "everything"
    with pytest.raises(tarry.PolicyError):
        SpanEvents(errors=wrong)


WITHOUT_AN_SDK = """
import sys
import tarry
from tarry.observe import listen, otel

listen(otel.Metrics())
listen(otel.SpanEvents())
breaker = tarry.Breaker(failures=1)
left = iter([OSError("once"), None])

@tarry.retry(tarry.Policy(backoff=tarry.Fixed(0)), on=OSError)
def call():
    if error := next(left):
        raise error

call()
breaker.trip()
assert not [name for name in sys.modules if name.startswith("opentelemetry.sdk")]
"""


def test_it_works_with_no_sdk_set_up() -> None:
    bare = [sys.executable, "-W", "error", "-c", WITHOUT_AN_SDK]
    run = subprocess.run(bare, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
