"""How fast the simulator is: every model, beside the least that any program would have to do.

    ./dev bench storm [--json] [--rounds N] [--quick]

Everything runs on one core, every case in every round; the least of the rounds counts. What is run
is in `storms/cases.py`.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

from contest import stopwatch
from contest.report import Column, Table, Target, target_text
from contest.scene import scene, show_progress
from storms.case import Found, race
from storms.cases import BACKLOG, CONTENTION, FLUID, HEAP, NUMPY, SERVER, TIMELINE, all_cases

ROUNDS = 5
FULL, SMALL = 1.0, 0.02
"""The share of the full size that is run."""

SECONDS = 1.0
EVENT_NS = 1e9 / 300_000

NOTES = """
Bare numpy draws a number for each arrival, adds up each client's and counts them. Bare heap takes
the earliest of its entries and puts a later one in its place. Both are floors and simulate nothing.

A recovery is the whole of it: an outage of 600 s and up to an hour after it, metrics and curves.
Stuck: attempts come faster than a brittle endpoint can bear, for the whole hour.

An event is an arrival, an end of service, a timeout or a retry. A message is a read, a write or the
answer to one; the answer needs no place in a heap.

There is no rival in the tables: there are frameworks for simulations in which one would have to
write these models, and scripts for a single study, but no package that does the same.
"""


@dataclass(frozen=True)
class Report:
    """All that is printed."""

    facts: dict[str, str]
    tables: list[Table]
    targets: list[Target]

    def text(self) -> str:
        """To read."""
        head = "\n".join(f"{name}: {fact}" for name, fact in self.facts.items())
        tables = [table.text() for table in self.tables]
        return "\n\n".join([head, *tables, target_text(self.targets), NOTES.strip()])

    def json(self) -> str:
        """To keep."""
        found = {
            **self.facts,
            "tables": [table.data() for table in self.tables],
            "targets": [target.data() for target in self.targets],
            "notes": NOTES.strip().split("\n\n"),
        }
        return json.dumps(found, indent=2)


def measure(rounds: int, share: float, progress: stopwatch.Progress) -> Report:
    """Run everything."""
    core = stopwatch.pin()
    found = race(all_cases(share), rounds, progress)
    facts = {
        **scene(),
        "numpy": version("numpy"),
        "method": f"{rounds} rounds, "
        + ("on all cores" if core is None else "on one core")
        + ("" if share == FULL else f", at {share:.0%} of the full size: no targets"),
    }
    return Report(facts, tables(found), targets(found, full=share == FULL))


def tables(found: Sequence[Found]) -> list[Table]:
    """One for each model."""
    per_second = Column("per_second", "a second")
    each = {
        TIMELINE: _columns("arrivals", NUMPY),
        BACKLOG: _columns("attempts", ""),
        SERVER: [*_columns("events", HEAP), per_second],
        CONTENTION: [*_columns("messages", HEAP), per_second],
        FLUID: _columns("points", ""),
    }
    made = {title: Table(title, columns) for title, columns in each.items()}
    for one in found:
        table = made[one.case.table]
        table.put(one.case.row, "amount", float(one.amount))
        table.put(one.case.row, "seconds", one.seconds)
        table.put(one.case.row, "each", one.each_ns)
        if per_second in table.columns:
            table.put(one.case.row, "per_second", 1e9 / one.each_ns)
    return list(made.values())


def _columns(amount: str, floor: str) -> list[Column]:
    return [
        Column("amount", amount),
        Column("seconds", "s", 3),
        Column("each", "ns each", times_row=floor),
    ]


def targets(found: Sequence[Found], *, full: bool) -> list[Target]:
    """Every promise, judged if all was run at its full size."""
    return [_target(one, full=full) for one in found if _promised(one)]


def _promised(one: Found) -> bool:
    return one.case.table != CONTENTION and one.case.row not in (NUMPY, HEAP)


def _target(one: Found, *, full: bool) -> Target:
    what = f"{one.case.table.partition(',')[0]}: {one.case.row}"
    if one.case.table == SERVER:
        return Target(what, round(EVENT_NS), "ns an event", one.each_ns if full else None)
    return Target(what, SECONDS, "s", one.seconds if full else None)


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(prog="./dev bench storm", description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--quick", action="store_true", help="a small run: see that it works")
    parser.add_argument("--rounds", type=int, metavar="N", help="how often each case is run")
    options = parser.parse_args()
    rounds = options.rounds or (1 if options.quick else ROUNDS)
    report = measure(rounds, SMALL if options.quick else FULL, show_progress)
    show_progress("")
    print(report.json() if options.json else report.text())


if __name__ == "__main__":
    main()
