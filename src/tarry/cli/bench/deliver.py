"""`tarry bench deliver`: deliveries per second, compared with the floor and with rivals."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click
from rich.table import Table

from tarry.cli.bench.options import bench_options
from tarry.cli.input.ranges import Whole
from tarry.cli.output.tables import console
from tarry.cli.service.options import DATABASE_CODES, serving

if TYPE_CHECKING:
    from tarry.cli.bench.drain import Drained

CONCURRENCY = 100
KEYS = "bench:" + "A" * 43 + "="
"""Sealing keys that all processes of a run share, so that each can open the others' secrets."""


@dataclass(frozen=True)
class Row:
    """One line of the table; `lost` and `duplicated` are sums over all rounds."""

    what: str
    per_second: float
    to_floor: float
    lost: int = 0
    duplicated: int = 0
    accepted_per_second: float | None = None
    cpu_microseconds: float | None = None
    """CPU time of this process per delivery; None if other processes did the work."""
    note: str = ""


RIVALS: list[Callable[[int], Iterable[Row]]] = []
"""Functions that measure rival libraries; `./dev bench deliver` adds one."""


@click.command(epilog=DATABASE_CODES)
@click.option(
    "--deliveries",
    type=Whole(min=100),
    metavar="N",
    default=20_000,
    show_default=True,
    help="Deliveries that wait at first.",
)
@click.option(
    "--applications",
    type=Whole(min=1),
    metavar="N",
    default=64,
    show_default=True,
    help="Applications that the deliveries belong to.",
)
@click.option(
    "--workers",
    type=Whole(min=1),
    metavar="N",
    multiple=True,
    help="Worker processes, for PostgreSQL; repeatable.",
)
@click.option(
    "--rivals", is_flag=True, help="Measure other stacks too (./dev bench deliver --rivals)."
)
@click.option(
    "--seal-payloads", is_flag=True, help="Measure each again with payloads stored sealed."
)
@bench_options
@serving
async def deliver(  # noqa: PLR0913  one argument per option
    *,
    db: str | None,
    deliveries: int,
    applications: int,
    workers: tuple[int, ...],
    rounds: int,
    rivals: bool,
    seal_payloads: bool,
    as_json: bool,
) -> None:
    """Measure how fast a backlog of signed webhooks drains.

    Each result is saved to disk. The floor is a bare HTTP client that stores nothing. It is
    measured in the same run, against the same sink.
    """
    if workers and not (db or "").startswith("postgres"):
        raise click.UsageError("--workers needs a PostgreSQL --db: an SQLite file takes one worker")
    if rivals and not RIVALS:
        raise click.UsageError(
            "the rivals are measured from a checkout: ./dev bench deliver --rivals"
        )
    modes = modes_of(workers or (0,), seal_payloads=seal_payloads)
    rows = await measure(db, deliveries, applications, modes, rounds)
    for rival in RIVALS if rivals else ():
        rows += rival(deliveries)
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        show(rows)


@contextmanager
def sealing() -> Iterator[None]:
    """Make all processes of a run use the same sealing keys, unless the environment has some."""
    had_keys = "TARRY_SEALING_KEYS" in os.environ
    os.environ.setdefault("TARRY_SEALING_KEYS", KEYS)
    try:
        yield
    finally:
        if not had_keys:
            del os.environ["TARRY_SEALING_KEYS"]


def modes_of(workers: Iterable[int], *, seal_payloads: bool) -> list[tuple[int, bool]]:
    """Return what to measure: numbers of workers, each without and maybe also with sealing."""
    return [(count, sealed) for count in workers for sealed in (False, True)[: 1 + seal_payloads]]


async def measure(
    db: str | None,
    deliveries: int,
    applications: int,
    modes: Iterable[tuple[int, bool]],
    rounds: int,
) -> list[Row]:
    """Measure the floor, then tarry in each mode; return the best rounds.

    A mode is a number of workers, and whether payloads are sealed. A sealed one comes after the
    same one without sealing.
    """
    from tarry.cli.bench.drain import Mode, drain  # noqa: PLC0415  it needs the extra
    from tarry.cli.bench.floor import bare_client  # noqa: PLC0415  likewise
    from tarry.cli.bench.sink import Sink  # noqa: PLC0415  likewise

    with sealing(), TemporaryDirectory(prefix="tarry-bench-") as folder, Sink() as sink:
        took = [await bare_client(sink.url, deliveries, CONCURRENCY) for _ in range(rounds)]
        floor = deliveries / min(took)
        rows = [Row("bare client, nothing stored", floor, 1.0)]
        for count, sealed in modes:
            drains = [
                await drain(
                    db or f"sqlite:///{Path(folder) / f'{count}-{number}-{sealed}.db'}",
                    sink,
                    deliveries=deliveries,
                    applications=applications,
                    mode=Mode(count, sealed),
                )
                for number in range(rounds)
            ]
            row = _best_row(_name(db, count), drains, floor)
            rows.append(_beside(rows[-1], row) if sealed else row)
    return rows


def _beside(plain: Row, sealed: Row) -> Row:
    """Return the row of sealed payloads, with the ratios of its rates to those without sealing."""
    sent = sealed.per_second / plain.per_second
    accepted = (sealed.accepted_per_second or 0.0) / (plain.accepted_per_second or 1.0)
    note = f"to unsealed: {sent:.2f} x sent, {accepted:.2f} x accepted"
    if sealed.cpu_microseconds is not None and plain.cpu_microseconds is not None:
        note += f", {sealed.cpu_microseconds / plain.cpu_microseconds:.2f} x CPU"
    return replace(sealed, what=f"{sealed.what}, sealed", note=note)


def _name(db: str | None, workers: int) -> str:
    """Return what the table calls this way of delivering."""
    store = (db or "sqlite").partition(":")[0]
    if not workers:
        return f"tarry in this process, {store}"
    return f"tarry, {workers} worker process{'es' if workers > 1 else ''}, {store}"


def _best_row(label: str, drains: "Sequence[Drained]", floor: float) -> Row:
    """Return the table's row of the fastest round, with what all rounds lost or sent twice."""
    best = max(drains, key=lambda drained: drained.delivered_per_second)
    return Row(
        label,
        best.delivered_per_second,
        best.delivered_per_second / floor,
        lost=sum(drained.lost for drained in drains),
        duplicated=sum(drained.duplicated for drained in drains),
        accepted_per_second=best.accepted_per_second,
        cpu_microseconds=best.cpu_microseconds,
    )


def show(rows: Iterable[Row]) -> None:
    """Print a table."""
    table = Table("", "sent/s", "x floor", "lost", "twice", "accepted/s", "CPU µs", "")
    for row in rows:
        accepted, cpu = row.accepted_per_second, row.cpu_microseconds
        table.add_row(
            row.what,
            f"{row.per_second:,.0f}",
            f"{row.to_floor:.2f}",
            str(row.lost),
            str(row.duplicated),
            "" if accepted is None else f"{accepted:,.0f}",
            "" if cpu is None else f"{cpu:.0f}",
            row.note,
        )
    console().print(table)
