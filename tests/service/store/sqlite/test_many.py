"""However many rows there are, each is inserted once, and by few statements."""

from collections.abc import Sequence

import apsw
import pytest

from tarry.service.store.sqlite.many import WIDTHS, insert, widened
from tarry.service.store.sqlite.queries import SQL
from tarry.service.store.sqlite.rows import Row

INSERT = "INSERT INTO kept (number, word) VALUES (?, ?)"
LONGEST = 16 * 1024
"""A longer statement apsw does not keep."""


@pytest.fixture
def db() -> apsw.Connection:
    db = apsw.Connection(":memory:")
    db.execute("CREATE TABLE kept (number INTEGER PRIMARY KEY, word TEXT NOT NULL)")
    return db


@pytest.mark.parametrize(
    "count", [0, 1, 7, 8, 9, 63, 64, 65, 71, 72, 73, 128, 499, 500, 501, 573, 1000]
)
def test_each_row_is_inserted_once(db: apsw.Connection, count: int) -> None:
    rows = [(number, f"word {number}") for number in range(count)]
    insert(db, INSERT, rows)
    assert list(db.execute("SELECT number, word FROM kept ORDER BY number")) == rows


@pytest.mark.parametrize(("count", "wanted"), [(1000, 2), (999, 1 + 499 // 64 + 51 // 8 + 3)])
def test_many_rows_are_few_statements(db: apsw.Connection, count: int, wanted: int) -> None:
    assert len(statements(db, INSERT, [(number, "word") for number in range(count)])) == wanted


@pytest.mark.parametrize("name", ["add_message", "add_first", "add_delivery"])
def test_none_is_too_long_to_be_kept(name: str) -> None:
    assert len(widened(SQL[name], WIDTHS[0])) < LONGEST


def statements(db: apsw.Connection, sql: str, rows: Sequence[Row]) -> list[str]:
    """By which statements rows are inserted."""
    steps: list[str] = []

    def note(_cursor: apsw.Cursor, sql: str, _values: object) -> bool:
        steps.append(sql)
        return True

    db.exec_trace = note
    insert(db, sql, rows)
    return steps


def test_a_row_that_cannot_be_kept_is_an_error(db: apsw.Connection) -> None:
    rows: list[tuple[int, str | None]] = [(number, "word") for number in range(70)]
    rows[65] = (65, None)
    with pytest.raises(apsw.ConstraintError):
        insert(db, INSERT, rows)
