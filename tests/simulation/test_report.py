"""Histories are printed as lines, and saved to be run again."""

from tests.simulation.generate import generate
from tests.simulation.report import read, told, written
from tests.simulation.steps import Conditions, History, Kill


def test_a_history_that_was_written_down_is_the_same() -> None:
    for seed in range(20):
        history = generate(seed)
        assert read(written(history)) == history


def test_a_history_is_told_step_by_step() -> None:
    lines = list(told(History(Conditions(seed=7), (Kill(at=1.5, worker=2),))))
    assert lines[0].startswith("Conditions(seed=7")
    assert lines[1:] == ["     1.500 s  Kill(worker=2)"]
