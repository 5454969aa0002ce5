"""Messages are refused before the disk is full; a long log is copied beside the work."""

import logging
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import apsw
import pytest

from tarry.errors import DiskNearlyFull
from tarry.service.model.message import Accepted
from tarry.service.store.contract import Retention
from tarry.service.store.sqlite.database.connection import connect, connect_to_read
from tarry.service.store.sqlite.database.disk import (
    LOG_SHARE,
    MEASURE_SECONDS,
    NEAR_RESERVES,
    PAGE_BYTES,
    USUAL_RESERVE,
    Disk,
    Log,
    Room,
    disk_of,
)
from tarry.service.store.sqlite.store import open_sqlite
from tarry.testing.clock import PushedClock
from tarry.testing.samples import NOON, delivered, new_message
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio

GB = 10**9
LONG, MORE = 20, 10
"""Pages of a log, for tests."""


class Filling:
    """A disk of 100 GB, whose free space the test sets."""

    def __init__(self) -> None:
        self.free = 50 * GB
        self.size = 100 * GB
        self.looks = 0
        self.is_gone = False

    def __call__(self, _: Path) -> Disk:
        self.looks += 1
        if self.is_gone:
            raise FileNotFoundError
        return Disk(self.size, self.free)


@pytest.fixture
def disk() -> Filling:
    return Filling()


@pytest.fixture
def clock() -> PushedClock:
    return PushedClock()


@pytest.fixture
def db(path: Path) -> apsw.Connection:
    return connect(path, create=True)


@pytest.fixture
def room(path: Path, disk: Filling, clock: PushedClock) -> Room:
    return Room(path, disk=disk, clock=lambda: clock.now)


@pytest.fixture
async def small(path: Path, room: Room) -> AsyncIterator[Scene]:
    """Provide a store whose disk the test fills."""
    store = await open_sqlite(path, room=room)
    yield await Scene.set_up(store)
    await store.close()


def test_a_disk_that_is_filling_up_is_looked_at_each_time(
    room: Room, db: apsw.Connection, disk: Filling
) -> None:
    disk.free = NEAR_RESERVES * USUAL_RESERVE - 1
    assert not any(room.look(db) for _ in range(5))
    assert disk.looks == 5
    disk.free = 0
    assert room.look(db)
    disk.free = 50 * GB
    assert not room.look(db)
    assert not room.look(db)
    assert disk.looks == 7


def test_the_disk_is_looked_at_once_a_second(
    room: Room, db: apsw.Connection, disk: Filling, clock: PushedClock
) -> None:
    assert not any(room.look(db) for _ in range(10))
    disk.free = 0
    assert not room.look(db)
    assert disk.looks == 1
    clock.push(MEASURE_SECONDS)
    assert room.look(db)
    assert disk.looks == 2


@pytest.mark.parametrize(
    ("size", "reserve"), [(100 * GB, USUAL_RESERVE), (1 * GB, GB // 20), (64_000_000, 3_200_000)]
)
def test_a_small_disk_has_a_small_reserve(
    path: Path, db: apsw.Connection, disk: Filling, size: int, reserve: int
) -> None:
    disk.size, disk.free = size, reserve
    assert not Room(path, disk=disk).look(db)
    disk.free = reserve - 1
    short = Room(path, disk=disk)
    assert short.look(db)
    assert (short.left, short.reserve) == (reserve - 1, reserve)


def test_a_reserve_may_be_said_and_none_never_looks(
    path: Path, db: apsw.Connection, disk: Filling
) -> None:
    disk.free = 5 * GB
    assert Room(path, 6 * GB, disk=disk).look(db)
    assert not Room(path, 4 * GB, disk=disk).look(db)
    disk.free = 0
    looks = disk.looks
    assert not Room(path, 0, disk=disk).look(db)
    assert disk.looks == looks


def test_empty_pages_of_the_file_are_room_but_the_log_needs_some_of_the_disk(
    path: Path, db: apsw.Connection, disk: Filling
) -> None:
    db.execute("CREATE TABLE word (text)")
    db.execute("INSERT INTO word VALUES (zeroblob(16_000_000))")
    disk.free = 1_000_000
    assert Room(path, 16_000_000, disk=disk).look(db)
    db.execute("DELETE FROM word")
    assert not Room(path, 16_000_000, disk=disk).look(db)
    disk.free = 999_999
    assert Room(path, 16_000_000, disk=disk).look(db)


def test_a_folder_that_is_gone_changes_nothing(
    room: Room, db: apsw.Connection, disk: Filling, clock: PushedClock
) -> None:
    disk.free = 0
    assert room.look(db)
    disk.is_gone = True
    clock.push(MEASURE_SECONDS)
    assert room.look(db)


def test_both_turns_are_told_once(
    room: Room,
    db: apsw.Connection,
    disk: Filling,
    clock: PushedClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        for free in (0, 0, GB, GB):
            disk.free = free
            room.look(db)
            clock.push(MEASURE_SECONDS)
    begun, over = (record.getMessage() for record in caplog.records)
    assert "no new messages until there is room: 0 MB are left, 256 MB kept back" in begun
    assert "there is room again: 1000 MB" in over


def test_the_disk_is_that_of_the_file(tmp_path: Path) -> None:
    disk, stats = disk_of(tmp_path / "hooks.db"), os.statvfs(tmp_path)
    assert disk.size == stats.f_blocks * stats.f_frsize
    assert 0 < disk.free < disk.size


async def test_new_messages_are_turned_away_and_all_else_goes_on(
    small: Scene, disk: Filling, clock: PushedClock
) -> None:
    store, first = small.store, new_message(small.application, key="k", fingerprint=b"f")
    await store.add([first])
    disk.free = 10_000_000
    clock.push(MEASURE_SECONDS)
    again, refused = await store.add([first, new_message(small.application)])
    assert again == Accepted(first.message, repeated=True)
    assert isinstance(refused, DiskNearlyFull)
    assert refused.reserve == USUAL_RESERVE
    assert 10_000_000 <= refused.left < 10_100_000, "pages that are free inside the file count too"
    # What was accepted can be settled, cancelled and swept.
    (due,) = await small.due()
    assert await small.settle(delivered(due)) == [True]
    assert await store.cancel(small.application.id, first.message.id, now=NOON) == 0
    assert await store.sweep(Retention(messages_before=NOON + 1), limit=100)
    disk.free = GB
    clock.push(MEASURE_SECONDS)
    (accepted,) = await store.add([new_message(small.application)])
    assert isinstance(accepted, Accepted)


@pytest.fixture
def log_db(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[apsw.Connection]:
    monkeypatch.setattr("tarry.service.store.sqlite.database.disk.LONG_PAGES", LONG)
    monkeypatch.setattr("tarry.service.store.sqlite.database.disk.RETRY_PAGES", MORE)
    db = connect(path, create=True)
    db.execute("CREATE TABLE word (text)")
    yield db
    db.close()


def write(db: apsw.Connection, pages: int) -> None:
    db.execute("INSERT INTO word VALUES (zeroblob(?))", (pages * 4096,))


def copied(db: apsw.Connection) -> bool:
    """Return whether all of the log is in the file."""
    in_log, in_file = db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    return in_log == in_file


def test_a_short_log_is_left_alone(log_db: apsw.Connection, path: Path) -> None:
    log = Log(log_db, path)
    write(log_db, 5)
    log.tidy()
    log.leave()
    assert 5 <= log.pages < LONG
    assert not copied(log_db)


def test_a_long_log_is_copied_and_then_begun_anew(log_db: apsw.Connection, path: Path) -> None:
    log = Log(log_db, path)
    write(log_db, LONG)
    log.tidy()
    log.leave()
    assert log.pages > LONG
    assert copied(log_db)
    write(log_db, 1)
    assert log.pages < LONG


def test_on_a_small_disk_a_log_is_long_sooner(log_db: apsw.Connection, path: Path) -> None:
    log = Log(log_db, path)
    write(log_db, 5)
    log.tidy(reserve=4 * LOG_SHARE * PAGE_BYTES)
    log.leave()
    assert log.pages < LONG
    assert copied(log_db)


def test_what_was_written_while_the_bulk_was_copied_is_copied_too(
    log_db: apsw.Connection, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect_late(path: Path) -> apsw.Connection:
        """Open a snapshot of the file, then let the writer commit once more."""
        late = connect_to_read(path)
        late.execute("BEGIN")
        late.execute("SELECT count(*) FROM word").fetchall()
        write(log_db, 1)
        return late

    log = Log(log_db, path)
    write(log_db, LONG)
    monkeypatch.setattr("tarry.service.store.sqlite.database.disk.connect", connect_late)
    log.tidy()
    log.leave()
    assert not copied(log_db)
    log.tidy()
    assert copied(log_db)


def test_a_log_that_somebody_reads_from_is_tried_again_when_it_has_grown(
    log_db: apsw.Connection, path: Path
) -> None:
    log = Log(log_db, path)
    reader = connect_to_read(path)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM word").fetchall()
    write(log_db, LONG)
    for _ in range(2):
        log.tidy()
        log.leave()
    write(log_db, 1)
    log.tidy()
    assert log.pages > LONG
    assert not copied(log_db)
    reader.execute("ROLLBACK")
    write(log_db, MORE)
    for _ in range(2):
        log.tidy()
        log.leave()
    assert copied(log_db)
    write(log_db, 1)
    assert log.pages < LONG
    reader.close()


def test_where_there_is_no_room_for_a_long_log_it_is_copied_early(
    log_db: apsw.Connection, path: Path
) -> None:
    log = Log(log_db, path)
    write(log_db, MORE)
    assert log.pages < LONG
    log.tidy()
    assert not copied(log_db)
    log.tidy(is_short_of_room=True)
    log.leave()
    assert copied(log_db)
    write(log_db, 1)
    assert log.pages < MORE


def test_a_file_that_is_gone_is_the_writers_to_notice(log_db: apsw.Connection, path: Path) -> None:
    log = Log(log_db, path.with_name("gone.log_db"))
    write(log_db, LONG)
    log.tidy()
    log.leave()
    log.tidy()
    assert copied(log_db)
