"""An SQLite file as the store of a history: no threads, no real clock, no rows of another one."""

from contextlib import closing

from msgspec.structs import replace

from tarry.service.store.kinds import Environment, Environments
from tarry.service.store.sqlite.database.connection import connect
from tarry.service.store.sqlite.database.rows import Row
from tests.simulation.database_file import DatabaseFile
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


def test_work_is_done_at_once() -> None:
    base = SqliteBase(lambda: 1_000.0)
    with base.at_work():
        at_once(base.store.create(Environment("org_a")))
        assert at_once(base.store.read(Environments())) == [Environment("org_a")]
        assert at_once(base.store.server()).now == 1_000.0
    base.close()


def test_the_next_history_has_the_same_file_and_none_of_its_rows() -> None:
    file = DatabaseFile()
    new = _rows(file)
    db = file.lend(connect)
    db.execute("INSERT INTO environment (id) VALUES ('org_a')")
    db.execute("UPDATE shard SET worker = 'worker', epoch = 7, until = 9.0")
    db.execute("DELETE FROM checkup")
    assert _rows(file) != new
    file.clear()
    assert _rows(file) == new


def test_a_connection_is_used_again_unless_it_was_closed_or_left_in_a_transaction() -> None:
    file = DatabaseFile()
    first = file.lend(connect)
    file.clear()
    assert file.lend(connect) is first
    first.execute("BEGIN")
    file.clear()
    second = file.lend(connect)
    assert second is not first
    second.close()
    file.clear()
    assert file.lend(connect) not in {first, second}


def _rows(file: DatabaseFile) -> dict[str, list[Row]]:
    """Return all that a file holds."""
    with closing(connect(file.path)) as db:
        tables = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        return {
            str(name): db.execute(f'SELECT * FROM "{name}"').fetchall()  # noqa: S608  its own
            for (name,) in tables
        }
