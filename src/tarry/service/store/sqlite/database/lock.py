"""The dispatcher's role on a database file: a file lock, which the kernel frees in any case."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from weakref import WeakSet

from msgspec import DecodeError, Struct, json

from tarry.errors import StoreError, StoreOwned
from tarry.service.store.sqlite.database.private_file import OWNER_ONLY


class Holder(Struct, frozen=True):
    """The process that has the role, to be named in the error that other processes get."""

    pid: int
    worker: str


class DispatcherLock:
    """Held from the first lease until the last one is given back, or the process ends.

    It locks a file beside the database, which only the owner of the process can open: otherwise any
    user of the machine could lock it. The file is never deleted, because a new file of the
    same name would be another lock. If a person deletes it anyway, the next process that takes
    the role gets it.
    """

    def __init__(self, database: Path) -> None:
        self._database = database
        self._path = database.with_name(database.name + "-dispatcher")
        self._file: int | None = None
        self._workers: set[str] = set()
        _locks.add(self)

    @property
    def workers(self) -> frozenset[str]:
        """The workers of this process that have the role; all other leases are over."""
        return frozenset(self._workers)

    def take(self, worker: str) -> None:
        """Take the role, or share it inside this process; StoreOwned if another process has it."""
        if self._file is not None and not self._is_at_path(self._file):
            os.close(self._file)
            self._file = None
        if self._file is None:
            self._file = self._lock(Holder(os.getpid(), worker))
        self._workers.add(worker)

    def leave(self, worker: str) -> None:
        """Remove a worker that gave back all its leases; after the last one the role is free."""
        self._workers.discard(worker)
        if not self._workers:
            self.give_back()

    def give_back(self) -> None:
        """Release the role."""
        self._workers.clear()
        if self._file is not None:
            os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = None

    def close_in_child(self) -> None:
        """Close the lock in a forked child: the role belongs to the parent."""
        self._workers.clear()
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _is_at_path(self, file: int) -> bool:
        """Return whether this is still the file at the path, so that others lock the same one."""
        try:
            return os.path.samestat(os.fstat(file), self._path.stat())
        except OSError:
            return False

    def _lock(self, holder: Holder) -> int:
        """Lock the lock file and write the holder into it; StoreOwned if another process has it."""
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, OWNER_ONLY)
        except OSError as error:
            raise StoreError(f"{self._path} cannot be opened: {error.strerror}") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = self._owner(file)
            os.close(file)
            raise StoreOwned(str(self._database), owner) from None
        except OSError as error:  # for example a network file system without locks
            os.close(file)
            raise StoreError(f"{self._path} cannot be locked: {error.strerror}") from error
        with suppress(OSError):  # the disk is full: the lock works without the holder's name
            os.ftruncate(file, 0)
            os.pwrite(file, json.encode(holder), 0)
        return file

    @staticmethod
    def _owner(file: int) -> str:
        """Return the words for the process that holds the lock."""
        try:
            holder = json.decode(os.pread(file, 1_000, 0), type=Holder)
        except DecodeError:  # it was locked just now, and the holder is not written yet
            return "another process"
        return f"process {holder.pid}, worker {holder.worker}"


_locks: WeakSet[DispatcherLock] = WeakSet()


def _close_locks_in_child() -> None:
    """Close the locks in a forked child: it would hold the role after its parent has ended."""
    for lock in list(_locks):
        lock.close_in_child()


os.register_at_fork(after_in_child=_close_locks_in_child)
