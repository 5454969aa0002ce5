"""What retrying costs: tarry beside a loop written by hand and beside its rivals.

    ./dev bench library [--json] [--rounds N] [--quick]

Everything is timed in one run on one core: `contest/stopwatch.py` says how. Who takes part, and
set up how, is in `contest/contestants.py`.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from textwrap import fill

from contest import race, scale, stopwatch
from contest.contestants import LOOP, RETRIES, Contestant
from contest.entry import Gate, new_gate, reason
from contest.fresh import Import, imports
from contest.report import Cell, Column, Table, Target, target_text
from contest.scene import scene, show_progress
from contest.targets import Results

ROUNDS, QUICK_ROUNDS = 200, 10
RUNS, QUICK_RUNS = 12, 3
MEBI = 2**20
WIDTH = 100

PACKAGES = (
    *("tarry", "tenacity", "backoff", "stamina", "redress", "pyresilience", "hyx"),
    *("pybreaker", "circuitbreaker", "aiobreaker"),
)
MODULES = {"hyx": "hyx.retry", "asyncio alone": "asyncio"}
"""What is imported for a row, where that is not the row's name."""

NOTES = """
Each figure is the least of many samples of 1.5 ms. Every case is visited in every round; the
garbage collector works between samples only.

A call hands one argument to a function that does nothing, so what is seen is overhead.

The loop is `for attempt in range(attempts)` with a tuple of exceptions, capped exponential backoff,
full jitter, and no sleep when there is no wait. With `while` it saves making the range.
Each sample starts in an empty context; tarry's scope costs a little more beside other variables.

All are told the same: 5 attempts, first wait 0.1 s, cap 20 s, 45 s in all; tarry has its defaults.
Logging, hooks and listeners are off or unused: backoff with logger=None, stamina without hooks.

Failing attempt: 10 attempts that raise, no wait between them, divided by 10. "Own": sleeping does
nothing. "Shipped": what a library's sleep(0) costs is in it. tarry's default jitter takes more
arithmetic when the waits are not zero, hence the row; the others draw much as its Full() does.

Everything on: tenacity, backoff and circuitbreaker know no budget. pyresilience has no deadline
but a timeout, which runs plain functions in a thread.

Breakers: pybreaker holds its lock over the call; circuitbreaker, aiobreaker, hyx and the one
written by hand have none.

Import: CPU time in a fresh interpreter with cached bytecode, and how much more memory is resident.
A waiting call is a task between two attempts; the task itself is in the figure.
"""


# --- Tables that are not timed in rounds --------------------------------------------------------


def import_table(runs: int, progress: stopwatch.Progress) -> Table:
    """What `import` costs."""
    columns = (
        Column("cpu", "CPU ms", 1, times_row="tenacity"),
        Column("resident", "RSS MiB", 1),
        Column("modules", "modules"),
        Column("heavy", "brings in"),
    )
    table = Table("Import", columns)
    modules = {row: MODULES.get(row, row) for row in (*PACKAGES, "asyncio alone")}
    found = imports(tuple(modules.values()), runs, progress)
    for row, module in modules.items():
        for column, cell in _import_cells(found[module]).items():
            table.put(row, column, cell)
    return table


def _import_cells(found: Import | str) -> dict[str, Cell]:
    if isinstance(found, str):
        return {"cpu": found}
    return {
        "cpu": found.cpu_ns / 1e6,
        "resident": found.resident / MEBI,
        "modules": float(found.modules),
        "heavy": ", ".join(found.heavy),
    }


def memory_table(gate: Gate, progress: stopwatch.Progress) -> Table:
    """What is kept for a wrapped function, and for a call that waits."""
    columns = (
        Column("function", "bytes per function", times_row=LOOP.name),
        Column("wait", "bytes per waiting call", times_row=LOOP.name),
    )
    table = Table("Memory", columns)
    waiting = partial(scale.bytes_per_wait, loop=gate.loop)
    for contestant in RETRIES:
        progress(f"weighing {contestant.name}")
        table.put(contestant.name, "function", _weighed(scale.bytes_per_function, contestant))
        table.put(contestant.name, "wait", _weighed(waiting, contestant))
    return table


def _weighed(weigh: Callable[[Contestant], float], contestant: Contestant) -> Cell:
    try:
        return weigh(contestant)
    except Exception as error:  # noqa: BLE001  whatever is wrong with it goes into the report
        return reason(error)


# --- The whole run ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Report:
    """All that is printed."""

    facts: dict[str, str]
    versions: dict[str, str]
    tables: list[Table]
    targets: list[Target]

    def text(self) -> str:
        """To read."""
        facts = [f"{name}: {fact}" for name, fact in self.facts.items()]
        versions = ", ".join(" ".join(pair) for pair in self.versions.items())
        tables = [table.text() for table in self.tables]
        head = "\n".join([*facts, fill(f"libraries: {versions}", WIDTH)])
        return "\n\n".join([head, *tables, target_text(self.targets), NOTES.strip()])

    def json(self) -> str:
        """To keep."""
        found = {
            **self.facts,
            "versions": self.versions,
            "tables": [table.data() for table in self.tables],
            "targets": [target.data() for target in self.targets],
            "notes": NOTES.strip().split("\n\n"),
        }
        return json.dumps(found, indent=2)


def measure(rounds: int, runs: int, progress: stopwatch.Progress) -> Report:
    """Run everything."""
    core = stopwatch.pin()
    gate = new_gate()
    track = race.Race(gate)
    succeeding, failing = race.add_succeeding(track), race.add_failing(track)
    guarded, breakers = race.add_guarded(track), race.add_breakers(track)
    track.run(rounds, progress)
    importing = import_table(runs, progress)
    memory = memory_table(gate, progress)
    gate.loop.close()
    targets = Results(succeeding, failing, guarded, importing).targets()
    tables = [succeeding, failing, guarded, breakers, importing, memory]
    return Report(facts(rounds, runs, core), versions(), tables, targets)


def facts(rounds: int, runs: int, core: int | None) -> dict[str, str]:
    """Where, when and how it was measured."""
    return {
        **scene(),
        "method": f"{rounds} rounds, {runs} imports, "
        + ("on all cores" if core is None else "on one core"),
    }


def versions() -> dict[str, str]:
    """The release of every library, or that it is missing."""
    return {package: version_of(package) for package in PACKAGES}


def version_of(package: str) -> str:
    """One library's release."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(prog="./dev bench library", description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--quick", action="store_true", help="rough figures in a few seconds")
    parser.add_argument("--rounds", type=int, metavar="N", help="how often each case is visited")
    options = parser.parse_args()
    rounds = options.rounds or (QUICK_ROUNDS if options.quick else ROUNDS)
    runs = min(rounds, QUICK_RUNS if options.quick else RUNS)
    report = measure(rounds, runs, show_progress)
    show_progress("")
    print(report.json() if options.json else report.text())


if __name__ == "__main__":
    main()
