"""However many rows there are, each is inserted once, and by few statements."""

import apsw
import pytest

from tarry.service.store.sqlite.many import insert

INSERT = "INSERT INTO kept (number, word) VALUES (?, ?)"


@pytest.fixture
def db() -> apsw.Connection:
    db = apsw.Connection(":memory:")
    db.execute("CREATE TABLE kept (number INTEGER PRIMARY KEY, word TEXT NOT NULL)")
    return db


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 63, 64, 65, 71, 72, 73, 128, 1000])
def test_each_row_is_inserted_once(db: apsw.Connection, count: int) -> None:
    rows = [(number, f"word {number}") for number in range(count)]
    insert(db, INSERT, rows)
    assert list(db.execute("SELECT number, word FROM kept ORDER BY number")) == rows


def test_a_thousand_rows_are_some_twenty_statements(db: apsw.Connection) -> None:
    steps: list[str] = []

    def note(_cursor: apsw.Cursor, sql: str, _values: object) -> bool:
        steps.append(sql)
        return True

    db.exec_trace = note
    insert(db, INSERT, [(number, "word") for number in range(1000)])
    assert len(steps) == 1000 // 64 + (1000 % 64) // 8 == 20


def test_a_row_that_cannot_be_kept_is_an_error(db: apsw.Connection) -> None:
    rows: list[tuple[int, str | None]] = [(number, "word") for number in range(70)]
    rows[65] = (65, None)
    with pytest.raises(apsw.ConstraintError):
        insert(db, INSERT, rows)
