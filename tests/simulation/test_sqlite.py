"""A file of SQLite as the store of a history: no threads, no real clock, nothing left behind."""

from pathlib import Path

from msgspec.structs import replace

from tests.simulation.generate import Frame, generate
from tests.simulation.run import run
from tests.simulation.sqlite import SqliteBase
from tests.simulation.steps import History
from tests.simulation.store_link import at_once
from tests.simulation.test_run import CALM


def test_a_calm_history_on_a_file_breaks_no_rule() -> None:
    conditions = replace(CALM.conditions, store="sqlite")
    assert run(History(conditions, CALM.steps)).violations == []


def test_a_seed_gives_the_same_history_twice() -> None:
    frame = Frame(store="sqlite")
    for seed in range(3):
        assert run(generate(seed, frame)).digest == run(generate(seed, frame)).digest


def test_work_is_done_at_once_and_the_file_is_removed() -> None:
    base = SqliteBase(lambda: 1_000.0)
    with base.at_work():
        at_once(base.store.add_environment("org_a"))
        assert at_once(base.store.environments()) == ["org_a"]
        assert at_once(base.store.clock()) == 1_000.0
    path = Path(base.store._threads.path)  # noqa: SLF001  where it is
    assert path.exists()
    base.close()
    assert not path.parent.exists()
