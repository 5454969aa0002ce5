from pathlib import Path

import pytest

from tarry.sim.shipped import names, shipped
from tarry.sim.study import study

ROOT = Path(__file__).parents[2]


def test_a_dozen_come_along_in_order() -> None:
    found = names()
    assert len(found) >= 12
    assert found == sorted(found)


def test_they_are_at_hand_in_the_repository_too() -> None:
    assert sorted(path.stem for path in (ROOT / "scenarios").glob("*.toml")) == names()


def test_every_model_has_one() -> None:
    models = {shipped(name).model for name in names()}
    assert models == {"contention", "timeline", "server", "backlog"}


@pytest.mark.parametrize("name", names())
def test_each_says_what_it_is_about_and_brings_something_to_compare(name: str) -> None:
    storm = shipped(name)
    assert storm.name == name
    assert storm.about.endswith(".")
    assert 2 <= len(storm.contestants) <= 5
    assert storm.text.startswith("# ")


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_each_runs_with_all_its_policies(name: str) -> None:
    storm = shipped(name)
    found = study(storm, storm.contestants, seed=1, runs=2)
    assert [result.contestant for result in found.results] == list(storm.contestants)
    for result in found.results:
        assert list(result.metrics) == list(found.measures)
        assert any(estimate.mean is not None for estimate in result.metrics.values())
