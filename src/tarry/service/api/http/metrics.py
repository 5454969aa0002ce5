"""Count requests, and write the counts in the format of Prometheus."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from tarry.service.dispatch.gauges import Gauges

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class RequestMetrics:
    """Counts requests by operation and status, and the time spent by operation."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, int]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def count(self, operation: str, status: int, seconds: float) -> None:
        """Count one answered request."""
        self._counts[operation, status] += 1
        self._seconds[operation] += seconds

    def lines(self) -> Iterable[str]:
        """Yield the counts as lines of Prometheus."""
        yield "# HELP tarry_http_requests_total Requests answered, by operation and status."
        yield "# TYPE tarry_http_requests_total counter"
        for (operation, status), count in sorted(self._counts.items()):
            labels = f'operation="{operation}",status="{status}"'
            yield f"tarry_http_requests_total{{{labels}}} {count}"
        yield "# HELP tarry_http_request_seconds_total Time spent on requests, by operation."
        yield "# TYPE tarry_http_request_seconds_total counter"
        for operation, seconds in sorted(self._seconds.items()):
            yield f'tarry_http_request_seconds_total{{operation="{operation}"}} {seconds:.6f}'


def delivery_lines(figures: Gauges) -> Iterable[str]:
    """Yield the state of this process's dispatcher as lines of Prometheus."""
    counters = {
        "attempts_sent": (figures.sent, "Attempts made."),
        "deliveries_delivered": (figures.delivered, "Deliveries that arrived."),
        "deliveries_failed": (figures.failed, "Deliveries that finally failed."),
        "probes": (figures.probes, "Attempts made to see whether an endpoint is back."),
        "lanes_stalled": (
            figures.stalled,
            "Lanes that the watchdog had to wake: each is a defect.",
        ),
        "settlements_stale": (
            figures.stale,
            "Settlements dropped: the delivery was changed, or another worker owns the lane.",
        ),
        "settlements_unwritable": (
            figures.unwritable,
            "Settlements that the database refused: each is a defect.",
        ),
    }
    for name, (value, words) in counters.items():
        yield f"# HELP tarry_{name}_total {words}"
        yield f"# TYPE tarry_{name}_total counter"
        yield f"tarry_{name}_total {value}"
    gauges = {
        "in_flight": (figures.in_flight, "Attempts in flight."),
        "unsettled": (figures.unsettled, "Attempts whose outcomes are not saved yet."),
        "shards_held": (figures.shards, "Shards that this process owns."),
        "deliveries_waiting": (figures.waiting, "Deliveries that wait in the lanes it works on."),
    }
    for name, (value, words) in gauges.items():
        yield f"# HELP tarry_{name} {words}"
        yield f"# TYPE tarry_{name} gauge"
        yield f"tarry_{name} {value}"
    yield "# HELP tarry_lanes Lanes with something to do, by the phase of their pacer."
    yield "# TYPE tarry_lanes gauge"
    for phase, count in figures.lanes.items():
        yield f'tarry_lanes{{phase="{phase}"}} {count}'
