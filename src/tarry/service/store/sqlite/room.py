"""How much room a database has left: new messages are refused before its disk is full.

What is kept back is for what was accepted already: its attempts can be written down, and retention
can do its work, which needs some room before it gives any back. A file does not get shorter then;
its empty pages are filled again, so they count as room.
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
"""Of a disk so small that this is less, one part in so many is kept back."""
LEAST_FREE_SHARE = 16
"""One part in so many of the reserve must be on the disk itself: the log of writes grows there."""
LOOK = 1.0
"""Seconds between two looks."""
NEAR = 8
"""With less left than so many reserves it is looked at each time: a second's worth of messages can
be more than a small disk has."""


class Disk(Struct, frozen=True):
    """A disk: how many bytes it has, and how many are free."""

    size: int
    free: int


def disk_of(path: Path) -> Disk:
    """The disk that a file is on, as this user may fill it."""
    found = os.statvfs(path.parent)
    return Disk(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)


class Room:
    """Looks at the disk now and then, and says whether there is room for new messages.

    `reserve` is in bytes; 0 never looks, None suits the disk.
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
        """As seen by the last look."""

    def look(self, db: apsw.Connection) -> bool:
        """Whether new messages have to wait; far from it, what was seen within a second counts."""
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
        except (OSError, apsw.Error):  # a folder that is gone: whoever writes will hear of it
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
