"""A file of SQLite as the store of a history: its threads' work is done at once, where it is asked.

The file lies in memory where the machine has such a place: what is simulated is not the disk.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast
from unittest.mock import patch

from tarry.service.store.sqlite import threads
from tarry.service.store.sqlite.disk import Room
from tarry.service.store.sqlite.store import SqliteStore, open_sqlite

T = TypeVar("T")

IN_MEMORY = Path("/dev/shm")  # noqa: S108  a file system in memory, if it is there


class SqliteBase:
    """A store on a file of its own. One worker at a time has the dispatcher's role."""

    data = None

    def __init__(self, clock: Callable[[], float]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="tarry-history-", dir=_folder()))
        path = self._folder / "hooks.db"
        path.write_bytes(_empty())
        with _no_threads():
            self.store = SqliteStore(path, clock, Room(path, 0))

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Do the work of all threads at once, as long as the block lasts."""
        with _no_threads():
            yield

    def forget(self, worker: str) -> None:
        """Let a worker that was killed have the dispatcher's role no more, as the kernel does."""
        self.store._threads.lock.leave(worker)  # noqa: SLF001  no other process was really there

    def snapshot(self) -> None:
        """There is no standby: a file is what it is, and nothing is lost."""

    def restart(self) -> None:
        """There is no server."""

    def close(self) -> None:
        """Close and remove the file."""
        running = self.store._threads  # noqa: SLF001  its own way waits for threads
        for one in (running._surveyor, running._browser, running._reader, running._writer):  # noqa: SLF001  likewise
            one.leave()
        running.lock.give_back()
        shutil.rmtree(self._folder)


def _folder() -> Path | None:
    return IN_MEMORY if IN_MEMORY.is_dir() else None


@lru_cache(1)
def _empty() -> bytes:
    """Return the bytes of a database with the right schema and nothing in it."""
    with tempfile.TemporaryDirectory(dir=_folder()) as folder:
        path = Path(folder) / "empty.db"

        async def make() -> None:
            store = await open_sqlite(path)
            await store.close()

        asyncio.run(make())
        return path.read_bytes()


class _NoThread:
    """Stands in for a thread, and does nothing."""

    def __init__(self, **_made: object) -> None:
        self.name = "none"

    def start(self) -> None:
        """There is nothing to start."""

    def is_alive(self) -> bool:
        """Whoever asks may hand in work."""
        return True


async def _do(self: threads.JobThread[Any], work: Callable[[Any], T]) -> T:
    """Do a piece of work where it is asked for."""
    job = threads.Job(work, cast("asyncio.Future[Any]", None))  # nobody has to be told
    self.serve([job])
    self.tidy()
    if job.error is not None:
        raise job.error
    answer: T = job.answer
    return answer


@contextmanager
def _no_threads() -> Iterator[None]:
    with (
        patch.object(threads, "Thread", _NoThread),
        patch.object(threads.JobThread, "do", _do),
        patch.object(threads.Reader, "idle", lambda _self: None),  # it goes by a real clock
    ):
        yield
