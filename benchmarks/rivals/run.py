"""Run the rivals, one after the other, on one sink.

    PYTHONPATH=benchmarks .venv-bench/bin/python -m rivals.run [--deliveries N] [--json] [NAME ...]

For each: a new server or file, all jobs enqueued while no worker runs, then the workers started.
Enqueuing is timed from the first job to the last, the client connected before. Deliveries per
second are counted at the sink, from the first arrival to the last: the start of the workers, which
takes about a second, is not in it.
"""

import argparse
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from rivals.redis_server import NoRedisError, find_redis, redis_version, running_redis
from rivals.surroundings import CORES, SINK_VARIABLE, STORE_VARIABLE
from tarry.cli.bench.sink import Sink
from tarry.errors import TarryError
from tarry.testing.postgres import throw_away_cluster

BENCHMARKS = Path(__file__).parents[1]
DELIVERIES = 5_000
LOOK_EVERY = 0.05
QUIET = 20.0
"""Seconds without an arrival after which no more is expected."""
STOP_WITHIN = 20.0


@dataclass(frozen=True)
class Rival:
    """One stack: how it is called, its file, what it stores in, and who starts its processes."""

    name: str
    module: str
    store: Literal["file", "postgres", "redis"]
    processes: int = 1
    """How many workers are started here; 1 also where the stack's own command starts more."""


RIVALS = (
    Rival("taskiq + Redis stream + aiohttp", "taskiq_stream", "redis"),
    Rival("dramatiq + Redis + requests", "dramatiq_redis", "redis"),
    Rival("huey + SQLite + urllib3", "huey_sqlite", "file"),
    Rival("arq + Redis + aiohttp", "arq_redis", "redis", processes=CORES),
    Rival("celery + Redis + requests", "celery_redis", "redis"),
    Rival("procrastinate + PostgreSQL + aiohttp", "procrastinate_postgres", "postgres", CORES),
)


@dataclass(frozen=True)
class Result:
    """What came of one; if `failure` says why it could not run, the figures mean nothing."""

    name: str
    store: str = ""
    deliveries: int = 0
    enqueued_per_second: float = 0.0
    delivered_per_second: float = 0.0
    lost: int = 0
    duplicated: int = 0
    failure: str = ""


class RivalFailedError(Exception):
    """One of a rival's processes did not do what it should."""


def measure(rival: Rival, deliveries: int) -> Result:
    """Let one rival do the job; one that cannot run is a result too."""
    with TemporaryDirectory(prefix="tarry-rival-") as folder:
        try:
            return _measure(rival, deliveries, Path(folder))
        except (NoRedisError, RivalFailedError, TarryError) as error:
            return Result(rival.name, failure=str(error))


def _measure(rival: Rival, deliveries: int, folder: Path) -> Result:
    with store(rival, folder) as (version, url), Sink() as sink:
        told = {STORE_VARIABLE: url, SINK_VARIABLE: sink.url, "PYTHONPATH": str(BENCHMARKS)}
        environment = {**os.environ, **told}
        seconds = enqueue(rival, deliveries, environment)
        with working(rival, environment, folder / "worker.log") as processes:
            wait_for(deliveries, sink, processes)
        report = sink.report()  # the workers have stopped: what they send twice has come
    if not report.arrivals:
        said = (folder / "worker.log").read_text(errors="replace")
        raise RivalFailedError(f"its workers sent nothing; they said:\n{said[-2000:]}")
    return Result(
        rival.name,
        version,
        deliveries,
        enqueued_per_second=deliveries / seconds,
        delivered_per_second=report.rate,
        lost=deliveries - report.distinct,
        duplicated=report.duplicates,
    )


@contextmanager
def store(rival: Rival, folder: Path) -> Iterator[tuple[str, str]]:
    """Have ready what the rival keeps its jobs in: what it is, and its URL."""
    match rival.store:
        case "file":
            yield f"SQLite {sqlite3.sqlite_version}", str(folder / "jobs.db")
        case "postgres":
            with throw_away_cluster() as cluster:
                yield f"PostgreSQL {cluster.programs.version}", cluster.url
        case "redis":
            program = find_redis()
            with running_redis(program, folder) as url:
                yield redis_version(program), url


def command(rival: Rival, *part: str) -> list[str]:
    """What to start for one part of a rival."""
    return [sys.executable, "-m", "rivals.play", rival.module, *part]


def enqueue(rival: Rival, deliveries: int, environment: Mapping[str, str]) -> float:
    """Put all jobs into the rival's queue; the seconds that took."""
    asked = command(rival, "enqueue", str(deliveries))
    done = subprocess.run(asked, env=environment, capture_output=True, text=True, check=False)  # noqa: S603  this package
    if done.returncode:
        raise RivalFailedError(f"it could not enqueue:\n{done.stderr[-2000:]}")
    return float(done.stdout.splitlines()[-1])


@contextmanager
def working(
    rival: Rival, environment: Mapping[str, str], log: Path
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Have the rival's workers at work for the length of the block."""
    with log.open("wb") as said:
        processes = [
            subprocess.Popen(  # noqa: S603  likewise
                command(rival, "work"),
                env=environment,
                stdout=said,
                stderr=said,
                start_new_session=True,  # a group of its own, to be ended with all its children
            )
            for _ in range(rival.processes)
        ]
    try:
        yield processes
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process that was told to stop; kill what is left of it and its children."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOP_WITHIN)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def wait_for(deliveries: int, sink: Sink, processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Wait until every message has arrived, or no more will."""
    arrived, changed_at = 0, time.monotonic()
    while time.monotonic() < changed_at + QUIET:
        if arrived >= deliveries and sink.report().distinct == deliveries:
            return
        if all(process.poll() is not None for process in processes):
            return
        time.sleep(LOOK_EVERY)
        now_arrived = sink.arrivals()
        if now_arrived > arrived:
            arrived, changed_at = now_arrived, time.monotonic()


def table(results: Iterable[Result]) -> Iterator[str]:
    """The results as lines of text."""
    yield f"{'':<38}{'store':<19}{'enqueued/s':>11}{'delivered/s':>13}{'lost':>7}{'twice':>7}"
    for result in results:
        if result.failure:
            yield f"{result.name:<38}cannot run: {result.failure}"
            continue
        rates = f"{result.enqueued_per_second:>11,.0f}{result.delivered_per_second:>13,.0f}"
        yield f"{result.name:<38}{result.store:<19}{rates}{result.lost:>7}{result.duplicated:>7}"


def main() -> None:
    """Run those that were named, or all."""
    parser = argparse.ArgumentParser(prog="rivals.run", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="the beginning of a rival's name")
    parser.add_argument("--deliveries", type=int, default=DELIVERIES, metavar="N")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    chosen = [rival for rival in RIVALS if rival.name.startswith(tuple(options.names or ("",)))]
    results = (measure(rival, options.deliveries) for rival in chosen)
    if options.json:
        print(json.dumps([asdict(result) for result in results], indent=2))
        return
    for line in table(results):  # each as soon as it is known
        print(line, flush=True)


if __name__ == "__main__":
    main()
