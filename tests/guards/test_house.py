"""The tree keeps its own rules: nothing unfinished, no drawer for leftovers, a test per source."""

import re
from pathlib import Path

from tests.project_files import ROOT, project_files

UNFINISHED = re.compile(r"\b(?:TOD[O]|FIXM[E]|XX[X])\b")
SOMEBODYS_MACHINE = re.compile(r"(?<![\w.])/(?:home|root|work|Users)/\w")
DRAWERS = {"common", "helper", "helpers", "misc", "util", "utils"}


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    """Find a pattern and say where."""
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in project_files()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1)
        if pattern.search(line)
    ]


def test_nothing_is_marked_as_unfinished() -> None:
    assert not lines_with(UNFINISHED)


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    assert not lines_with(SOMEBODYS_MACHINE)


def test_no_file_is_a_drawer_for_leftovers() -> None:
    names = {path: path.stem.removeprefix("test_").strip("_") for path in project_files()}
    assert not [path for path, name in names.items() if name in DRAWERS]


def test_every_source_file_has_a_test_file_of_its_name() -> None:
    files = [path.relative_to(ROOT / "src/tarry") for path in project_files("src/tarry")]
    sources = [path for path in files if path.suffix == ".py" and not path.name.startswith("_")]
    wanted = {Path("tests", source.parent, f"test_{source.name}") for source in sources}
    assert wanted
    missing = sorted(str(test) for test in wanted if not (ROOT / test).exists())
    assert not missing, "\n".join(["these are missing:", *missing])
