import gc
import weakref
from collections.abc import Callable

import pytest
from prometheus_client import REGISTRY, CollectorRegistry, Counter, generate_latest

import tarry
from tarry.core.breaker import Phase
from tarry.observe import BreakerMoved, Retrying, listen
from tarry.observe.prometheus import Metrics


def shown(registry: CollectorRegistry) -> list[str]:
    """What Prometheus would read, but the times at which series were made and the buckets."""
    lines = generate_latest(registry).decode().splitlines()
    return [line for line in lines if "_created" not in line and "_bucket" not in line]


def test_a_story_in_numbers(story: Callable[[], None]) -> None:
    registry = CollectorRegistry()
    listen(Metrics(registry))
    story()
    assert shown(registry) == [
        "# HELP tarry_attempts_total Attempts made, by how they ended.",
        "# TYPE tarry_attempts_total counter",
        'tarry_attempts_total{name="fetch",outcome="transient"} 2.0',
        'tarry_attempts_total{name="fetch",outcome="success"} 1.0',
        'tarry_attempts_total{name="charge",outcome="transient"} 2.0',
        "# HELP tarry_retries_total Retries decided on.",
        "# TYPE tarry_retries_total counter",
        'tarry_retries_total{name="fetch"} 2.0',
        'tarry_retries_total{name="charge"} 1.0',
        "# HELP tarry_gave_up_total Calls given up, by the reason.",
        "# TYPE tarry_gave_up_total counter",
        'tarry_gave_up_total{name="charge",reason="attempts"} 1.0',
        "# HELP tarry_calls_total Calls that ended, by their result: succeeded or gave_up.",
        "# TYPE tarry_calls_total counter",
        'tarry_calls_total{name="fetch",result="succeeded"} 1.0',
        'tarry_calls_total{name="charge",result="gave_up"} 1.0',
        "# HELP tarry_wait_seconds Waits before a retry.",
        "# TYPE tarry_wait_seconds histogram",
        'tarry_wait_seconds_count{name="fetch"} 2.0',
        'tarry_wait_seconds_sum{name="fetch"} 4.0',
        'tarry_wait_seconds_count{name="charge"} 1.0',
        'tarry_wait_seconds_sum{name="charge"} 2.0',
        "# HELP tarry_breaker_open Whether a breaker is open: 1, half-open: 0.5, closed: 0.",
        "# TYPE tarry_breaker_open gauge",
        'tarry_breaker_open{name="bank"} 1.0',
    ]


def test_the_gauge_follows_the_breaker() -> None:
    registry = CollectorRegistry()
    count = Metrics(registry)

    def openness() -> float | None:
        return registry.get_sample_value("tarry_breaker_open", {"name": "bank"})

    assert openness() is None
    for before, after, value in [
        (Phase.CLOSED, Phase.OPEN, 1.0),
        (Phase.OPEN, Phase.HALF_OPEN, 0.5),
        (Phase.HALF_OPEN, Phase.CLOSED, 0.0),
    ]:
        count(BreakerMoved("bank", before, after, 0.0))
        assert openness() == value


def test_waits_fall_into_buckets() -> None:
    registry = CollectorRegistry()
    Metrics(registry)(Retrying("f", 1, 0.3, tarry.Failure(), None))
    buckets = [
        registry.get_sample_value("tarry_wait_seconds_bucket", {"name": "f", "le": bound})
        for bound in ("0.1", "0.5", "3600.0", "+Inf")
    ]
    assert buckets == [0.0, 1.0, 1.0, 1.0]


def test_two_on_one_registry_share_its_series() -> None:
    registry = CollectorRegistry()
    for count in (Metrics(registry), Metrics(registry)):
        count(Retrying("f", 1, 0.3, tarry.Failure(), None))
    assert registry.get_sample_value("tarry_retries_total", {"name": "f"}) == 2.0


def test_registries_are_strangers_to_each_other() -> None:
    mine, other = CollectorRegistry(), CollectorRegistry()
    Metrics(other)
    Metrics(mine)(Retrying("f", 1, 0.3, tarry.Failure(), None))
    assert other.get_sample_value("tarry_retries_total", {"name": "f"}) is None


def test_a_registry_is_not_kept_alive() -> None:
    registry = CollectorRegistry()
    Metrics(registry)
    gone = weakref.ref(registry)
    del registry
    gc.collect()
    assert gone() is None


def test_the_registry_of_the_process_is_the_default() -> None:
    Metrics()(Retrying("by default", 1, 0.3, tarry.Failure(), None))
    assert REGISTRY.get_sample_value("tarry_retries_total", {"name": "by default"}) == 1.0


def test_a_name_taken_by_somebody_else_is_an_error() -> None:
    registry = CollectorRegistry()
    Counter("tarry_calls_total", "somebody else's", registry=registry)
    with pytest.raises(ValueError, match="tarry_calls"):
        Metrics(registry)
