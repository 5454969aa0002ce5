"""Make small mistakes in the code, one at a time, and count those that a test notices.

Started by ./dev mutate. Exits with 1 if the tests notice less than 90 % of the mistakes.
"""

import argparse
import math
import random
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.mutation.mutants import Mutant, mutants_of
from tests.mutation.trials import Package, Trials, Verdict
from tests.project_files import ROOT

SOURCES = ROOT / "src/tarry"
ENOUGH = 0.9
INTERRUPTED = 130
PACKAGES = {
    "core": Package("core", SOURCES / "core", (ROOT / "tests/core",)),
    "dispatch": Package(
        "dispatch",
        SOURCES / "service/dispatch",
        (ROOT / "tests/service/dispatch", ROOT / "tests/mutation/histories.py"),
    ),
}


def main(arguments: Sequence[str], packages: Mapping[str, Package] = PACKAGES) -> int:
    """Try the mutants that the command line asks for and print what became of them."""
    options = _parser(packages).parse_args(arguments)
    for end in (signal.SIGINT, signal.SIGTERM):  # scripts start programs with SIGINT ignored
        signal.signal(end, signal.default_int_handler)  # no trial must outlive this process
    chosen = [find(name, packages) for name in options.places or packages]
    mutants = choose(chosen, None if options.all else options.sample, options.seed)
    print(f"{len(mutants)} mutants, --seed {options.seed}", flush=True)
    trials = Trials(mutants, seconds=options.minutes * 60)
    with tempfile.TemporaryDirectory() as folder:
        quietly = ["-qq", "--capture=no", "-p", "no:cacheprovider", f"--basetemp={folder}/tests"]
        tests = [str(tests) for package in chosen for tests in package.tests]
        ended = pytest.main([*quietly, *tests], plugins=[trials])
    if not trials.verdicts:
        print("No mutant was tried: there was a problem, or the tests alone took all the time.")
        return INTERRUPTED if trials.interrupted else int(ended) or 1
    for name in trials.unusable:
        print(f"not used, for it fails without a mistake too: {name}")
    enough = [_report(package, trials.verdicts[package.name]) for package in chosen]
    if trials.interrupted:
        return INTERRUPTED
    return 0 if all(enough) else 1


def _parser(packages: Mapping[str, Package]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./dev mutate", description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "places",
        nargs="*",
        metavar="PLACE",
        help=f"{' or '.join(packages)}, or a file or folder under src/tarry with the tests of its"
        " own; all that have a name if none is given",
    )
    parser.add_argument("--sample", type=int, default=200, help="mutants of each place (200)")
    parser.add_argument("--all", action="store_true", help="all mutants: that takes hours")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after so many")
    return parser


def find(name: str, packages: Mapping[str, Package]) -> Package:
    """Return the package of this name, or the file or folder of this path and its own tests."""
    if name in packages:
        return packages[name]
    source = Path(name).resolve()
    if not source.is_relative_to(SOURCES) or not source.exists():
        sys.exit(f"{name} is neither {' nor '.join(packages)} nor a path under src/tarry")
    place = source.relative_to(SOURCES)
    tests = ROOT / "tests" / place.parent / (f"test_{place.name}" if place.suffix else place.name)
    return Package(name, source, (tests,))


def choose(
    packages: Sequence[Package], most: int | None, seed: int
) -> list[tuple[Package, Mutant]]:
    """Choose mutants of each package by chance; in an order by chance, so that any part is fair."""
    chance = random.Random(seed)
    chosen: list[tuple[Package, Mutant]] = []
    for package in packages:
        files = sorted(package.source.rglob("*.py")) or [package.source]
        mutants = [mutant for file in files for mutant in mutants_of(file)]
        chance.shuffle(mutants)
        chosen += [(package, mutant) for mutant in mutants[:most]]
    chance.shuffle(chosen)
    return chosen


def _report(package: Package, verdicts: Sequence[Verdict]) -> bool:
    """Print the figures and the survivors of a package; tell whether enough were noticed."""
    words = Counter(verdict.word for verdict in verdicts)
    tried = len(verdicts) - words["impossible"]
    share = (words["noticed"] + words["timed out"]) / tried if tried else 0.0
    print(
        f"{package.name}: {share:.1%} of {tried} noticed ({words['noticed']} by a failure,"
        f" {words['timed out']} by a timeout), {words['survived']} survived"
    )
    for verdict in sorted(verdicts, key=lambda verdict: str(verdict.mutant)):
        if verdict.word in {"survived", "impossible"}:
            print(f"  {verdict.word}: {verdict.mutant} ({verdict.by})")
    return share >= ENOUGH


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
