"""`tarry bench ingest`: durable messages per second over HTTP, compared with two floors."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import click
from rich.table import Table

from tarry.cli.bench.deliver import sealing
from tarry.cli.bench.options import bench_options
from tarry.cli.input.ranges import Whole
from tarry.cli.output.tables import console
from tarry.cli.service.options import DATABASE_CODES, serving

BATCH = 1000
POLL_SECONDS, STUCK_SECONDS = 0.02, 120.0


@dataclass(frozen=True)
class Row:
    """One line of the table; times are milliseconds for one request or batch."""

    what: str
    messages_per_second: float
    to_floor: float | None
    p50: float
    p99: float
    cpu_microseconds: float
    """CPU time per message: the server's, or that of the inserts."""


@click.command(epilog=DATABASE_CODES)
@click.option(
    "--messages",
    type=Whole(min=100),
    metavar="N",
    default=20_000,
    show_default=True,
    help="Messages to send.",
)
@click.option(
    "--connections",
    type=Whole(min=1),
    metavar="N",
    default=64,
    show_default=True,
    help="Connections to send them over.",
)
@bench_options
@serving
async def ingest(
    *, db: str | None, messages: int, connections: int, rounds: int, as_json: bool
) -> None:
    """Measure how fast messages are accepted over HTTP.

    Each message is on disk before it is answered. The floor is an ASGI callable on the same server
    that answers 202 and stores nothing. For batches it is SQLite, which stores the same rows
    without a server. If Starlette is installed, it is measured as a floor, too. The best of some
    rounds counts.

    At full speed, latency only shows how long the queue is. So there are rows at half the maximum
    rate: messages come at a steady rate, and are timed from when they were due.
    """
    with sealing(), TemporaryDirectory(prefix="tarry-bench-") as folder:
        with _server_process("echo") as front:
            floor = await _best_round(
                "bare echo, nothing kept", front, messages, connections, rounds
            )
        framed = await _framed(messages, connections, rounds)
        with ExitStack() as fronts:
            front = fronts.enter_context(_server_process(db or _file(folder, "single")))
            single = await _best_round("tarry, one by one", front, messages, connections, rounds)
            single_half = await _at_half_rate(single, front, messages, connections, rounds)
            if db is None:  # the bare inserts start with an empty file, too
                front = fronts.enter_context(_server_process(_file(folder, "batches")))
            batched = await _best_round(
                f"tarry, batches of {BATCH}", front, messages, 2, rounds, batch=BATCH
            )
            batched_half = await _at_half_rate(batched, front, messages, 2, rounds, batch=BATCH)
        bare = _bare(Path(folder), messages, rounds)
        delivered = await _delivered(folder, messages, connections, rounds)
    rows = [
        *_with_ratios(floor, *framed, single, single_half, delivered),
        *_with_ratios(bare, batched, batched_half),
    ]
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        _show(rows)


def _file(folder: str, name: str) -> str:
    """Return the URL of a new database."""
    return f"sqlite:///{Path(folder) / name}.db"


def _with_ratios(floor: Row, *others: Row) -> list[Row]:
    """Return the rows with their ratio to the floor, which comes first."""
    rate = floor.messages_per_second
    return [replace(row, to_floor=row.messages_per_second / rate) for row in (floor, *others)]


async def _framed(messages: int, connections: int, rounds: int) -> list[Row]:
    """Measure the echo as a Starlette route, if Starlette is installed."""
    if find_spec("starlette") is None:
        return []
    with _server_process("starlette") as front:
        return [await _best_round("the same on Starlette", front, messages, connections, rounds)]


def _bare(folder: Path, messages: int, rounds: int) -> Row:
    """Measure SQLite alone with batches, in a file on the disk of the temporary folder."""
    from tarry.cli.bench.bare import bare_inserts  # noqa: PLC0415  it needs the extra

    count = messages // BATCH or 1
    runs = [bare_inserts(folder / f"bare-{number}.db", count, BATCH) for number in range(rounds)]
    best = min(runs, key=lambda inserted: inserted.took)
    return Row(
        f"bare inserts, batches of {BATCH}",
        messages_per_second=round(count * BATCH / best.took),
        to_floor=None,
        p50=round(best.quantile(0.5) * 1000, 2),
        p99=round(best.quantile(0.99) * 1000, 2),
        cpu_microseconds=round(best.cpu / (count * BATCH) * 1e6, 1),
    )


async def _delivered(folder: str, messages: int, connections: int, rounds: int) -> Row:
    """Measure a server that also delivers, until the last message has arrived at the sink."""
    from tarry.cli.bench.sink import Sink  # noqa: PLC0415  it needs the extra

    rows = []
    for number in range(rounds):
        with Sink() as sink, _server_process(_file(folder, f"{number}"), sink.url) as front:
            began = time.monotonic()
            row = await _best_round(
                "tarry, one by one, and delivered", front, messages, connections, 1
            )
            while sink.arrivals() < messages and time.monotonic() < began + STUCK_SECONDS:  # noqa: ASYNC110  the sink is another process
                await asyncio.sleep(POLL_SECONDS)
            report = sink.report()
            rate = report.distinct / (report.last_at - began)
            rows.append(replace(row, messages_per_second=round(rate)))
    return max(rows, key=lambda row: row.messages_per_second)


@contextmanager
def _server_process(*arguments: str) -> Iterator[tuple[str, int]]:
    """Start a server in a process of its own, and yield its URL and process id."""
    command = [sys.executable, "-m", "tarry.cli.bench.front", *arguments]
    with subprocess.Popen(  # noqa: S603  runs this interpreter
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as front:
        if front.stdin is None or front.stdout is None:
            raise click.ClickException("the server of the benchmark has no pipes")
        url = front.stdout.readline().strip()
        if not url:  # the server has printed the reason
            raise click.exceptions.Exit(front.wait())
        try:
            yield url, front.pid
        finally:
            front.stdin.close()


async def _best_round(  # noqa: PLR0913  what to measure, and how
    label: str,
    front: tuple[str, int],
    messages: int,
    connections: int,
    rounds: int,
    *,
    batch: int = 1,
    rate: float | None = None,
) -> Row:
    """Return the best of some rounds; `rate` is in messages per second, None for full speed."""
    from tarry.cli.bench.cost import cpu_seconds  # noqa: PLC0415  works only on Linux
    from tarry.cli.bench.floor import post_all  # noqa: PLC0415  it needs the extra

    url, server = front
    request, count = _request(url, batch), messages // batch or 1
    before = cpu_seconds(server)
    requests_per_second = None if rate is None else rate / batch
    posts = [
        await post_all(url, repeat(request, count), count, connections, rate=requests_per_second)
        for _ in range(rounds)
    ]
    cpu = (cpu_seconds(server) - before) / (rounds * count * batch)
    best = min(posts, key=lambda posted: posted.took if rate is None else posted.quantile(0.99))
    return Row(
        label,
        messages_per_second=round(count * batch / best.took),
        to_floor=None,
        p50=round(best.quantile(0.5) * 1000, 2),
        p99=round(best.quantile(0.99) * 1000, 2),
        cpu_microseconds=round(cpu * 1e6, 1),
    )


async def _at_half_rate(  # noqa: PLR0913  as above
    full: Row,
    front: tuple[str, int],
    messages: int,
    connections: int,
    rounds: int,
    *,
    batch: int = 1,
) -> Row:
    """Measure latency at half the maximum rate, where requests do not queue behind each other."""
    rate = full.messages_per_second / 2
    label = f"{full.what}, at half that rate"
    return await _best_round(label, front, messages, connections, rounds, batch=batch, rate=rate)


def _request(url: str, batch: int) -> bytes:
    """Build one HTTP request that carries `batch` messages."""
    from tarry.cli.bench.front import (  # noqa: PLC0415  it needs the extra
        BENCH_APPLICATION,
        BENCH_KEY,
    )
    from tarry.cli.bench.job import PAYLOAD  # noqa: PLC0415  likewise

    message = f'{{"eventType":"order.created","payload":{PAYLOAD}}}'
    body = message if batch == 1 else f"[{','.join([message] * batch)}]"
    path = f"/api/v1/app/{BENCH_APPLICATION}/msg{'' if batch == 1 else '/batch'}"
    return (
        f"POST {path} HTTP/1.1\r\nhost: {urlsplit(url).netloc}\r\n"
        f"authorization: Bearer {BENCH_KEY}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}"
    ).encode()


def _show(rows: list[Row]) -> None:
    """Print the results as a table."""
    table = Table("", "messages/s", "to the floor", "p50 ms", "p99 ms", "CPU µs")
    for row in rows:
        ratio = "" if row.to_floor is None else f"{row.to_floor:.2f} x"
        rate = f"{row.messages_per_second:,.0f}"
        times = (f"{row.p50:.2f}", f"{row.p99:.2f}", f"{row.cpu_microseconds:.0f}")
        table.add_row(row.what, rate, ratio, *times)
    console().print(table)
