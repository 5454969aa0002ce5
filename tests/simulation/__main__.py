"""The program behind ./dev simulate: many histories, one after the other, each checked."""

import argparse
import logging
import os
import sys
import tempfile
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from tarry.testing.postgres import Cluster, throw_away_cluster
from tests.simulation import report
from tests.simulation.generate import REAL, Frame, generate
from tests.simulation.planted.hunt import hunt
from tests.simulation.planted.registry import BUGS
from tests.simulation.run import Outcome, collect_seldom, run
from tests.simulation.shrink import Shrinker
from tests.simulation.steps import History

STORES = ("memory", "sqlite", "postgres")
SEED = "TARRY_TEST_SEED"
HISTORIES = "TARRY_TEST_HISTORIES"
TOLD_EVERY = 5.0
"""Seconds between two lines of progress."""


def main(arguments: list[str]) -> int:
    """Run the histories that the command line asks for; return 1 if a promise was broken."""
    options = _parser().parse_args(arguments)
    collect_seldom()
    logging.disable(logging.CRITICAL)  # what the service says of faults is expected
    frame = Frame(store=options.store, workers=options.workers, minutes=options.minutes)
    if options.planted is not None:
        return _plant(options.planted or list(BUGS), options.seed, options.histories, frame)
    with _server(frame.store) as cluster:
        if options.replay is not None:
            return _replay(report.read(options.replay.read_bytes()), cluster)
        return _run_many(
            options.seed, options.histories, frame, most=options.failures, cluster=cluster
        )


def _server(store: str) -> AbstractContextManager[Cluster | None]:
    """Return a context with a server of its own, for the store that needs one."""
    return throw_away_cluster(quick=True) if store == REAL else nullcontext()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./dev simulate", description=__doc__)
    parser.add_argument("--histories", type=int, default=int(os.environ.get(HISTORIES, "1000")))
    parser.add_argument("--seed", type=int, default=int(os.environ.get(SEED, "0")))
    parser.add_argument("--minutes", type=float, help="how long each history lasts")
    parser.add_argument("--workers", type=int, help="how many workers each history begins with")
    parser.add_argument("--store", choices=STORES, default="memory")
    parser.add_argument("--failures", type=int, default=1, help="stop after so many failures")
    parser.add_argument("--replay", type=Path, help="run the history in this file once more")
    parser.add_argument(
        "--planted",
        nargs="*",
        metavar="NAME",
        choices=list(BUGS),
        help="plant bugs, each alone, and count the histories until it is found",
    )
    return parser


def _plant(names: list[str], first: int, most: int, frame: Frame) -> int:
    """Print a line for each planted bug; return 1 if one of them was not found."""
    missed = 0
    print(f"{'bug':<24}{'histories':>9}  {'broken rule':<30}story")
    for found in hunt(names, first, most, frame):
        missed += found.rule is None
        rule = found.rule or "NOT FOUND"
        print(f"{found.name:<24}{found.histories:>9}  {rule:<30}{found.story}", flush=True)
    print(f"{len(names) - missed} of {len(names)} planted bugs were found")
    return 1 if missed else 0


def _replay(history: History, cluster: Cluster | None) -> int:
    for line in report.told(history):
        print(line)
    outcome = run(history, cluster=cluster)
    for line in report.told_of(outcome):
        print(line)
    return 1 if outcome.violations else 0


def _run_many(first: int, count: int, frame: Frame, *, most: int, cluster: Cluster | None) -> int:
    began_at = told_at = time.monotonic()
    failures = 0
    simulated = 0.0
    for done, seed in enumerate(range(first, first + count), start=1):
        outcome = run(generate(seed, frame), cluster=cluster)
        simulated += outcome.simulated
        if outcome.violations:
            failures += 1
            _tell(seed, outcome)
        now = time.monotonic()
        if now - told_at >= TOLD_EVERY or done == count or failures == most:
            told_at = now
            speed = 60 * done / (now - began_at)
            print(
                f"{done} histories, {simulated / 3600:.1f} simulated hours, {failures} failed;"
                f" {speed:.0f} histories a minute",
                flush=True,
            )
        if failures == most:
            break
    return 1 if failures else 0


def _tell(seed: int, outcome: Outcome) -> None:
    """Print a failure, shrink its history, and save it for a replay."""
    print(f"\nSeed {seed} breaks a promise:")
    for line in report.told_of(outcome):
        print(line)
    store, shrunk = outcome.history.conditions.store, outcome.history
    if store != REAL:  # in real time no run repeats another, and each takes long
        rule = outcome.violations[0].rule
        shrunk = Shrinker(lambda history: rule in run(history).rules).shrink(shrunk)
        print(f"The smallest history found that breaks {rule!r}:")
    for line in report.told(shrunk):
        print(line)
    path = Path(tempfile.gettempdir()) / f"tarry-history-{seed}.json"
    path.write_bytes(report.written(shrunk))
    print(f"Run it again: ./dev simulate --store {store} --replay {path}")
    print(
        f"The whole one: ./dev simulate --store {store} --seed {seed} --histories 1\n", flush=True
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
