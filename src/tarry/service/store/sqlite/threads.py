"""The threads of a store in a file: one writes, one reads for the dispatcher, one for all others.

So reading the catalogue delays no delivery, and no read waits for a commit. Queries that read many
rows have another thread.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import apsw

from tarry.service.store.sqlite.lock import DispatcherLock
from tarry.service.store.sqlite.nudges import Nudges
from tarry.service.store.sqlite.reader import Reader
from tarry.service.store.sqlite.room import Room
from tarry.service.store.sqlite.session import Session
from tarry.service.store.sqlite.writer import Writer

Answer = TypeVar("Answer")


class Threads:
    """The threads, the lock and the clock that all parts of the store share."""

    def __init__(
        self,
        path: Path,
        clock: Callable[[], float],
        room: Room | None = None,
        *,
        most_waiting: int | None = None,
    ) -> None:
        self.path = path
        self.clock = clock
        self.lock = DispatcherLock(path)
        self.nudges = Nudges()
        room = room or Room(path)
        self._writer = Writer(
            path, lambda: Session(path, clock, room, most_waiting=most_waiting), self.nudges
        )
        self._reader = Reader(path, "tarry-reader")
        self._browser = Reader(path, "tarry-browser")
        self._surveyor = Reader(path, "tarry-surveyor")

    async def write(self, work: Callable[[Session], Answer]) -> Answer:
        """Run work in a transaction that is on disk when this returns."""
        return await self._writer.do(work)

    async def read(self, work: Callable[[apsw.Connection], Answer]) -> Answer:
        """Read from a snapshot, for the dispatcher."""
        return await self._reader.do(work)

    async def browse(self, work: Callable[[apsw.Connection], Answer]) -> Answer:
        """Read from a snapshot, for people and programs that use the API."""
        return await self._browser.do(work)

    async def survey(self, work: Callable[[apsw.Connection], Answer]) -> Answer:
        """Read from a snapshot in a query that can take long; no other query waits for it."""
        return await self._surveyor.do(work)

    def listen(self, nudge: Callable[[], None]) -> None:
        """Call `nudge` when a lane was woken, here or by another process."""
        self.nudges.add(nudge)
        self._reader.watch(self.nudges)

    async def close(self) -> None:
        """End the threads, the writer last, and give the dispatcher's role back."""
        await self._surveyor.close()
        await self._browser.close()
        await self._reader.close()
        await self._writer.close()
        self.lock.give_back()
