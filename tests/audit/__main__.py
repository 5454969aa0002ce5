"""Audit the project before a release: dependencies, hashes, licences, file modes and secrets.

Started by ./dev audit. Nothing is fetched from a network. Each check is one line; a check that
could not be carried out says so, and counts neither as passed nor as failed.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from tests.audit import traffic
from tests.audit.advisories import VARIABLE, check_advisories
from tests.audit.canary import Markers, check_canary
from tests.audit.check import Result, State, result
from tests.audit.hashes import check_hashes
from tests.audit.licences import check_licences
from tests.audit.locks import FOLDER, all_pinned, pinned
from tests.audit.modes import check_project
from tests.project_files import ROOT, project_files

Check = Callable[[], Result]


def main(arguments: Sequence[str]) -> int:
    """Carry the checks out; return 1 if one of them failed."""
    options = _parser().parse_args(arguments)
    chosen = checks(options.advisories)
    results = {}
    for name in options.only or chosen:
        results[name] = chosen[name]()
        print_result(name, results[name])
    return conclude(results)


def checks(advisories: Path | None) -> Mapping[str, Check]:
    """Return all checks by their names, the quickest first."""
    return {
        "advisories": lambda: check_advisories(advisories, all_pinned()),
        "licences": check_licences,
        "files": lambda: check_project(project_files(), ROOT),
        "service files": _check_service_files,
        "secrets": _check_secrets,
        "hashes": lambda: check_hashes(all_pinned(), pinned(FOLDER / "dev.txt")),
    }


@cache
def _traffic() -> tuple[Markers, dict[str, bytes], list[str]]:
    """Run the service once for all checks that need it."""
    with tempfile.TemporaryDirectory(prefix="tarry-audit-") as folder:
        return traffic.run(Path(folder, "service"))


def _check_service_files() -> Result:
    """Check the modes of the files that a service creates."""
    _, _, problems = _traffic()
    return result("a service with the umask 000", problems)


def _check_secrets() -> Result:
    """Check where markers appear."""
    markers, places, _ = _traffic()
    return check_canary(markers, places)


def print_result(name: str, found: Result) -> None:
    """Print what a check found."""
    print(f"{name:<14} {found.state.value:<12} {found.summary}", flush=True)
    for problem in found.problems:
        print(f"{'':<14} {problem}", flush=True)


def conclude(results: Mapping[str, Result]) -> int:
    """Print what follows from all results; return the exit code."""
    failed = [name for name, found in results.items() if found.state is State.FAILED]
    skipped = [name for name, found in results.items() if found.state is State.NOT_CHECKED]
    if skipped:
        print(f"NOT CHECKED: {', '.join(skipped)}")
    print(
        f"FAILED: {', '.join(failed)}"
        if failed
        else "all other checks passed"
        if skipped
        else "all well"
    )
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./dev audit", description=__doc__, allow_abbrev=False)
    given = os.environ.get(VARIABLE)
    parser.add_argument(
        "--advisories",
        type=Path,
        metavar="FOLDER",
        default=Path(given) if given else None,
        help=f"a folder of advisories as OSV files (default: the variable {VARIABLE})",
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=sorted(checks(None)),
        help="carry only this check out; may be given again",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
