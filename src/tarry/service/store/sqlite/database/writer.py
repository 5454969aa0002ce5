"""The one thread that writes: all jobs that arrive during a commit go into the next one.

An fsync costs the same for one row and for a thousand, so callers share it. Each job has its own
savepoint, so that only the job that fails is undone. Jobs of the same kind run as one, unless that
fails. A caller gets its answer only after its commit is on disk.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar  # Any: works of one kind are handed to their own kind

import apsw

from tarry.errors import StoreError
from tarry.service.store.sqlite.database.faults import LOST, UNFIT, store_error
from tarry.service.store.sqlite.database.session import Session
from tarry.service.store.sqlite.database.threads import Job, JobThread

Work = Job[Session]
Answer = TypeVar("Answer")


class Joint:
    """A job of one caller that can run as one with the same jobs of other callers."""

    @property
    def weight(self) -> int:
        """Return the number of rows: it limits how long one caller waits for the others."""
        raise NotImplementedError

    def __call__(self, session: Session) -> object:
        """Run this job alone."""
        raise NotImplementedError

    def together(self, works: Sequence[Any], session: Session) -> Sequence[object]:
        """Run all these jobs, including this one, and return an answer for each."""
        raise NotImplementedError


class Bulk(Generic[Answer]):
    """A job of one caller that changes many rows. It runs first, and so without a savepoint.

    With a savepoint, SQLite would copy every page into memory before its change.
    """

    def __init__(self, work: Callable[[Session], Answer]) -> None:
        self._work = work

    def __call__(self, session: Session) -> Answer:
        """Run the job."""
        return self._work(session)


class Writer(JobThread[Session]):
    """Runs jobs in shared transactions. After a broken connection it calls `open_session` again."""

    def __init__(
        self, path: Path, open_session: Callable[[], Session], on_wake: Callable[[], None]
    ) -> None:
        self._path = path
        self._open_session = open_session
        self._on_wake = on_wake
        self._session: Session | None = None
        super().__init__("tarry-writer")

    def serve(self, jobs: list[Work]) -> None:
        """Run all jobs in one transaction."""
        if not jobs:
            return
        try:
            session = self._session = self._session or self._open_session()
            session.require_file()
            self._transact(session, jobs)
        except (StoreError, apsw.Error) as error:
            self._fail_all(jobs, error)
        else:
            if session.woke:
                self._on_wake()

    def weight(self, job: Work) -> int:
        """Return a job's number of rows: a commit of many rows delays all later callers."""
        return job.work.weight if isinstance(job.work, Joint) else 1

    def tidy(self) -> None:
        """Keep the log short, after the callers got their answers."""
        session = self._session
        if session is not None:
            is_short = session.room.look(session.db)
            session.log.tidy(is_short_of_room=is_short, reserve=session.room.reserve)

    def leave(self) -> None:
        """Close the connection; SQLite copies the log into the file if it is the last one."""
        if self._session is not None:
            self._session.log.leave()
            self._session.db.close(force=True)
            self._session = None

    def _transact(self, session: Session, jobs: list[Work]) -> None:
        """Do jobs in one transaction; an error of one job undoes that job alone."""
        session.woke = False
        session.db.execute("BEGIN IMMEDIATE")
        first, *others = _groups(jobs)
        self._do_group(session, first, self._do_without_savepoint)
        for group in others:
            self._do_group(session, group, self._do_in_savepoint)
        session.db.execute("COMMIT")

    def _do_group(
        self, session: Session, group: list[Work], do: Callable[[Session, Work], None]
    ) -> None:
        """Run the jobs of a group as one if possible; if that fails, run them one by one."""
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
        for job in group:  # one of them caused the failure: only that one is to fail
            self._do_in_savepoint(session, job)

    def _do_without_savepoint(self, session: Session, job: Work) -> None:
        """Run a job without a savepoint: a rollback undoes this job and nothing else."""
        try:
            job.answer = job.work(session)
        except LOST:
            raise
        except Exception as error:  # noqa: BLE001  it goes to the caller; the thread goes on
            self._refuse(session, job, error, "ROLLBACK", "BEGIN IMMEDIATE")

    def _do_in_savepoint(self, session: Session, job: Work) -> None:
        """Do a job within a savepoint; if it fails, undo it and keep its error."""
        session.db.execute("SAVEPOINT job")
        try:
            job.answer = job.work(session)
            session.db.execute("RELEASE job")
        except LOST:
            raise
        except Exception as error:  # noqa: BLE001  it goes to the caller; the thread goes on
            self._refuse(session, job, error, "ROLLBACK TO job", "RELEASE job")

    @staticmethod
    def _refuse(session: Session, job: Work, error: Exception, *undo: str) -> None:
        """Undo the changes of a job, and give its caller the error."""
        if isinstance(error, apsw.Error) and not session.db.in_transaction:
            raise error  # SQLite has rolled back the whole transaction
        job.error = error
        if isinstance(error, (apsw.Error, *UNFIT)):
            job.error = store_error(error, session.path)
        for statement in undo:
            session.db.execute(statement)
        session.forget()

    def _fail_all(self, jobs: list[Work], error: StoreError | apsw.Error) -> None:
        """Give all callers the error: nothing was committed. The next jobs get a new connection.

        Jobs that were refused get it too, because the rows that made them fail may be undone.
        """
        if isinstance(error, apsw.Error):
            error = store_error(error, self._path)
        for job in jobs:
            job.error = error
        self.leave()  # this rolls back, whatever state the connection is in


def _groups(jobs: list[Work]) -> list[list[Work]]:
    """Return the jobs in groups that run as one, in order: the largest change goes first."""
    bulk = next((job for job in jobs if isinstance(job.work, Bulk)), None)
    joint = [job for job in jobs if isinstance(job.work, Joint)]
    alone = [job for job in jobs if job is not bulk and not isinstance(job.work, Joint)]
    groups = [[bulk] if bulk else [], joint, *([job] for job in alone)]
    return [group for group in groups if group]
