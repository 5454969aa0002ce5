"""A thread that does one thing after another, for callers on an event loop.

Whatever is handed in gets an answer: also when the thread ends, or dies of something unforeseen.
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
"""What the thread works with, such as a connection."""
Answer = TypeVar("Answer")

FORKED = "the store was opened before this process was forked: open it afterwards, in each process"
"""Threads stay with the parent: here nobody would ever answer."""


class Job(Struct, Generic[Desk], eq=False):
    """Something to do, who waits for it, and what came out: an answer or an error."""

    work: Callable[[Desk], Any]
    future: "asyncio.Future[Any]"
    answer: Any = None
    error: BaseException | None = None


class Line(Generic[Desk]):
    """The queue and its thread. What is done with a batch of jobs is `serve`'s to say."""

    MOST = 1_000
    """How many jobs are taken together, by their weight: one that crosses the mark is the last."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[Job[Desk] | None] = SimpleQueue()
        self._lock = Lock()
        self._closed: str | None = None
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def do(self, work: Callable[[Desk], Answer]) -> Answer:
        """Have something done, and wait for it."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        with self._lock:
            if self._closed is not None:
                raise StoreError(self._closed)
            if not self._thread.is_alive():
                raise StoreError(FORKED)
            self._jobs.put(Job(work, future))
        return await future

    def stir(self) -> None:
        """Have the thread look up from a wait that began with another patience."""
        with self._lock:
            if self._closed is None:
                self._jobs.put(None)

    async def close(self) -> None:
        """Do what was handed in so far, then end the thread."""
        with self._lock:
            if self._closed is None:
                self._closed = "the store is closed"
                self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def serve(self, jobs: list[Job[Desk]]) -> None:
        """Fill in an answer or an error for each."""
        raise NotImplementedError

    def weight(self, job: Job[Desk]) -> int:  # noqa: ARG002  whoever knows better overrides it
        """How much a job is."""
        return 1

    def idle(self) -> None:
        """Called whenever `patience` has passed without a job."""

    def tidy(self) -> None:
        """Called when the answers are handed out, before the next jobs."""

    def leave(self) -> None:
        """Let go of everything: the thread ends."""

    def patience(self) -> float | None:
        """How long to wait for a job before `idle`; None for ever."""
        return None

    def reply(self, jobs: Iterable[Job[Desk]]) -> None:
        """Hand out answers: one call into each loop, however many wait."""
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
        except BaseException as error:  # noqa: BLE001  whoever waits must hear of it
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
    """Have something called on a loop's thread, if it is still there to hear it."""
    try:
        loop.call_soon_threadsafe(call)
    except RuntimeError:  # the loop was closed, and whoever waited is gone with it
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
