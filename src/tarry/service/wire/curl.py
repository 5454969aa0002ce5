"""The sender on libcurl, which runs in a thread of its own.

The event loop hands requests over and gets answers back in batches. In between, the thread waits on
all sockets at once and lets libcurl do what there is to do. What libcurl would do by itself and a
sender of webhooks must not (follow, unpack, resolve, trust the environment) is turned off.
"""

import asyncio
import os
import select
from collections import deque
from collections.abc import Callable
from functools import partial
from threading import Thread
from time import monotonic
from typing import Protocol

import pycurl  # type: ignore[import-untyped] # ships no types
from msgspec import Struct

from tarry.core.outcome import Kind
from tarry.service.wire.exchange import Answer, Request
from tarry.service.wire.resolve import Addresses, Resolved, Unresolved
from tarry.service.wire.transfer import Options, Transfer

MOST_IDLE = 2_000
"""Connections that are kept open for a next request."""
MOST_KEPT_TRANSFERS = 1_000
EVENTS = {
    pycurl.POLL_IN: select.EPOLLIN,
    pycurl.POLL_OUT: select.EPOLLOUT,
    pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
}
CLOSED = Kind.TRANSIENT, "the sender was closed"

Done = Callable[[Answer], None]


class Resolver(Protocol):
    """Finds the addresses that may be called."""

    def resolve(self, host: str, port: int, done: Callable[[Resolved], None]) -> None:
        """Call `done`, at once or later, on the thread of the event loop."""


class Job(Struct):
    """An attempt on its way."""

    request: Request
    done: Done
    begun_at: float
    addresses: tuple[str, ...] = ()
    timer: asyncio.TimerHandle | None = None
    """Runs while its name is looked up."""
    is_over: bool = False


class Curl:
    """Makes attempts; see `Sender`. It is made, used and closed on one running event loop."""

    def __init__(self, resolver: Resolver, options: Options, *, most_idle: int = MOST_IDLE) -> None:
        self._loop = asyncio.get_running_loop()
        self._resolver = resolver
        self._resolving: dict[int, Job] = {}
        self._ended = asyncio.Event()
        self._worker = Worker(options, most_idle, self._hand_back, self._end)

    def send(self, request: Request, done: Done) -> None:
        """Start an attempt; `done` is called once, later, on the thread of the event loop."""
        job = Job(request, done, monotonic())
        if self._worker.is_closing:
            self._loop.call_soon(self._tell, job, _failed(job, *CLOSED))
            return
        target = request.target
        self._resolver.resolve(target.host, target.port, partial(self._resolved, job))
        if not job.addresses and not job.is_over:
            self._resolving[id(job)] = job
            limit = min(request.connect_timeout, request.timeout)
            job.timer = self._loop.call_later(limit, self._unresolved, job)

    async def close(self) -> None:
        """Close what is kept open; attempts on their way end as failures."""
        for job in tuple(self._resolving.values()):
            self._tell(job, _failed(job, *CLOSED))
        self._worker.close()
        await self._ended.wait()
        self._worker.join()

    def _resolved(self, job: Job, found: Resolved) -> None:
        if job.is_over:
            return
        match found:
            case Unresolved(kind, detail):
                job.is_over = True
                self._loop.call_soon(self._tell, job, _failed(job, kind, detail))
            case Addresses(addresses):
                self._settle(job)
                job.addresses = addresses
                self._worker.take(job)

    def _unresolved(self, job: Job) -> None:
        self._tell(job, _failed(job, Kind.TIMEOUT, "the connection did not stand in time"))

    def _settle(self, job: Job) -> None:
        """Its name is no longer looked up."""
        if job.timer:
            job.timer.cancel()
            del self._resolving[id(job)]
            job.timer = None

    def _tell(self, job: Job, answer: Answer) -> None:
        self._settle(job)
        job.is_over = True
        job.done(answer)

    def _hand_back(self, answers: list[tuple[Done, Answer]]) -> None:
        """In the worker's thread: give these to those who asked."""
        self._loop.call_soon_threadsafe(_tell_all, answers)

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)


class Worker:
    """The thread that drives libcurl."""

    def __init__(
        self,
        options: Options,
        most_idle: int,
        hand_back: Callable[[list[tuple[Done, Answer]]], None],
        end: Callable[[], None],
    ) -> None:
        self.is_closing = False
        self._options = options
        self._hand_back = hand_back
        self._end = end
        self._jobs: deque[Job] = deque()
        self._answers: list[tuple[Done, Answer]] = []
        self._free: list[Transfer] = []
        self._busy: dict[pycurl.Curl, tuple[Transfer, Job]] = {}
        self._due_at: float | None = None
        self._is_asleep = False
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._sockets = select.epoll()
        self._sockets.register(self._bell, select.EPOLLIN)
        self._watched: set[int] = set()
        self._multi = multi = pycurl.CurlMulti()
        multi.setopt(pycurl.M_MAXCONNECTS, most_idle)
        multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self._thread = Thread(target=self._run, name="tarry-curl", daemon=True)
        self._thread.start()

    def take(self, job: Job) -> None:
        """From the event loop: do this soon."""
        self._jobs.append(job)
        if self._is_asleep:
            os.eventfd_write(self._bell, 1)

    def close(self) -> None:
        """From the event loop: end all of it."""
        self.is_closing = True
        os.eventfd_write(self._bell, 1)

    def join(self) -> None:
        """Wait for its very last step, once it has said that it ends."""
        self._thread.join()

    def _run(self) -> None:
        while not self.is_closing:
            self._work_once()
        for curl, (transfer, job) in tuple(self._busy.items()):
            self._multi.remove_handle(curl)
            transfer.close()
            self._answers.append((job.done, _failed(job, *CLOSED)))
        self._answers += [(job.done, _failed(job, *CLOSED)) for job in self._jobs]
        for transfer in self._free:
            transfer.close()
        self._multi.close()
        self._sockets.close()
        os.close(self._bell)
        self._hand_back(self._answers)
        self._end()

    def _work_once(self) -> None:
        """Wait for something to happen, and do what there is to do."""
        self._is_asleep = True
        ready = self._sockets.poll(0.0 if self._jobs else self._patience())
        self._is_asleep = False
        act = self._multi.socket_action
        for number, events in ready:
            if number == self._bell:
                os.eventfd_read(self._bell)
            else:
                act(number, _happened(events))
        while self._jobs:
            self._begin(self._jobs.popleft())
        if self._due_at is not None and self._due_at <= monotonic():
            self._due_at = None
            act(pycurl.SOCKET_TIMEOUT, 0)
        self._collect()

    def _patience(self) -> float:
        return -1.0 if self._due_at is None else max(0.0, self._due_at - monotonic())

    def _begin(self, job: Job) -> None:
        transfer = self._free.pop() if self._free else Transfer(self._options)
        try:
            transfer.begin(job.request, job.addresses, job.begun_at)
        except (ValueError, UnicodeError, pycurl.error) as error:
            self._free.append(transfer)
            self._answers.append((job.done, _failed(job, Kind.PROTOCOL, str(error))))
            return
        self._busy[transfer.curl] = transfer, job
        self._multi.add_handle(transfer.curl)

    def _collect(self) -> None:
        """Take what has ended, and hand the answers back, all at once."""
        left = 1
        while left:
            left, well, ill = self._multi.info_read()
            for curl in well:
                self._finish(curl, pycurl.E_OK)
            for curl, error, _ in ill:
                self._finish(curl, error)
        if self._answers:
            self._hand_back(self._answers)
            self._answers = []

    def _finish(self, curl: pycurl.Curl, error: int) -> None:
        self._multi.remove_handle(curl)
        transfer, job = self._busy.pop(curl)
        self._answers.append((job.done, transfer.answer(error)))
        if len(self._free) < MOST_KEPT_TRANSFERS:
            self._free.append(transfer)
        else:
            transfer.close()

    def _watch(self, wish: int, number: int, *_: object) -> None:
        """Libcurl wants to hear of this socket, or no more."""
        if wish == pycurl.POLL_REMOVE:
            if number in self._watched:
                self._watched.discard(number)
                self._sockets.unregister(number)
        elif number in self._watched:
            self._sockets.modify(number, EVENTS[wish])
        else:
            self._watched.add(number)
            self._sockets.register(number, EVENTS[wish])

    def _set_timer(self, milliseconds: int) -> None:
        self._due_at = None if milliseconds < 0 else monotonic() + milliseconds / 1000


def _happened(events: int) -> int:
    happened: int = pycurl.CSELECT_IN if events & select.EPOLLIN else 0
    if events & select.EPOLLOUT:
        happened |= pycurl.CSELECT_OUT
    if events & (select.EPOLLERR | select.EPOLLHUP):
        happened |= pycurl.CSELECT_ERR
    return happened


def _failed(job: Job, kind: Kind, detail: str) -> Answer:
    return Answer(monotonic() - job.begun_at, failure=kind, detail=detail)


def _tell_all(answers: list[tuple[Done, Answer]]) -> None:
    for done, answer in answers:
        done(answer)
