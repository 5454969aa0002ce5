"""Print figures about the project: how much code there is, and how it is built.

Started by ./dev measure. `--against` prints the same figures of an earlier revision beside them.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.measure.durations import commit_of, minutes_of_tests
from tests.measure.house import (
    NONE,
    Figures,
    NoDeliveryError,
    duplicates_at,
    figures,
    files_of_a_delivery,
)
from tests.project_files import ROOT

NO_SUCH_REVISION = 2
WIDEST = 42
"""Characters of a cell."""
PASSED = "files that one delivery passes through"
MINUTES = "minutes of the last ./dev test"
NOW = "now"


def main(arguments: Sequence[str]) -> int:
    """Print what the command line asks for."""
    options = _parser().parse_args(arguments)
    measured: dict[str, Figures] = {}
    passed: dict[str, list[str]] = {}
    if options.against is not None:
        commit = commit_of(options.against)
        with unpacked(options.against) as folder:
            if folder is None:
                print(f"git knows no revision {options.against}.", file=sys.stderr)
                return NO_SUCH_REVISION
            measure(options.against, folder, commit, measured, passed)
    measure(NOW, ROOT, None, measured, passed)
    if options.json:
        print(json.dumps({"figures": measured, "files": passed}, indent=2))
        return 0
    print_table(measured)
    if options.files:
        print_files(passed)
    if options.duplicates:
        print_duplicates()
    return 0


def measure(
    column: str,
    root: Path,
    commit: str | None,
    measured: dict[str, Figures],
    passed: dict[str, list[str]],
) -> None:
    """Add the figures of a column, and the files of a delivery if one can be followed."""
    measured[column] = figures(root)
    measured[column][MINUTES] = minutes_of_tests(ROOT / "build", commit)
    try:
        passed[column] = files_of_a_delivery(root)
        measured[column][PASSED] = len(passed[column])
    except NoDeliveryError as error:
        measured[column][PASSED] = NONE
        print(f"{column}: no delivery can be followed: {error}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./dev measure", description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "--against", metavar="REV", help="also measure this revision, for example main"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with all lists of files")
    parser.add_argument(
        "--files", action="store_true", help="list the files that a delivery passes"
    )
    parser.add_argument(
        "--duplicates", action="store_true", help="list the places of src that share lines of code"
    )
    return parser


@contextmanager
def unpacked(revision: str) -> Iterator[Path | None]:
    """Provide a temporary folder with the files of a revision; None if git does not know it."""
    with tempfile.TemporaryDirectory(prefix="tarry-measure-") as folder:
        archive = Path(folder, "revision.zip")
        command = ["git", "archive", f"--output={archive}", "--end-of-options", revision]
        if subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode:
            yield None
            return
        with zipfile.ZipFile(archive) as packed:  # tarfile is safe only since Python 3.11.4
            packed.extractall(Path(folder, "files"))
        yield Path(folder, "files")


def print_table(measured: Mapping[str, Figures]) -> None:
    """Print a line for each figure and a column for each revision."""
    labels = list(dict.fromkeys(label for column in measured.values() for label in column))
    rows = [
        [label, *(shortened(str(column.get(label, "-"))) for column in measured.values())]
        for label in labels
    ]
    rows.insert(0, ["", *measured])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join(cells).rstrip())


def shortened(text: str) -> str:
    """Cut a long name, so that the columns stay side by side."""
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..."


def print_files(passed: Mapping[str, Sequence[str]]) -> None:
    """Print the files that a delivery passes through, marked where the revisions differ."""
    print(f"\n{PASSED}:")
    for file in sorted(set().union(*passed.values())):
        where = [column for column, files in passed.items() if file in files]
        print(f"  {file}" if len(where) == len(passed) else f"  {file}  ({where[0]} only)")


def print_duplicates() -> None:
    """Print the pairs of places of the checkout that share lines of code."""
    print("\nplaces that share lines of code:")
    for one, other in duplicates_at(ROOT):
        print(f"  {one} ~ {other}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
