"""However many rows there are, each is written once, and by few statements."""

from collections.abc import Sequence

import apsw
import pytest

from tarry.service.store.sqlite.many import LONGEST, write
from tarry.service.store.sqlite.rows import Row

INSERT = "INSERT INTO kept SELECT * FROM (VALUES (?, ?)) WHERE column1 IS NOT NULL"
UPDATE = """
WITH told (number, word) AS (VALUES (?, ?))
UPDATE kept SET word = told.word FROM told WHERE kept.number = told.number
"""


@pytest.fixture
def db() -> apsw.Connection:
    db = apsw.Connection(":memory:")
    db.execute("CREATE TABLE kept (number INTEGER PRIMARY KEY, word TEXT NOT NULL)")
    return db


@pytest.mark.parametrize(
    "count", [0, 1, 7, 8, 9, 63, 64, 65, 71, 72, 73, 128, 499, 500, 501, 573, 1000]
)
def test_each_row_is_written_once(db: apsw.Connection, count: int) -> None:
    rows = [(number, f"word {number}") for number in range(count)]
    write(db, INSERT, rows)
    assert list(db.execute("SELECT number, word FROM kept ORDER BY number")) == rows
    changed = [(number, f"another {number}") for number, _ in rows]
    write(db, UPDATE, changed)
    assert list(db.execute("SELECT number, word FROM kept ORDER BY number")) == changed


@pytest.mark.parametrize(
    ("count", "wanted"), [(1000, 2), (999, 2), (501, 2), (500, 1), (37, 1), (0, 0)]
)
def test_many_rows_are_few_statements(db: apsw.Connection, count: int, wanted: int) -> None:
    assert len(statements(db, INSERT, [(number, "word") for number in range(count)])) == wanted


def test_none_is_too_long_to_be_kept(db: apsw.Connection) -> None:
    columns = 20
    db.execute(f"CREATE TABLE wide ({', '.join(f'c{n}' for n in range(columns))})")
    one = ", ".join("?" * columns)
    insert = f"INSERT INTO wide SELECT * FROM (VALUES ({one})) WHERE column1 IS NOT NULL"  # noqa: S608  of marks only
    steps = statements(db, insert, [(0,) * columns] * 1000)
    assert max(map(len, steps)) <= LONGEST
    assert db.execute("SELECT count(*) FROM wide").get == 1000


def statements(db: apsw.Connection, sql: str, rows: Sequence[Row]) -> list[str]:
    """By which statements rows are written."""
    steps: list[str] = []

    def note(_cursor: apsw.Cursor, sql: str, _values: object) -> bool:
        steps.append(sql)
        return True

    db.exec_trace = note
    write(db, sql, rows)
    return steps


def test_a_row_that_cannot_be_kept_is_an_error(db: apsw.Connection) -> None:
    rows: list[tuple[int, str | None]] = [(number, "word") for number in range(70)]
    rows[65] = (65, None)
    with pytest.raises(apsw.ConstraintError):
        write(db, INSERT, rows)
