"""A thread that reads from a snapshot on its own connection, so that it never waits for a commit.

With a listener, it also checks now and then whether another process has woken a lane.
"""

from collections.abc import Callable
from pathlib import Path
from time import monotonic

import apsw

from tarry.service.store.sqlite.connection import connect_to_read
from tarry.service.store.sqlite.faults import LOST, UNFIT, store_error
from tarry.service.store.sqlite.line import Job, Line
from tarry.service.store.sqlite.queries import SQL

LOOK_EVERY = 0.1


class Reader(Line[apsw.Connection]):
    """Runs each job in its own read transaction."""

    MOST = 1  # no caller waits for the answer to another one

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._db: apsw.Connection | None = None
        self._on_wake: Callable[[], None] | None = None
        self._looked_at = 0.0
        self._seen = 0
        super().__init__(name)

    def watch(self, on_wake: Callable[[], None]) -> None:
        """From now on, call `on_wake` on this thread when any process has woken lanes."""
        self._on_wake = on_wake
        self.stir()

    def patience(self) -> float | None:
        """Return the time between two checks for woken lanes, if there is a listener."""
        return None if self._on_wake is None else LOOK_EVERY

    def idle(self) -> None:
        """Check whether a lane was woken."""
        if self._on_wake is None:
            return
        self._looked_at = monotonic()
        try:
            if self._woken(self._connection()):
                self._on_wake()
        except apsw.Error as error:
            self._let_go(error)  # the next read or write reports it

    def serve(self, jobs: list[Job[apsw.Connection]]) -> None:
        """Run the jobs; also check for woken lanes if there was no idle time for that."""
        for job in jobs:
            try:
                job.answer = self._read(job.work)
            except apsw.Error as error:
                self._let_go(error)
                job.error = store_error(error, self._path)
            except UNFIT as error:
                job.error = store_error(error, self._path)
            except Exception as error:  # noqa: BLE001  it goes to the caller; the thread goes on
                job.error = error
        if monotonic() - self._looked_at >= LOOK_EVERY:
            self.idle()

    def leave(self) -> None:
        """Close the connection."""
        if self._db is not None:
            self._db.close(force=True)
            self._db = None

    def _read(self, work: Callable[[apsw.Connection], object]) -> object:
        db = self._connection()
        db.execute("BEGIN")
        try:
            return work(db)
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")

    def _woken(self, db: apsw.Connection) -> bool:
        seen, self._seen = self._seen, db.pragma("data_version")
        return seen != self._seen and db.execute(SQL["woken_any"]).fetchone() is not None

    def _connection(self) -> apsw.Connection:
        if self._db is None:
            self._db = connect_to_read(self._path)
        return self._db

    def _let_go(self, error: apsw.Error) -> None:
        if isinstance(error, LOST):
            self.leave()
