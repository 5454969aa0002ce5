"""How fast webhooks go out, durably: tarry, the floor below it, and what others would use.

    ./dev bench deliver [--db sqlite|postgres] [--workers N ...] [--deliveries N] [--rounds N]
                        [--applications N] [--rivals] [--json]

It is `tarry bench deliver`, with a PostgreSQL server of its own that syncs every commit, with the
rivals of `rivals/run.py`, and with a verdict on each target. The targets are for a machine with two
cores and nothing else to do.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import uvloop
from rivals.run import RIVALS, measure

from tarry.cli.bench import deliver
from tarry.cli.bench.deliver import Row
from tarry.testing.postgres import throw_away_cluster

SYNCED = {"fsync": "on", "full_page_writes": "on", "shared_buffers": "512MB"}
WORKERS = (1, 2, 4)
OWN = "tarry"


@dataclass(frozen=True)
class Target:
    """What tarry promises, and what was found."""

    what: str
    at_least: float
    found: float

    @property
    def verdict(self) -> str:
        """Whether it is kept."""
        return "pass" if self.found >= self.at_least else "MISS"


@contextmanager
def database(name: str) -> Iterator[str | None]:
    """A new one, for the length of the block."""
    if name == "sqlite":
        yield None  # the benchmark makes a file for each round
        return
    with throw_away_cluster(settings=SYNCED) as cluster:
        yield cluster.url


def rivals(deliveries: int) -> Iterator[Row]:
    """What the others do."""
    for rival in RIVALS:
        found = measure(rival, deliveries)
        yield Row(
            found.name,
            found.delivered_per_second,
            0.0,
            found.lost,
            found.duplicated,
            found.enqueued_per_second or None,
            note=found.failure.partition("\n")[0] or found.store,
        )


def beside_floor(rows: Sequence[Row]) -> list[Row]:
    """All of them as ratios to the first."""
    floor = rows[0].per_second
    return [Row(**{**asdict(row), "to_floor": row.per_second / floor}) for row in rows]


def targets(rows: Sequence[Row], db: str) -> Iterator[Target]:
    """Those that can be told from these rows."""
    own = [row for row in rows if row.what.startswith(OWN) and not row.what.endswith("sealed")]
    others = [row for row in rows[1:] if not row.what.startswith(OWN)]
    yield Target("lost or sent twice, none", 0, -sum(row.lost + row.duplicated for row in own))
    best = max(row.per_second for row in own)
    if others:
        rival = max(others, key=lambda row: row.per_second)
        yield Target(f"times {rival.what}", 3.0, best / rival.per_second)
    if db == "sqlite":
        yield Target("deliveries a second", 6_000, best)
        return
    by_workers = {row.what.split()[1]: row.per_second for row in own}
    if "2" in by_workers:
        yield Target("deliveries a second, 2 workers", 8_000, by_workers["2"])
    if {"2", "4"} <= by_workers.keys():
        yield Target("4 workers, times 2 workers", 0.85, by_workers["4"] / by_workers["2"])


def main() -> None:
    """Run it and print what it came to."""
    parser = argparse.ArgumentParser(prog="./dev bench deliver", description=__doc__)
    parser.add_argument("--db", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--deliveries", type=int, default=20_000)
    parser.add_argument("--applications", type=int, default=64)
    parser.add_argument("--workers", type=int, action="append", help="for postgres: 1, 2 and 4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rivals", action="store_true")
    parser.add_argument("--seal-payloads", action="store_true", help="each again, sealed")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    workers = (0,) if given.db == "sqlite" else given.workers or WORKERS
    modes = deliver.modes_of(workers, seal_payloads=given.seal_payloads)
    with database(given.db) as url:
        own = deliver.measure(url, given.deliveries, given.applications, modes, given.rounds)
        rows = uvloop.run(own)
    rows = beside_floor([*rows, *(rivals(given.deliveries) if given.rivals else ())])
    judged = list(targets(rows, given.db))
    if given.json:
        found = [{**asdict(target), "verdict": target.verdict} for target in judged]
        print(json.dumps({"rows": [asdict(row) for row in rows], "targets": found}, indent=2))
        return
    deliver.show(rows)
    for target in judged:
        print(f"{target.verdict}  {target.what}: {target.found:,.2f}, at least {target.at_least:g}")


if __name__ == "__main__":
    main()
