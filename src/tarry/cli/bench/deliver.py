"""`tarry bench deliver`: deliveries per second, as a ratio to the floor and to rivals."""

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from rich.console import Console
from rich.table import Table

from tarry.cli.service_options import serving

CONCURRENCY = 100
RIVALS: list[Callable[[int], Iterable[tuple[str, float, str]]]] = []
"""Who measures the rivals: `./dev bench deliver` puts itself in here."""


@dataclass(frozen=True)
class Row:
    """One line of the table; lost and duplicated are of all rounds together."""

    what: str
    per_second: float
    to_floor: float
    note: str = ""
    lost: int = 0
    duplicated: int = 0


@click.command
@click.option(
    "--db", envvar="TARRY_DB", metavar="URL", help="A database for it; a new SQLite file if none."
)
@click.option("--deliveries", type=click.IntRange(min=100), default=20_000, show_default=True)
@click.option("--applications", type=click.IntRange(min=1), default=64, show_default=True)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    multiple=True,
    help="Worker processes, for PostgreSQL; repeatable.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="The best of so many counts.",
)
@click.option(
    "--rivals", is_flag=True, help="Measure other stacks too (./dev bench deliver --rivals)."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@serving
async def deliver(  # noqa: PLR0913  one argument an option
    *,
    db: str | None,
    deliveries: int,
    applications: int,
    workers: tuple[int, ...],
    rounds: int,
    rivals: bool,
    as_json: bool,
) -> None:
    """Measure how fast a backlog of signed webhooks drains, durably, on this machine.

    The floor is a bare HTTP client that stores nothing, in the same run and against the same sink.
    """
    if rivals and not RIVALS:
        raise click.UsageError(
            "the rivals are measured from a checkout: ./dev bench deliver --rivals"
        )
    # Every process of the run has to open what another one sealed.
    os.environ.setdefault("TARRY_SEALING_KEYS", "bench:" + "A" * 43 + "=")
    rows = await _measure(db, deliveries, applications, workers or (0,), rounds)
    floor = rows[0].per_second
    for measure in RIVALS if rivals else ():
        for name, rate, note in measure(deliveries):
            rows.append(Row(name, rate, rate / floor, note))
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        _show(rows)


async def _measure(
    db: str | None, deliveries: int, applications: int, workers: Iterable[int], rounds: int
) -> list[Row]:
    """The floor, then tarry with each number of workers; the best of some rounds of each."""
    from tarry.cli.bench.drain import drain  # noqa: PLC0415  it needs the extra
    from tarry.cli.bench.floor import bare_client  # noqa: PLC0415  likewise
    from tarry.cli.bench.sink import Sink  # noqa: PLC0415  likewise

    with TemporaryDirectory(prefix="tarry-bench-") as folder, Sink() as sink:
        took = [await bare_client(sink.url, deliveries, CONCURRENCY) for _ in range(rounds)]
        floor = deliveries / min(took)
        rows = [Row("bare client, nothing stored", floor, 1.0)]
        for count in workers:
            found = [
                await drain(
                    db or f"sqlite:///{Path(folder) / f'{count}-{number}.db'}",
                    sink,
                    deliveries=deliveries,
                    applications=applications,
                    workers=count,
                )
                for number in range(rounds)
            ]
            best = max(found, key=lambda one: one.delivered_per_second)
            who = "tarry in this process" if count == 0 else f"tarry, {count} worker processes"
            rows.append(
                Row(
                    f"{who}, {(db or 'sqlite').partition(':')[0]}",
                    best.delivered_per_second,
                    best.delivered_per_second / floor,
                    _note(best.accepted_per_second, best.cpu_microseconds),
                    sum(one.lost for one in found),
                    sum(one.duplicated for one in found),
                )
            )
    return rows


def _note(accepted: float, cpu: float | None) -> str:
    said = f"accepted {accepted:,.0f}/s in batches"
    return said if cpu is None else f"{said}; {cpu:.0f} µs of CPU a delivery"


def _show(rows: list[Row]) -> None:
    table = Table("", "deliveries/s", "to the floor", "lost", "twice", "")
    for row in rows:
        table.add_row(
            row.what,
            f"{row.per_second:,.0f}",
            f"{row.to_floor:.2f} x",
            str(row.lost),
            str(row.duplicated),
            row.note,
        )
    Console().print(table)
