"""Planted bugs: each has a name and a story, and is found where the documentation says."""

from pathlib import Path

import pytest

from tests.simulation.generate import Frame
from tests.simulation.planted.bug import Bug
from tests.simulation.planted.hunt import hunt
from tests.simulation.planted.registry import BUGS


def table() -> list[list[str]]:
    """Return the rows of ARCHITECTURE.md: bug, story, broken rule, histories until it is found."""
    text = (Path(__file__).parents[3] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = text.partition("./dev simulate --planted")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [line.strip("| ").split(" | ") for line in lines[1:]]


def test_every_bug_tells_its_own_story() -> None:
    stories = {bug.story for bug in BUGS.values()}
    assert len(stories) == len(BUGS) >= 25
    assert Bug.story not in stories


def test_the_documentation_has_a_row_for_every_bug() -> None:
    assert [row[0] for row in table()] == list(BUGS)
    assert [row[1] for row in table()] == [bug.story for bug in BUGS.values()]


@pytest.mark.parametrize(("name", "rule", "histories"), [(row[0], *row[2:]) for row in table()])
def test_a_planted_bug_is_found_where_the_documentation_says(
    name: str, rule: str, histories: str
) -> None:
    (found,) = hunt([name], int(histories) - 1, 1, Frame())
    assert found.rule == rule


def test_a_bug_is_not_found_earlier_than_the_documentation_says() -> None:
    late = [row for row in table() if 2 <= int(row[3]) <= 10]
    assert late
    for name, _, _, histories in late:
        (found,) = hunt([name], 0, int(histories) - 1, Frame())
        assert found.rule is None


def test_without_a_bug_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.simulation.planted.hunt.BUGS", {"none": Bug})
    (found,) = hunt(["none"], 0, 5, Frame())
    assert found.rule is None
    assert found.histories == 5
