"""A thread that runs jobs one after another, for callers on an event loop.

Every job gets an answer, even if the thread ends or dies of an unexpected error.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Generic, TypeVar  # a queue holds jobs of all kinds of answers

from msgspec import Struct

from tarry.errors import StoreError

Desk = TypeVar("Desk")
"""What a job works with, such as a connection."""
Answer = TypeVar("Answer")

FORKED = "the store was opened before this process was forked: open it afterwards, in each process"
"""A fork copies no threads: in the child, no thread would ever answer."""


class Job(Struct, Generic[Desk], eq=False):
    """Work to do, the future of its caller, and the result: an answer or an error."""

    work: Callable[[Desk], Any]
    future: "asyncio.Future[Any]"
    answer: Any = None
    error: BaseException | None = None


class Line(Generic[Desk]):
    """A queue of jobs and its thread. A subclass runs a batch of jobs in `serve`."""

    MOST = 1_000
    """The largest weight of a batch; the job that reaches it is the last one of its batch."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[Job[Desk] | None] = SimpleQueue()
        self._lock = Lock()
        self._closed: str | None = None
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def do(self, work: Callable[[Desk], Answer]) -> Answer:
        """Run work on the thread and return its answer."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        with self._lock:
            if self._closed is not None:
                raise StoreError(self._closed)
            if not self._thread.is_alive():
                raise StoreError(FORKED)
            self._jobs.put(Job(work, future))
        return await future

    def stir(self) -> None:
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

    def serve(self, jobs: list[Job[Desk]]) -> None:
        """Set an answer or an error for each job."""
        raise NotImplementedError

    def weight(self, job: Job[Desk]) -> int:  # noqa: ARG002  a subclass may use it
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

    def reply(self, jobs: Iterable[Job[Desk]]) -> None:
        """Send the answers: one call into each event loop, however many callers wait there."""
        waiting: defaultdict[asyncio.AbstractEventLoop, list[Job[Desk]]]
        waiting = defaultdict(list)
        for job in jobs:
            waiting[job.future.get_loop()].append(job)
        for loop, group in waiting.items():
            call_soon(loop, partial(_resolve, group))

    def _run(self) -> None:
        jobs: list[Job[Desk]] = []
        try:
            while self._closed is None or not self._jobs.empty():
                jobs = self._take()
                self.serve(jobs)
                self.reply(jobs)
                jobs = []
                self.tidy()
        except BaseException as error:  # noqa: BLE001  the callers must get an answer
            self._die(error, jobs)
        finally:
            self.leave()

    def _take(self) -> list[Job[Desk]]:
        jobs: list[Job[Desk]] = []
        try:
            job = self._jobs.get(timeout=self.patience())
            weight = 0
            while job is not None:
                if not job.future.cancelled():
                    jobs.append(job)
                    weight += self.weight(job)
                if weight >= self.MOST:
                    break
                job = self._jobs.get_nowait()
        except Empty:
            if not jobs:
                self.idle()
        return jobs

    def _die(self, error: BaseException, jobs: list[Job[Desk]]) -> None:
        with self._lock:
            self._closed = f"the store's thread {self._thread.name} died: {error!r}"
        while True:
            try:
                left = self._jobs.get_nowait()
            except Empty:
                break
            if left is not None:
                jobs.append(left)
        for job in jobs:
            job.error = StoreError(self._closed)
            job.error.__cause__ = error
        self.reply(jobs)


def call_soon(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """Schedule a call on a loop's thread, unless the loop is closed."""
    try:
        loop.call_soon_threadsafe(call)
    except RuntimeError:  # the loop was closed, and its callers are gone
        if not loop.is_closed():
            raise


def _resolve(jobs: list[Job[Desk]]) -> None:
    for job in jobs:
        if job.future.done():  # cancelled meanwhile
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.answer)
