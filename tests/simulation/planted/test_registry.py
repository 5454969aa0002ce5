"""Planted bugs: each has a name and a story, and some are looked for here."""

from pathlib import Path

import pytest

from tests.simulation.generate import Frame
from tests.simulation.planted.bug import Bug
from tests.simulation.planted.hunt import hunt
from tests.simulation.planted.registry import BUGS

QUICKLY_FOUND = (
    "lost wake-up",
    "silent add",
    "lost settlement",
    "delivered on failure",
    "given up early",
    "acknowledged early",
    "narrow fan-out",
    "restless",
)


def test_every_bug_tells_its_own_story() -> None:
    stories = {bug.story for bug in BUGS.values()}
    assert len(stories) == len(BUGS) >= 25
    assert Bug.story not in stories


def test_the_documentation_has_a_row_for_every_bug() -> None:
    text = (Path(__file__).parents[3] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = text.partition("./dev simulate --planted")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")]
    assert [row[0].removeprefix("| ") for row in rows[1:]] == list(BUGS)
    assert [row[1] for row in rows[1:]] == [bug.story for bug in BUGS.values()]


@pytest.mark.parametrize("name", QUICKLY_FOUND)
def test_a_planted_bug_is_found(name: str) -> None:
    (found,) = hunt([name], 0, 40, Frame())
    assert found.rule is not None


def test_without_a_bug_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.simulation.planted.hunt.BUGS", {"none": Bug})
    (found,) = hunt(["none"], 0, 5, Frame())
    assert found.rule is None
    assert found.histories == 5
