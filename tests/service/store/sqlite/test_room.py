"""Messages are turned away before the disk is full, and taken again once there is room."""

import logging
import os
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from tarry.errors import DiskNearlyFull
from tarry.service.model.message import Accepted
from tarry.service.store.contract import Retention
from tarry.service.store.sqlite.connection import connect
from tarry.service.store.sqlite.room import LOOK, NEAR, RESERVE, Disk, Room, disk_of
from tarry.service.store.sqlite.store import open_sqlite
from tarry.testing.clock import PushedClock
from tarry.testing.samples import NOON, delivered, new_message
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio

GB = 10**9


class Filling:
    """A disk of 100 GB, as full as a test wants it."""

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
    """A store whose disk the test fills."""
    store = await open_sqlite(path, room=room)
    yield await Scene.set_up(store)
    await store.close()


def test_a_disk_that_is_filling_up_is_looked_at_each_time(
    room: Room, db: apsw.Connection, disk: Filling
) -> None:
    disk.free = NEAR * RESERVE - 1
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
    clock.push(LOOK)
    assert room.look(db)
    assert disk.looks == 2


@pytest.mark.parametrize(
    ("size", "reserve"), [(100 * GB, RESERVE), (1 * GB, GB // 20), (64_000_000, 3_200_000)]
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
    clock.push(LOOK)
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
            clock.push(LOOK)
    begun, over = (record.getMessage() for record in caplog.records)
    assert "no new messages until there is room: 0 MB are left, 256 MB kept back" in begun
    assert "there is room again: 1000 MB" in over


def test_the_disk_is_that_of_the_file(tmp_path: Path) -> None:
    found, told = disk_of(tmp_path / "hooks.db"), os.statvfs(tmp_path)
    assert found.size == told.f_blocks * told.f_frsize
    assert 0 < found.free < found.size


async def test_new_messages_are_turned_away_and_all_else_goes_on(
    small: Scene, disk: Filling, clock: PushedClock
) -> None:
    store, first = small.store, new_message(small.application, key="k", fingerprint=b"f")
    await store.add([first])
    disk.free = 10_000_000
    clock.push(LOOK)
    again, refused = await store.add([first, new_message(small.application)])
    assert again == Accepted(first.message, repeated=True)
    assert isinstance(refused, DiskNearlyFull)
    assert refused.reserve == RESERVE
    assert 10_000_000 <= refused.left < 10_100_000, "pages that are free inside the file count too"
    # What was accepted can be settled, cancelled and swept.
    (due,) = await small.due()
    assert await small.settle(delivered(due)) == [True]
    assert await store.cancel(small.application.id, first.message.id, now=NOON) == 0
    assert await store.sweep(Retention(messages_before=NOON + 1), limit=100)
    disk.free = GB
    clock.push(LOOK)
    (accepted,) = await store.add([new_message(small.application)])
    assert isinstance(accepted, Accepted)
