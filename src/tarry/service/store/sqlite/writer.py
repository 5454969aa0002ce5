"""The one thread that writes: whatever is asked for while it commits goes into the next commit.

An fsync costs the same for one row and for a thousand, so callers share it. Each has a savepoint of
its own: what fails, fails alone. Nobody gets an answer before the commit they are in is on disk.
"""

from collections.abc import Callable

import apsw

from tarry.errors import StoreError
from tarry.service.store.sqlite.faults import LOST, store_error
from tarry.service.store.sqlite.line import Job, Line
from tarry.service.store.sqlite.session import Session

Work = Job[Session]


class Writer(Line[Session]):
    """Does jobs in shared transactions. `open_session` is called again after a connection broke."""

    def __init__(self, open_session: Callable[[], Session], on_wake: Callable[[], None]) -> None:
        self._open_session = open_session
        self._on_wake = on_wake
        self._session: Session | None = None
        super().__init__("tarry-writer")

    def serve(self, jobs: list[Work]) -> None:
        """Do all of them in one transaction."""
        if not jobs:
            return
        try:
            session = self._session = self._session or self._open_session()
            session.woke = False
            self._transact(session, jobs)
        except (StoreError, apsw.Error) as error:
            self._fail(jobs, error)
            return
        if session.woke:
            self._on_wake()

    def leave(self) -> None:
        """Close the connection: the last one to go copies the log into the file."""
        if self._session is not None:
            self._session.db.close()
            self._session = None

    def _transact(self, session: Session, jobs: list[Work]) -> None:
        session.db.execute("BEGIN IMMEDIATE")
        for job in jobs:
            self._do(session, job)
        self._commit(session)

    def _commit(self, session: Session) -> None:
        session.db.execute("COMMIT")

    def _do(self, session: Session, job: Work) -> None:
        session.db.execute("SAVEPOINT job")
        try:
            job.answer = job.work(session)
            session.db.execute("RELEASE job")
        except apsw.Error as error:
            if not session.db.in_transaction:  # SQLite has rolled all of it back
                raise
            self._undo(session)
            if isinstance(error, LOST):
                raise
            job.error = store_error(error, session.path)
        except Exception as error:  # noqa: BLE001  it is the caller's to hear, not the thread's
            self._undo(session)
            job.error = error

    @staticmethod
    def _undo(session: Session) -> None:
        session.db.execute("ROLLBACK TO job")
        session.db.execute("RELEASE job")
        session.forget()

    def _fail(self, jobs: list[Work], error: StoreError | apsw.Error) -> None:
        session = self._session
        if session is not None:
            session.forget()
            if session.db.in_transaction:
                session.db.execute("ROLLBACK")
            if isinstance(error, apsw.Error):
                told = store_error(error, session.path)
                if isinstance(error, LOST):
                    self.leave()
                error = told
        for job in jobs:
            if job.error is None:
                job.error = error
