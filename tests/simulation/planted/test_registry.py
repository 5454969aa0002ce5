"""Planted bugs: each has a name and a story, and some are looked for here."""

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


@pytest.mark.parametrize("name", QUICKLY_FOUND)
def test_a_planted_bug_is_found(name: str) -> None:
    (found,) = hunt([name], 0, 40, Frame())
    assert found.rule is not None


def test_without_a_bug_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.simulation.planted.hunt.BUGS", {"none": Bug})
    (found,) = hunt(["none"], 0, 5, Frame())
    assert found.rule is None
    assert found.histories == 5
