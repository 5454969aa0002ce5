"""Measure how much room a database has left, to refuse new messages before its disk is full.

The reserve is for accepted messages: their attempts can be saved, and retention can run, which
needs some room before it frees any. The file does not shrink then, but its empty pages are used
again, so they count as room.
"""

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

import apsw
from msgspec import Struct

log = logging.getLogger("tarry.service")

RESERVE = 256_000_000
SMALL_DISK_SHARE = 20
"""On a small disk the reserve is one part in this many of the disk, if that is less."""
LEAST_FREE_SHARE = 16
"""One part in this many of the reserve must be free on the disk itself, where the log grows."""
LOOK = 1.0
"""Seconds between two measurements."""
NEAR = 8
"""With less room than this many reserves, each call measures: a second's worth of messages can be
more than a small disk has."""


class Disk(Struct, frozen=True):
    """The size of a disk and its free space, in bytes."""

    size: int
    free: int


def disk_of(path: Path) -> Disk:
    """Return the disk that a file is on; free space is what this user may fill."""
    found = os.statvfs(path.parent)
    return Disk(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)


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
        self._wanted = reserve
        self._disk = disk
        self._clock = clock
        self._looked_at = -LOOK
        self.is_short = False
        self.left, self.reserve = 0, 0
        """From the last measurement."""

    def look(self, db: apsw.Connection) -> bool:
        """Return whether to refuse new messages. With much room, it measures once a second only."""
        now = self._clock()
        is_near = self.left < NEAR * self.reserve
        if self._wanted != 0 and (is_near or now >= self._looked_at + LOOK):
            self._looked_at = now
            self._measure(db)
        return self.is_short

    def _measure(self, db: apsw.Connection) -> None:
        try:
            disk = self._disk(self._path)
            empty = int(db.pragma("freelist_count")) * int(db.pragma("page_size"))
        except (OSError, apsw.Error):  # the folder is gone: the next write reports it
            return
        small = disk.size // SMALL_DISK_SHARE
        self.reserve = min(RESERVE, small) if self._wanted is None else self._wanted
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
