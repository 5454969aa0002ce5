"""The disk of a database: how much room is left on it, and how long the write-ahead log may get.

New messages are refused before the disk is full. The reserve is for accepted messages: their
attempts can be saved, and retention can run, which needs some room before it frees any. The file
does not shrink then, but its empty pages are used again, so they count as room.
"""

import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread

import apsw
from msgspec import Struct

from tarry.service.store.sqlite.database.connection import connect

log = logging.getLogger("tarry.service")

USUAL_RESERVE = 256_000_000
"""Bytes to keep free on a large disk, if no setting says how many."""
SMALL_DISK_SHARE = 20
"""On a small disk the reserve is one part in this many of the disk, if that is less."""
LEAST_FREE_SHARE = 16
"""One part in this many of the reserve must be free on the disk itself, where the log grows."""
MEASURE_SECONDS = 1.0
"""Seconds between two measurements."""
NEAR_RESERVES = 8
"""With less room than this many reserves, each call measures: a second's worth of messages can be
more than a small disk has."""

LONG_PAGES = 16_000
"""About 64 MB: a page that many commits change is then copied once."""
RETRY_PAGES = LONG_PAGES // 16
"""How much a log may grow after a copy that could not restart it, before the next try.

When the disk is short of room, this is the length from which a log is copied.
"""
PAGE_BYTES = 4096
LOG_SHARE = 4
"""The log may use one part in this many of the disk reserve: a copy may need the same room again in
the file, and a disk can be small."""


class Disk(Struct, frozen=True):
    """The size of a disk and its free space, in bytes."""

    size: int
    free: int


def disk_of(path: Path) -> Disk:
    """Return the disk that a file is on; free space is what this user may fill."""
    stats = os.statvfs(path.parent)
    return Disk(stats.f_blocks * stats.f_frsize, stats.f_bavail * stats.f_frsize)


def reserve_on(disk: Disk, setting: int | None) -> int:
    """Return the bytes to keep free: the setting, or an amount that fits the disk if it is None."""
    return min(USUAL_RESERVE, disk.size // SMALL_DISK_SHARE) if setting is None else setting


class Room:
    """Measures the disk now and then, and says whether there is room for new messages.

    `reserve` is in bytes. 0 switches the check off, None chooses a reserve that fits the disk.
    """

    def __init__(
        self,
        path: Path,
        reserve: int | None = None,
        *,
        disk: Callable[[Path], Disk] = disk_of,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._reserve_setting = reserve
        self._disk = disk
        self._clock = clock
        self._measured_at = -MEASURE_SECONDS
        self.is_short = False
        self.left, self.reserve = 0, 0
        """In bytes, from the last measurement."""

    def look(self, db: apsw.Connection) -> bool:
        """Return whether to refuse new messages. With much room, it measures once a second only."""
        now = self._clock()
        is_near = self.left < NEAR_RESERVES * self.reserve
        if self._reserve_setting != 0 and (is_near or now >= self._measured_at + MEASURE_SECONDS):
            self._measured_at = now
            self._measure(db)
        return self.is_short

    def _measure(self, db: apsw.Connection) -> None:
        """Measure the free disk space, and log if it fell below the reserve or rose above it."""
        try:
            disk = self._disk(self._path)
            empty = int(db.pragma("freelist_count")) * int(db.pragma("page_size"))
        except (OSError, apsw.Error):  # the folder is gone: the next write reports it
            return
        self.reserve = reserve_on(disk, self._reserve_setting)
        self.left = disk.free + empty
        short = self.left < self.reserve or disk.free < self.reserve // LEAST_FREE_SHARE
        if short is not self.is_short:
            self.is_short = short
            log.warning(
                "%s: %s: %d MB are left, %d MB kept back",
                self._path,
                "no new messages until there is room" if short else "there is room again",
                self.left // 1_000_000,
                self.reserve // 1_000_000,
            )


class Log:
    """Copies the write-ahead log into the file in the background, so that no commit waits.

    SQLite would copy a long log at the end of the commit that made it long, and all callers in that
    commit would wait. Here a thread copies most of it, and the writer copies the pages added
    meanwhile. The next commit restarts the log only if all of it was copied and no reader uses it.
    """

    def __init__(self, db: apsw.Connection, path: Path) -> None:
        self.pages = 0
        self._db = db
        self._path = path
        self._tried = 0
        self._copying: Thread | None = None
        db.set_wal_hook(self._note_log_size)  # this replaces SQLite's own copying

    def tidy(self, *, is_short_of_room: bool = False, reserve: int = 0) -> None:
        """Start to copy a long log, or finish the copy that was started; between transactions.

        `reserve` is the number of bytes kept free on the disk, 0 for none.
        """
        if self._copying is not None:
            if self._copying.is_alive():
                return
            self._copying = None
            _copy_log(self._db)
            self._tried = self.pages
        elif self.pages < self._tried:  # the log was restarted
            self._tried = 0
        long = RETRY_PAGES if is_short_of_room else LONG_PAGES
        if reserve:
            long = min(long, reserve // LOG_SHARE // PAGE_BYTES)
        if self.pages >= max(long, self._tried and self._tried + RETRY_PAGES):
            self._copying = Thread(target=self._copy_bulk, name="tarry-log", daemon=True)
            self._copying.start()

    def leave(self) -> None:
        """Wait until the running copy has ended."""
        if self._copying is not None:
            self._copying.join()

    def _note_log_size(self, _db: apsw.Connection, _name: str, pages: int) -> int:
        """Note how many pages the log has; SQLite calls this after each commit."""
        self.pages = pages
        return apsw.SQLITE_OK

    def _copy_bulk(self) -> None:
        """Copy the write-ahead log into the database file, on a connection of its own."""
        with suppress(apsw.Error):  # the file is gone: the next write reports it
            db = connect(self._path)
            _copy_log(db)
            db.close()


def _copy_log(db: apsw.Connection) -> None:
    """Copy the log into the database file, as far as no reader needs it."""
    with suppress(apsw.Error):  # the pages stay in the log until the next try
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
