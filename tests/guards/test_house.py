"""The tree keeps its own rules: nothing unfinished, no drawer for leftovers, a test per source."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = (".ci", "benchmarks", "docs", "examples", "requirements", "src", "tests")
UNFINISHED = re.compile(r"\b(?:TOD[O]|FIXM[E]|XX[X])\b")
SOMEBODYS_MACHINE = re.compile(r"(?<![\w.])/(?:home|root|work|Users)/\w")
DRAWERS = {"common", "helper", "helpers", "misc", "util", "utils"}


def files() -> Iterator[Path]:
    """Give every file of the project, and nothing that a tool has left behind."""
    yield from (path for path in ROOT.iterdir() if path.is_file() and path.name != ".coverage")
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    """Find a pattern and say where."""
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in files()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1)
        if pattern.search(line)
    ]


def test_nothing_is_marked_as_unfinished() -> None:
    assert not lines_with(UNFINISHED)


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    assert not lines_with(SOMEBODYS_MACHINE)


def test_no_file_is_a_drawer_for_leftovers() -> None:
    assert not [path for path in files() if path.stem.removeprefix("test_").strip("_") in DRAWERS]


def test_every_source_file_has_a_test_file_of_its_name() -> None:
    package = ROOT / "src" / "tarry"
    sources = (path.relative_to(package) for path in package.rglob("[!_]*.py"))
    wanted = {Path("tests", source.parent, f"test_{source.name}") for source in sources}
    missing = sorted(str(test) for test in wanted if not (ROOT / test).exists())
    assert not missing, "\n".join(["these are missing:", *missing])
