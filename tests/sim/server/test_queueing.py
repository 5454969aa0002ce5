import pytest

from tarry.sim.server.queueing import DISCIPLINES, LONGEST_QUEUE_WAIT, TARGET, Discipline, drops_of


@pytest.mark.parametrize("discipline", ["fifo", "lifo"])
def test_some_disciplines_drop_nothing(discipline: Discipline) -> None:
    assert drops_of(discipline, 1.0) is None


@pytest.mark.parametrize(
    ("discipline", "waited", "takes", "stood", "dropped"),
    [
        ("deadline", 1.0, 9.0, 9.0, False),
        ("deadline", 1.1, 0.1, 0.0, True),
        ("feasible", 0.75, 0.25, 9.0, False),
        ("feasible", 0.75, 0.26, 0.0, True),
        ("codel", 9.0, 0.1, LONGEST_QUEUE_WAIT, False),
        ("codel", TARGET, 0.1, 9.0, False),
        ("codel", 0.006, 0.1, 0.11, True),
    ],
)
def test_others_drop_what_comes_too_late(
    discipline: Discipline, waited: float, takes: float, stood: float, *, dropped: bool
) -> None:
    drops = drops_of(discipline, 1.0)
    assert drops is not None
    assert drops(waited, takes, stood) is dropped


def test_every_discipline_is_known_by_name() -> None:
    assert DISCIPLINES == ("fifo", "lifo", "deadline", "feasible", "codel")
