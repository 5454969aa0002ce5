"""A connection is as durable as its settings."""

import time
from pathlib import Path

import apsw
import pytest

from tarry.service.store.sqlite.database import connection
from tarry.service.store.sqlite.database.connection import (
    CACHED_STATEMENTS,
    LOCK_RETRY_SECONDS,
    connect,
    connect_to_read,
)
from tarry.service.store.sqlite.database.rows import WIDTHS
from tarry.service.store.sqlite.queries import SQL
from tarry.service.store.sqlite.reading.listing import DOWN

FULL = 2


def test_commits_reach_the_disk_by_a_log(path: Path) -> None:
    db = connect(path, create=True)
    assert db.pragma("journal_mode") == "wal"
    assert db.pragma("synchronous") == FULL
    db.close()


def test_of_two_who_begin_a_file_at_once_the_second_asks_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = apsw.Connection(str(path))
    first.execute("BEGIN IMMEDIATE")  # SQLite does not wait for this lock, busy handler or not
    naps = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        first.execute("COMMIT")

    monkeypatch.setattr(time, "sleep", nap)
    db = connect(path)
    assert db.pragma("journal_mode") == "wal"
    assert naps == [LOCK_RETRY_SECONDS]
    db.close()


def test_who_asks_again_does_not_do_so_for_ever(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = apsw.Connection(str(path))
    first.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(connection, "LOCK_WAIT_SECONDS", 0.05)
    with pytest.raises(apsw.BusyError):
        connect(path)


def test_a_lock_is_looked_at_often_and_not_for_ever(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = connect(path, create=True), connect(path)
    first.execute("BEGIN IMMEDIATE")
    now, naps = 100.0, []

    def nap(seconds: float) -> None:
        nonlocal now
        now += seconds
        naps.append(seconds)

    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(time, "sleep", nap)
    for _ in range(2):
        with pytest.raises(apsw.BusyError):
            second.execute("BEGIN IMMEDIATE")
    assert set(naps) == {LOCK_RETRY_SECONDS}
    assert 9.9 < sum(naps) < 10.1
    first.execute("COMMIT")
    second.execute("BEGIN IMMEDIATE")
    first.close()
    second.close()


def test_a_file_that_is_not_there_is_made_only_on_demand(path: Path) -> None:
    with pytest.raises(apsw.CantOpenError):
        connect(path)
    assert not path.exists()


def test_a_file_of_another_kind_is_let_go_of(path: Path) -> None:
    path.write_text("these are no pages of a database, and they are long enough to tell" * 20)
    with pytest.raises(apsw.NotADBError):
        connect(path)


def test_a_reader_changes_nothing(path: Path) -> None:
    writer = connect(path, create=True)
    writer.execute("CREATE TABLE word (text)")
    reader = connect_to_read(path)
    with pytest.raises(apsw.ReadOnlyError):
        reader.execute("INSERT INTO word VALUES ('a')")
    reader.close()
    writer.close()


def test_a_query_is_planned_once_whatever_it_is_asked_with(path: Path) -> None:
    connect(path, create=True).close()
    for db in (connect(path), connect_to_read(path)):
        assert db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, -1) == 1
        db.close()


def test_every_query_stays_prepared() -> None:
    wide = [name for name, sql in SQL.items() if "VALUES (?" in sql]
    assert wide
    assert len(SQL) + len(DOWN) + len(wide) * len(WIDTHS) < CACHED_STATEMENTS


def test_the_engine_has_no_known_way_to_corrupt_a_log() -> None:
    assert apsw.sqlite_lib_version().split(".") >= ["3", "51", "3"]
