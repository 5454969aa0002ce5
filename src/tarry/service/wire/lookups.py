"""Look-ups of names in threads, shared out fairly between the applications that need them.

A look-up cannot be stopped: a name whose servers do not answer keeps its thread for half a minute.
So every look-up counts against the application that needs it, and no application may have more
threads than are free. The applications take turns. A name that several need is looked up once.

A look-up that takes longer than the timeout leaves its place among the running ones to others, as
long as there is room for stuck ones. It still counts against its application.
"""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial

from tarry.core.outcome import Kind
from tarry.service.model.application import Shares
from tarry.service.wire.fair_queue import FairQueue
from tarry.service.wire.lookup import Found, Threads, Unresolved, find

THREADS = 32
"""Look-ups that run at a time; one application alone gets half of them."""
STUCK_THREADS = 32
"""Look-ups beyond the timeout that run in addition to those."""
SLOW_EACH = 4
"""Look-ups of one application that run at a time for names that took too long last time."""
MOST_LOOKUPS = 4_000
"""Names that are looked up or wait for it; one application alone gets half of them."""
MOST_SLOW = 10_000
"""How many names are remembered that took too long."""

Callback = Callable[[Found], None]

CLOSED = Unresolved(Kind.DNS, "the sender was closed before the name was resolved", local=True)
CROWDED = Unresolved(Kind.DNS, "too many names are being resolved just now", local=True)


class _Waiters:
    """The callers of one owner that wait for a name, until `timer` ends their wait."""

    __slots__ = ("callbacks", "timer")

    def __init__(self, timer: asyncio.TimerHandle) -> None:
        self.callbacks: list[Callback] = []
        self.timer = timer


class _Lookup:
    """A name that waits for a thread, or that a thread looks up if it `is_started`."""

    __slots__ = (
        *(
            "first_owner",
            "host",
            "is_late",
            "is_slow",
            "is_started",
            "is_stuck",
            "timer",
            "waiters",
        ),
    )

    def __init__(self, host: str, first_owner: str, *, is_slow: bool) -> None:
        self.host = host
        self.first_owner = first_owner
        """The first owner that asked for the name."""
        self.is_slow = is_slow
        """Whether it took too long last time."""
        self.waiters: dict[str, _Waiters] = {}
        self.timer: asyncio.TimerHandle | None = None
        self.is_started = False
        self.is_late = False
        """Whether it has been running for longer than the timeout."""
        self.is_stuck = False
        """Whether it is late and has left its place to others."""


class Lookups:
    """Looks names up for one event loop, the one that runs when it is created.

    `learn` is called with every answer: that of the look-up, and before it, if the look-up takes
    too long, that it does.
    """

    def __init__(
        self,
        look_up: Callable[[str], Iterable[str]],
        timeout: float,
        learn: Callable[[str, Found], object],
    ) -> None:
        self._look_up, self._timeout, self._learn = look_up, timeout, learn
        self._loop = asyncio.get_running_loop()
        self._threads = Threads(THREADS + STUCK_THREADS, "tarry-resolve")
        self._shares = Shares(MOST_LOOKUPS)
        self._running, self._stuck = Shares(THREADS), Shares(STUCK_THREADS)
        self._slow_running: dict[str, int] = {}
        self._queue = FairQueue()
        self._lookups: dict[str, _Lookup] = {}
        self._slow: dict[str, None] = {}
        self._is_closed = False
        self._late = Unresolved(Kind.DNS, f"the name was not resolved within {timeout:g} s")
        self._unstarted = Unresolved(
            Kind.DNS, f"the name waited {timeout:g} s for others that do not resolve", local=True
        )

    def __len__(self) -> int:
        return len(self._lookups)

    def ask(self, host: str, owner: str, callback: Callback) -> None:
        """Look a name up for an owner, and call `callback` once: at once if it is refused."""
        lookup = self._lookups.get(host)
        if self._is_closed:
            callback(CLOSED)
            return
        if lookup is None:
            if not self._shares.allows(owner):
                callback(CROWDED)
                return
            self._shares.take(owner)
            lookup = self._lookups[host] = _Lookup(host, owner, is_slow=host in self._slow)
        waiters = lookup.waiters.get(owner)
        if waiters is None:
            timer = self._loop.call_later(self._timeout, self._give_up, lookup, owner)
            waiters = lookup.waiters[owner] = _Waiters(timer)
            if not lookup.is_started:
                self._queue.add(owner, host, slow=lookup.is_slow)
                self._start_all()
        waiters.callbacks.append(callback)

    def close(self) -> None:
        """Answer all callers that wait, and let the threads end."""
        self._is_closed = True
        self._queue.clear()
        for lookup in self._lookups.values():
            self._answer_all(lookup, CLOSED)
            _cancel(lookup.timer)
        self._threads.close()

    # --- From the queue to a thread, and back ---------------------------------------------------

    def _start_all(self) -> None:
        """Start look-ups, one owner after the other, as long as there are places for them."""
        while self._running.free:
            chosen = self._queue.take(self._may_run)
            if chosen is None:
                break
            owner, host = chosen
            self._start(self._lookups[host], owner)

    def _may_run(self, owner: str, slow: bool) -> bool:  # noqa: FBT001  the queue hands it on
        """Return whether the owner may have one more look-up running, and one that may be slow."""
        if slow and self._slow_running.get(owner, 0) >= SLOW_EACH:
            return False
        return self._running.allows(owner, self._stuck.held(owner))

    def _start(self, lookup: _Lookup, owner: str) -> None:
        """Look a name up in a thread, as one of this owner's look-ups."""
        lookup.is_started = True
        self._running.take(owner)
        if lookup.is_slow:
            self._slow_running[owner] = self._slow_running.get(owner, 0) + 1
        for other in lookup.waiters:
            self._queue.discard(other, lookup.host)
        lookup.timer = self._loop.call_later(self._timeout, self._after_timeout, lookup, owner)
        self._threads.do(partial(self._run, lookup, owner))

    def _run(self, lookup: _Lookup, owner: str) -> None:
        """Look the name up. This runs in a thread."""
        answer = find(self._look_up, lookup.host)
        try:
            self._loop.call_soon_threadsafe(self._end, lookup, owner, answer)
        except RuntimeError:
            return  # the event loop is gone, and its callers with it

    def _end(self, lookup: _Lookup, owner: str, answer: Found) -> None:
        """Pass the answer of a thread to the callers, and start the next look-ups."""
        _cancel(lookup.timer)
        (self._stuck if lookup.is_stuck else self._running).give_back(owner)
        if lookup.is_slow:
            self._slow_running[owner] -= 1
            if not self._slow_running[owner]:
                del self._slow_running[owner]
        if not lookup.is_late:
            self._slow.pop(lookup.host, None)
        self._forget(lookup)
        self._learn(lookup.host, answer)
        self._answer_all(lookup, answer)
        self._start_all()

    # --- Look-ups that take too long ------------------------------------------------------------

    def _after_timeout(self, lookup: _Lookup, owner: str) -> None:
        """Answer all callers that it took too long, and leave its place to others if possible."""
        lookup.is_late = True
        self._remember_slow(lookup.host)
        self._learn(lookup.host, self._late)
        self._answer_all(lookup, self._late)
        if self._stuck.allows(owner):
            lookup.is_stuck = True
            self._stuck.take(owner)
            self._running.give_back(owner)
            self._start_all()

    def _give_up(self, lookup: _Lookup, owner: str) -> None:
        """Answer the callers of an owner that have waited for the timeout, even in the queue."""
        waiters = lookup.waiters.pop(owner)
        if not lookup.is_started:
            self._queue.discard(owner, lookup.host)
            if not lookup.waiters:
                self._forget(lookup)
        self._answer(waiters, self._late if lookup.is_started else self._unstarted)

    def _remember_slow(self, host: str) -> None:
        """Note that a name took too long; forget the oldest of too many such names."""
        self._slow.pop(host, None)
        self._slow[host] = None
        if len(self._slow) > MOST_SLOW:
            del self._slow[next(iter(self._slow))]

    # --- Answers --------------------------------------------------------------------------------

    def _forget(self, lookup: _Lookup) -> None:
        """Remove a look-up, and give its owner's share of all look-ups back."""
        del self._lookups[lookup.host]
        self._shares.give_back(lookup.first_owner)

    def _answer_all(self, lookup: _Lookup, answer: Found) -> None:
        """Pass the answer to all callers that wait for this look-up."""
        waiters_by_owner, lookup.waiters = lookup.waiters, {}
        for waiters in waiters_by_owner.values():
            self._answer(waiters, answer)

    def _answer(self, waiters: _Waiters, answer: Found) -> None:
        """Call the callbacks of one owner with the answer."""
        waiters.timer.cancel()
        for callback in waiters.callbacks:
            # Each has its own call, so that an error of one caller does not affect the next.
            self._loop.call_soon(callback, answer)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
