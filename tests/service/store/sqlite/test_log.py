"""A long log is copied beside the work, and begun anew as soon as nobody reads from it."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from tarry.service.store.sqlite import log
from tarry.service.store.sqlite.connection import connect, connect_to_read
from tarry.service.store.sqlite.log import Log

LONG, MORE = 20, 10


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "LONG_PAGES", LONG)
    monkeypatch.setattr(log, "MORE_PAGES", MORE)


@pytest.fixture
def db(path: Path) -> Iterator[apsw.Connection]:
    db = connect(path, create=True)
    db.execute("CREATE TABLE word (text)")
    yield db
    db.close()


def write(db: apsw.Connection, pages: int) -> None:
    db.execute("INSERT INTO word VALUES (zeroblob(?))", (pages * 4096,))


def copied(db: apsw.Connection) -> bool:
    """Tell whether all of the log is in the file."""
    in_log, in_file = db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    return in_log == in_file


def test_a_short_log_is_left_alone(db: apsw.Connection, path: Path) -> None:
    kept = Log(db, path)
    write(db, 5)
    kept.tidy()
    kept.leave()
    assert 5 <= kept.pages < LONG
    assert not copied(db)


def test_a_long_log_is_copied_and_then_begun_anew(db: apsw.Connection, path: Path) -> None:
    kept = Log(db, path)
    write(db, LONG)
    kept.tidy()
    kept.leave()
    assert kept.pages > LONG
    assert copied(db)
    write(db, 1)
    assert kept.pages < LONG


def test_on_a_small_disk_a_log_is_long_sooner(db: apsw.Connection, path: Path) -> None:
    kept = Log(db, path)
    write(db, 5)
    kept.tidy(reserve=4 * log.SHARE * log.PAGE)
    kept.leave()
    assert kept.pages < LONG
    assert copied(db)


def test_what_was_written_while_the_bulk_was_copied_is_copied_too(
    db: apsw.Connection, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect_late(path: Path) -> apsw.Connection:
        """Open the file when the writer has gone on, and see no more than there was before."""
        late = connect_to_read(path)
        late.execute("BEGIN")
        late.execute("SELECT count(*) FROM word").fetchall()
        write(db, 1)
        return late

    kept = Log(db, path)
    write(db, LONG)
    monkeypatch.setattr(log, "connect", connect_late)
    kept.tidy()
    kept.leave()
    assert not copied(db)
    kept.tidy()
    assert copied(db)


def test_a_log_that_somebody_reads_from_is_tried_again_when_it_has_grown(
    db: apsw.Connection, path: Path
) -> None:
    kept = Log(db, path)
    reader = connect_to_read(path)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM word").fetchall()
    write(db, LONG)
    for _ in range(2):
        kept.tidy()
        kept.leave()
    write(db, 1)
    kept.tidy()
    assert kept.pages > LONG
    assert not copied(db)
    reader.execute("ROLLBACK")
    write(db, MORE)
    for _ in range(2):
        kept.tidy()
        kept.leave()
    assert copied(db)
    write(db, 1)
    assert kept.pages < LONG
    reader.close()


def test_where_there_is_no_room_for_a_long_log_it_is_copied_early(
    db: apsw.Connection, path: Path
) -> None:
    kept = Log(db, path)
    write(db, MORE)
    assert kept.pages < LONG
    kept.tidy()
    assert not copied(db)
    kept.tidy(is_short_of_room=True)
    kept.leave()
    assert copied(db)
    write(db, 1)
    assert kept.pages < MORE


def test_a_file_that_is_gone_is_the_writers_to_notice(db: apsw.Connection, path: Path) -> None:
    kept = Log(db, path.with_name("gone.db"))
    write(db, LONG)
    kept.tidy()
    kept.leave()
    kept.tidy()
    assert copied(db)
