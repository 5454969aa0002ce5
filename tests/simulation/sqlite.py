"""An SQLite file as the store of a history: the work of its threads is done at once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast
from unittest.mock import patch

from tarry.service.store.sqlite.database import threads
from tarry.service.store.sqlite.database.disk import Room
from tarry.service.store.sqlite.store import SqliteStore
from tests.simulation.database_file import DatabaseFile

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

_free: list[DatabaseFile] = []
"""The files that no history uses just now."""


class SqliteBase:
    """A store on a file of its own. One worker at a time has the dispatcher's role."""

    data = None

    def __init__(self, clock: Callable[[], float]) -> None:
        self._file = _free.pop() if _free else DatabaseFile()
        self._file.clear()
        with _no_threads():
            self.store = SqliteStore(self._file.path, clock, Room(self._file.path, 0))

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Do the work of all threads at once inside the block."""
        with _no_threads(), self._file.in_use():
            yield

    def forget(self, worker: str) -> None:
        """Release the dispatcher's role of a killed worker, as the kernel does."""
        self.store._threads.lock.leave(worker)  # noqa: SLF001  no other process was really there

    def snapshot(self) -> None:
        """Return None: a file has no standby, so nothing can be lost."""

    def restart(self) -> None:
        """Do nothing: there is no server."""

    def close(self) -> None:
        """Release the file for the next history."""
        self.store._threads.lock.give_back()  # noqa: SLF001  its own way waits for threads
        _free.append(self._file)


class _NoThread:
    """Replaces a thread, and does nothing."""

    def __init__(self, **_made: object) -> None:
        self.name = "none"

    def start(self) -> None:
        """Do nothing."""

    def is_alive(self) -> bool:
        """Return True, so that callers submit work."""
        return True


async def _do(self: threads.JobThread[Any], work: Callable[[Any], T]) -> T:
    """Do a piece of work in the caller's thread."""
    job = threads.Job(work, cast("asyncio.Future[Any]", None))  # no caller waits for it
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
        patch.object(threads.Reader, "idle", lambda _self: None),  # it uses a real clock
    ):
        yield
