"""Read how long whole runs of ./dev test took. `./dev` writes a line of JSON for each run."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

from tests.project_files import ROOT

NONE = "-"
AMOUNT = "usual"
"""A run of ./dev test without options. Quick and long runs do less and more."""


class Run(TypedDict):
    """What is kept of a run."""

    commit: str | None
    amount: str
    ended_at: float
    seconds: float
    failed: list[str]


def minutes_of_tests(build: Path, commit: str | None = None) -> str:
    """Return the minutes of the last whole run, or of the last one of a commit; "-" if none.

    `build` is the folder with the folders of the runs. A failed run is shown with the names of the
    failed groups.
    """
    runs = [
        run for run in _runs(build) if run["amount"] == AMOUNT and commit in {None, run["commit"]}
    ]
    if not runs:
        return NONE
    last = max(runs, key=lambda run: run["ended_at"])
    minutes = f"{last['seconds'] / 60:.1f}"
    return f"{minutes} (failed: {', '.join(last['failed'])})" if last["failed"] else minutes


def commit_of(revision: str) -> str:
    """Return the full name of the commit that a revision means; the name as given if none."""
    command = ["git", "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return run.stdout.strip() or revision


def _runs(build: Path) -> Iterator[Run]:
    for file in sorted(build.glob("test-*/durations.jsonl")):
        for line in file.read_text().splitlines():
            yield json.loads(line)
