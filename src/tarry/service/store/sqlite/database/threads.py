"""The threads of a store in a file: one writes, one reads for the dispatcher, one for all others.

So reading the catalogue delays no delivery, and no read waits for a commit. Queries that read many
rows have another thread. Each thread runs jobs for callers on an event loop. Every job gets an
answer, even if the thread ends or dies of an unexpected error. See `writer` for the thread that
writes.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import Any, Generic, TypeVar  # a queue holds jobs of all kinds of answers

import apsw
from msgspec import Struct

from tarry.errors import StoreError
from tarry.service.store.sqlite.database.connection import connect_to_read
from tarry.service.store.sqlite.database.faults import LOST, UNFIT, store_error
from tarry.service.store.sqlite.database.lock import DispatcherLock
from tarry.service.store.sqlite.database.session import Session
from tarry.service.store.sqlite.queries import SQL

Context = TypeVar("Context")
"""What a job works with, such as a connection."""
Answer = TypeVar("Answer")

WAKE_CHECK_SECONDS = 0.1
"""Seconds between two checks whether another process has woken a lane."""
FORKED = "the store was opened before this process was forked: open it afterwards, in each process"
"""A fork copies no threads: in the child, no thread would ever answer."""


class Threads:
    """The threads, the lock and the clock that all parts of the store share.

    `open_writer` starts the thread that writes, and gets the callback for woken lanes.
    """

    def __init__(
        self,
        path: Path,
        clock: Callable[[], float],
        open_writer: Callable[["Nudges"], "JobThread[Session]"],
    ) -> None:
        self.path = path
        self.clock = clock
        self.lock = DispatcherLock(path)
        self.nudges = Nudges()
        self._writer = open_writer(self.nudges)
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


class Job(Struct, Generic[Context], eq=False):
    """Work to do, the future of its caller, and the result: an answer or an error."""

    work: Callable[[Context], object]
    future: "asyncio.Future[Any]"
    answer: Any = None
    error: BaseException | None = None


class JobThread(Generic[Context]):
    """A thread that runs jobs one after another. A subclass runs a batch of jobs in `serve`."""

    MOST_WEIGHT = 1_000
    """The largest weight of a batch; the job that reaches it is the last one of its batch."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[Job[Context] | None] = SimpleQueue()
        self._lock = Lock()
        self._closed: str | None = None
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def do(self, work: Callable[[Context], Answer]) -> Answer:
        """Run work on the thread and return its answer."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        with self._lock:
            if self._closed is not None:
                raise StoreError(self._closed)
            if not self._thread.is_alive():
                raise StoreError(FORKED)
            self._jobs.put(Job(work, future))
        return await future

    def wake_thread(self) -> None:
        """Wake the thread, so that it waits with its new `patience`."""
        with self._lock:
            if self._closed is None:
                self._jobs.put(None)

    async def close(self) -> None:
        """Run the jobs queued so far, then end the thread."""
        with self._lock:
            if self._closed is None:
                self._closed = "the store is closed"
                self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def serve(self, jobs: list[Job[Context]]) -> None:
        """Set an answer or an error for each job."""
        raise NotImplementedError

    def weight(self, job: Job[Context]) -> int:  # noqa: ARG002  a subclass may use it
        """Return how much of a batch this job takes up."""
        return 1

    def idle(self) -> None:
        """Called whenever `patience` has passed without a job."""

    def tidy(self) -> None:
        """Called after the answers were sent, before the next jobs."""

    def leave(self) -> None:
        """Close all resources: the thread ends."""

    def patience(self) -> float | None:
        """Return how many seconds to wait for a job before `idle`; None waits for ever."""
        return None

    def reply(self, jobs: Iterable[Job[Context]]) -> None:
        """Send the answers: one call into each event loop, however many callers wait there."""
        waiting: defaultdict[asyncio.AbstractEventLoop, list[Job[Context]]]
        waiting = defaultdict(list)
        for job in jobs:
            waiting[job.future.get_loop()].append(job)
        for loop, group in waiting.items():
            call_soon(loop, partial(_resolve, group))

    def _run(self) -> None:
        """Do jobs, several at a time, until the thread is closed or an error ends it."""
        jobs: list[Job[Context]] = []
        try:
            while self._closed is None or not self._jobs.empty():
                jobs = self._take()
                self.serve(jobs)
                self.reply(jobs)
                jobs = []
                self.tidy()
        except BaseException as error:  # noqa: BLE001  the callers must get an answer
            self._close_after_error(error, jobs)
        finally:
            self.leave()

    def _take(self) -> list[Job[Context]]:
        """Wait for a job; return it with as many others as one transaction may have."""
        jobs: list[Job[Context]] = []
        try:
            job = self._jobs.get(timeout=self.patience())
            weight = 0
            while job is not None:
                if not job.future.cancelled():
                    jobs.append(job)
                    weight += self.weight(job)
                if weight >= self.MOST_WEIGHT:
                    break
                job = self._jobs.get_nowait()
        except Empty:
            if not jobs:
                self.idle()
        return jobs

    def _close_after_error(self, error: BaseException, jobs: list[Job[Context]]) -> None:
        """Close the thread after an error, and fail all its jobs with that error."""
        with self._lock:
            self._closed = f"the store's thread {self._thread.name} died: {error!r}"
        while True:
            try:
                queued = self._jobs.get_nowait()
            except Empty:
                break
            if queued is not None:
                jobs.append(queued)
        for job in jobs:
            job.error = StoreError(self._closed)
            job.error.__cause__ = error
        self.reply(jobs)


class Reader(JobThread[apsw.Connection]):
    """A thread that runs each job in its own read transaction, so that it never waits for a commit.

    With a listener, it also checks now and then whether another process has woken a lane.
    """

    MOST_WEIGHT = 1  # no caller waits for the answer to another one

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._db: apsw.Connection | None = None
        self._on_wake: Callable[[], None] | None = None
        self._checked_at = 0.0
        self._data_version = 0
        super().__init__(name)

    def watch(self, on_wake: Callable[[], None]) -> None:
        """From now on, call `on_wake` on this thread when any process has woken lanes."""
        self._on_wake = on_wake
        self.wake_thread()

    def patience(self) -> float | None:
        """Return the time between two checks for woken lanes, if there is a listener."""
        return None if self._on_wake is None else WAKE_CHECK_SECONDS

    def idle(self) -> None:
        """Check whether a lane was woken."""
        if self._on_wake is None:
            return
        self._checked_at = monotonic()
        try:
            if self._lanes_were_woken(self._connection()):
                self._on_wake()
        except apsw.Error as error:
            self._close_if_lost(error)  # the next read or write reports it

    def serve(self, jobs: list[Job[apsw.Connection]]) -> None:
        """Run the jobs; also check for woken lanes if there was no idle time for that."""
        for job in jobs:
            try:
                job.answer = self._read(job.work)
            except apsw.Error as error:
                self._close_if_lost(error)
                job.error = store_error(error, self._path)
            except UNFIT as error:
                job.error = store_error(error, self._path)
            except Exception as error:  # noqa: BLE001  it goes to the caller; the thread goes on
                job.error = error
        if monotonic() - self._checked_at >= WAKE_CHECK_SECONDS:
            self.idle()

    def leave(self) -> None:
        """Close the connection."""
        if self._db is not None:
            self._db.close(force=True)
            self._db = None

    def _read(self, work: Callable[[apsw.Connection], object]) -> object:
        """Call `work` in a transaction that only reads."""
        db = self._connection()
        db.execute("BEGIN")
        try:
            return work(db)
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")

    def _lanes_were_woken(self, db: apsw.Connection) -> bool:
        """Return whether another connection has woken lanes since the last call."""
        before, self._data_version = self._data_version, db.pragma("data_version")
        return before != self._data_version and db.execute(SQL["woken_any"]).fetchone() is not None

    def _connection(self) -> apsw.Connection:
        """Return this thread's connection, and open it at the first call."""
        if self._db is None:
            self._db = connect_to_read(self._path)
        return self._db

    def _close_if_lost(self, error: apsw.Error) -> None:
        """Close the connection if the error means that it is lost."""
        if isinstance(error, LOST):
            self.leave()


class Nudges:
    """Callbacks for woken lanes. A call from any thread calls each on the loop that added it."""

    def __init__(self) -> None:
        self._nudges: list[tuple[asyncio.AbstractEventLoop, Callable[[], None]]] = []

    def add(self, nudge: Callable[[], None]) -> None:
        """Add a callback, to be called on the loop that runs now."""
        self._nudges.append((asyncio.get_running_loop(), nudge))

    def __call__(self) -> None:
        """Report that a lane was woken."""
        for loop, nudge in self._nudges:
            call_soon(loop, nudge)


def call_soon(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """Schedule a call on a loop's thread, unless the loop is closed."""
    try:
        loop.call_soon_threadsafe(call)
    except RuntimeError:  # the loop was closed, and its callers are gone
        if not loop.is_closed():
            raise


def _resolve(jobs: list[Job[Context]]) -> None:
    """Pass each job's answer or error to its caller. This runs in the event loop."""
    for job in jobs:
        if job.future.done():  # cancelled meanwhile
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.answer)
