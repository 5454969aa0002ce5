"""Compare two parts that tarry has written itself with the libraries made for them.

The text of /metrics and the count of each request, with prometheus_client; the pool of connections
to PostgreSQL, with asyncpg's own pool. ARCHITECTURE.md has the figures and the decisions. Run it in
the environment of the tests: `.venv/bin/python benchmarks/own_parts.py`.
"""

import asyncio
import time
import timeit
from collections.abc import Awaitable, Callable, Iterator
from statistics import median

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import uvloop
from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from tarry.core.pace import Phase
from tarry.service.api.http.metrics import RequestMetrics, delivery_lines
from tarry.service.dispatch.gauges import Gauges
from tarry.service.store.postgres.database.address import read
from tarry.service.store.postgres.database.pool import SETTINGS, Connection, Database, Mode
from tarry.testing.postgres import throw_away_cluster

OPERATIONS = [f"operation-{number}" for number in range(60)]
STATUSES = (200, 404)
SERIES = 10_000
QUERIES = 4_000
TASKS = 16
CONNECTIONS = 4
ROUNDS = 5
GAUGES = Gauges(
    sent=1,
    delivered=2,
    failed=3,
    stale=4,
    probes=5,
    stalled=6,
    unwritable=7,
    in_flight=8,
    unsettled=9,
    shards=10,
    waiting=11,
    lanes=dict.fromkeys(Phase, 12),
)


class Dispatcher:
    """The same figures of the dispatcher, for prometheus_client."""

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics."""
        for name in ("sent", "delivered", "failed", "probes", "stalled", "stale", "unwritable"):
            yield CounterMetricFamily(f"tarry_{name}", name, value=getattr(GAUGES, name))
        for name in ("in_flight", "unsettled", "shards", "waiting"):
            yield GaugeMetricFamily(f"tarry_{name}", name, value=getattr(GAUGES, name))
        lanes = GaugeMetricFamily("tarry_lanes", "Lanes, by phase.", labels=["phase"])
        for phase, count in GAUGES.lanes.items():
            lanes.add_metric([phase], count)
        yield lanes


def microseconds(work: Callable[[], object], times: int) -> float:
    """Return the shortest time of one call."""
    return min(timeit.repeat(work, number=times, repeat=ROUNDS)) / times * 1e6


def metrics(operations: list[str]) -> None:
    """Compare the count of one request, and the text of all counts."""
    ours, registry = RequestMetrics(), CollectorRegistry()
    registry.register(Dispatcher())
    labels = ("operation", "status")
    requests = Counter("tarry_http_requests", "Requests.", labels, registry=registry)
    seconds = Counter("tarry_http_request_seconds", "Time.", ("operation",), registry=registry)

    def count(operation: str, status: int) -> None:
        requests.labels(operation, status).inc()
        seconds.labels(operation).inc(0.001)

    for operation in operations:
        for status in STATUSES:
            ours.count(operation, status, 0.001)
            count(operation, status)
    one = operations[0]
    rows = {
        "count a request": (
            microseconds(lambda: ours.count(one, 200, 0.001), 20_000),
            microseconds(lambda: count(one, 200), 20_000),
        ),
        "write the text": (
            microseconds(lambda: "\n".join([*ours.lines(), *delivery_lines(GAUGES)]), 20),
            microseconds(lambda: generate_latest(registry), 20),
        ),
    }
    for what, (own, library) in rows.items():
        print(
            f"{what}, {len(operations)} operations: own {own:,.1f} us,"
            f" prometheus_client {library:,.1f} us: {library / own:.1f} times as long"
        )


async def queries(query: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """Run the queries in several tasks; return how many a second, and the CPU of each, in us."""

    async def some() -> None:
        for _ in range(QUERIES // TASKS):
            await query()

    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(some() for _ in range(TASKS)))
    took, used = time.perf_counter() - began, time.process_time() - cpu
    return QUERIES / took, used / QUERIES * 1e6


async def pools(url: str) -> None:
    """Compare single statements, and transactions, in interleaved rounds."""

    async def one(connection: Connection) -> object:
        return await connection.fetchval("SELECT 1")

    own = Database(read(url), size=CONNECTIONS)
    pool = await asyncpg.create_pool(
        url, min_size=CONNECTIONS, max_size=CONNECTIONS, server_settings=SETTINGS
    )

    async def keep(_: Connection) -> None:
        """Reset nothing when a connection is given back."""

    bare = await asyncpg.create_pool(
        url, min_size=CONNECTIONS, max_size=CONNECTIONS, server_settings=SETTINGS, reset=keep
    )

    async def transaction(opened: asyncpg.Pool) -> object:
        async with opened.acquire() as connection, connection.transaction():
            return await one(connection)

    ways: dict[str, Callable[[], Awaitable[object]]] = {
        "statement, own pool": lambda: own.run(one, Mode.SINGLE),
        "statement, asyncpg.Pool": lambda: pool.fetchval("SELECT 1"),
        "statement, asyncpg.Pool without reset": lambda: bare.fetchval("SELECT 1"),
        "transaction, own pool": lambda: own.run(one),
        "transaction, asyncpg.Pool": lambda: transaction(pool),
        "transaction, asyncpg.Pool without reset": lambda: transaction(bare),
    }
    results: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            results[name].append(await queries(way))
    for name, rounds in results.items():
        rate, cpu = (median(values) for values in zip(*rounds, strict=True))
        print(f"{name}: {rate:,.0f}/s, {cpu:.0f} us of CPU each")
    await own.close()
    await pool.close()
    await bare.close()


def main() -> None:
    """Run all comparisons."""
    metrics(OPERATIONS)
    metrics([f"operation-{number}" for number in range(SERIES)])
    with throw_away_cluster() as cluster:
        uvloop.run(pools(cluster.url))


if __name__ == "__main__":
    main()
