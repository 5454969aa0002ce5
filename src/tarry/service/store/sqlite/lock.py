"""The dispatcher's role on a database file: a lock that the kernel gives back whatever happens."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from weakref import WeakSet

from msgspec import DecodeError, Struct, json

from tarry.errors import StoreError, StoreOwned


class Holder(Struct, frozen=True):
    """Who has the role, for the message that somebody else gets."""

    pid: int
    worker: str


class DispatcherLock:
    """Held from the first lease until the last one is given back, or the process ends.

    It is a lock on a file beside the database, never deleted: a file made anew under the same name
    would be another lock. If somebody deletes it all the same, who comes then has the role.
    """

    def __init__(self, database: Path) -> None:
        self._database = database
        self._path = database.with_name(database.name + "-dispatcher")
        self._file: int | None = None
        self._workers: set[str] = set()
        _locks.add(self)

    @property
    def workers(self) -> frozenset[str]:
        """Those in this process that have the role; anybody else's leases are over."""
        return frozenset(self._workers)

    def take(self, worker: str) -> None:
        """Take the role, or share it inside this process; StoreOwned if another process has it."""
        if self._file is not None and not self._is_there(self._file):
            os.close(self._file)
            self._file = None
        if self._file is None:
            self._file = self._lock(Holder(os.getpid(), worker))
        self._workers.add(worker)

    def leave(self, worker: str) -> None:
        """A worker has given everything back; with the last one the role is free."""
        self._workers.discard(worker)
        if not self._workers:
            self.give_back()

    def give_back(self) -> None:
        """Let others have the role."""
        self._workers.clear()
        if self._file is not None:
            os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = None

    def stay_behind(self) -> None:
        """Have no part in it: it is the parent's, of which this process was forked."""
        self._workers.clear()
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _is_there(self, file: int) -> bool:
        """Whether this is still the file that others look at, and nobody has deleted it."""
        try:
            return os.path.samestat(os.fstat(file), self._path.stat())
        except OSError:
            return False

    def _lock(self, holder: Holder) -> int:
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StoreError(f"{self._path} cannot be opened: {error.strerror}") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = self._owner(file)
            os.close(file)
            raise StoreOwned(str(self._database), owner) from None
        except OSError as error:  # a network's file system without locks, say
            os.close(file)
            raise StoreError(f"{self._path} cannot be locked: {error.strerror}") from error
        with suppress(OSError):  # a full disk: the lock holds without a name
            os.ftruncate(file, 0)
            os.pwrite(file, json.encode(holder), 0)
        return file

    @staticmethod
    def _owner(file: int) -> str:
        try:
            holder = json.decode(os.pread(file, 1_000, 0), type=Holder)
        except DecodeError:  # it was taken just now, and the name is not written yet
            return "another process"
        return f"process {holder.pid}, worker {holder.worker}"


_locks: WeakSet[DispatcherLock] = WeakSet()


def _stay_behind() -> None:
    """Else the role would be taken for as long as a child lives whose parent is gone."""
    for lock in list(_locks):
        lock.stay_behind()


os.register_at_fork(after_in_child=_stay_behind)
