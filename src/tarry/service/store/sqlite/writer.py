"""The one thread that writes: whatever is asked for while it commits goes into the next commit.

An fsync costs the same for one row and for a thousand, so callers share it. Each has a savepoint of
its own: what fails, fails alone. What many want alike is done in one go, unless that fails. Nobody
gets an answer before the commit they are in is on disk.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar  # Any: works of one kind are handed to their own kind

import apsw

from tarry.errors import StoreError
from tarry.service.store.sqlite.faults import LOST, UNFIT, store_error
from tarry.service.store.sqlite.line import Job, Line
from tarry.service.store.sqlite.session import Session

Work = Job[Session]
Answer = TypeVar("Answer")


class Joint:
    """Work for one caller that can be done in one go with the same work for others."""

    @property
    def weight(self) -> int:
        """How many rows it is about: nobody shall wait for too many of others."""
        raise NotImplementedError

    def __call__(self, session: Session) -> object:
        """Do it alone."""
        raise NotImplementedError

    def together(self, works: Sequence[Any], session: Session) -> Sequence[object]:
        """Do all of these, this one among them; an answer for each."""
        raise NotImplementedError


class Bulk(Generic[Answer]):
    """Work for one caller that changes much: it goes first, and so without a savepoint.

    For a savepoint SQLite copies every page into memory before it is changed.
    """

    def __init__(self, work: Callable[[Session], Answer]) -> None:
        self._work = work

    def __call__(self, session: Session) -> Answer:
        """Do it."""
        return self._work(session)


class Writer(Line[Session]):
    """Does jobs in shared transactions. `open_session` is called again after a connection broke."""

    def __init__(
        self, path: Path, open_session: Callable[[], Session], on_wake: Callable[[], None]
    ) -> None:
        self._path = path
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
            session.require_file()
            self._transact(session, jobs)
        except (StoreError, apsw.Error) as error:
            self._fail(jobs, error)
        else:
            if session.woke:
                self._on_wake()

    def weight(self, job: Work) -> int:
        """A commit of many rows makes all wait who come after it."""
        return job.work.weight if isinstance(job.work, Joint) else 1

    def tidy(self) -> None:
        """Keep the log short while nobody waits."""
        session = self._session
        if session is not None:
            is_short = session.room.look(session.db)
            session.log.tidy(is_short_of_room=is_short, reserve=session.room.reserve)

    def leave(self) -> None:
        """Close the connection: the last one to go copies the log into the file."""
        if self._session is not None:
            self._session.log.leave()
            self._session.db.close(force=True)
            self._session = None

    def _transact(self, session: Session, jobs: list[Work]) -> None:
        session.woke = False
        session.db.execute("BEGIN IMMEDIATE")
        first, *others = _groups(jobs)
        self._do_group(session, first, self._do_first)
        for group in others:
            self._do_group(session, group, self._do)
        session.db.execute("COMMIT")

    def _do_group(
        self, session: Session, group: list[Work], do: Callable[[Session, Work], None]
    ) -> None:
        """Do in one go what can be done so; if that fails, one by one."""
        if len(group) == 1:
            do(session, group[0])
            return
        works: list[Any] = [job.work for job in group]
        whole = Work(partial(works[0].together, works), group[0].future)
        do(session, whole)
        if whole.error is None:
            for job, answer in zip(group, whole.answer, strict=True):
                job.answer = answer
            return
        for job in group:  # one of them is to blame: that one shall fail alone
            self._do(session, job)

    def _do_first(self, session: Session, job: Work) -> None:
        """Without a savepoint: what it did is all that there is to undo."""
        try:
            job.answer = job.work(session)
        except LOST:
            raise
        except Exception as error:  # noqa: BLE001  it is the caller's to hear, not the thread's
            self._refuse(session, job, error, "ROLLBACK", "BEGIN IMMEDIATE")

    def _do(self, session: Session, job: Work) -> None:
        session.db.execute("SAVEPOINT job")
        try:
            job.answer = job.work(session)
            session.db.execute("RELEASE job")
        except LOST:
            raise
        except Exception as error:  # noqa: BLE001  it is the caller's to hear, not the thread's
            self._refuse(session, job, error, "ROLLBACK TO job", "RELEASE job")

    @staticmethod
    def _refuse(session: Session, job: Work, error: Exception, *undo: str) -> None:
        """Undo what a job did, and let its caller hear of the error."""
        if isinstance(error, apsw.Error) and not session.db.in_transaction:
            raise error  # SQLite has rolled all of it back
        job.error = error
        if isinstance(error, (apsw.Error, *UNFIT)):
            job.error = store_error(error, session.path)
        for statement in undo:
            session.db.execute(statement)
        session.forget()

    def _fail(self, jobs: list[Work], error: StoreError | apsw.Error) -> None:
        """Nothing of it was kept: all of them hear so, and the next ones start anew.

        Also those that were refused: what they were refused for may not have been kept.
        """
        if isinstance(error, apsw.Error):
            error = store_error(error, self._path)
        for job in jobs:
            job.error = error
        self.leave()  # which rolls back, whatever state the connection is in


def _groups(jobs: list[Work]) -> list[list[Work]]:
    """What is done in one go, in the order in which it is: what changes much goes first."""
    bulk = next((job for job in jobs if isinstance(job.work, Bulk)), None)
    joint = [job for job in jobs if isinstance(job.work, Joint)]
    alone = [job for job in jobs if job is not bulk and not isinstance(job.work, Joint)]
    groups = [[bulk] if bulk else [], joint, *([job] for job in alone)]
    return [group for group in groups if group]
