"""Names to addresses that may be called.

All addresses of a name are checked, and one that must not be called refuses the name. A request
goes to the very address that was checked: that a name leads elsewhere a moment later gains nothing.
No name holds up another: those that were slow share a few threads among themselves.
"""

import asyncio
import socket
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from msgspec import Struct

from tarry.core.outcome import Kind
from tarry.service.wire.address import read
from tarry.service.wire.egress import Egress
from tarry.service.wire.lookup import Threads, look_up

GOOD_FOR, BAD_FOR = 30.0, 5.0
"""Seconds an answer is kept: a good one, and a bad one."""
TIMEOUT = 5.0
THREADS, SLOW_THREADS = 16, 4
MOST_ADDRESSES = 8
"""Of one name that are given to a caller. All are checked."""
MOST_KNOWN = 10_000
MOST_PORTS = 16
"""Of one host for which it is known what an answer means: mostly there is one."""
MOST_FLIGHTS = 4_000


class Addresses(Struct, frozen=True):
    """The addresses of a host, in the order to try them; every one may be called."""

    addresses: tuple[str, ...]


class Unresolved(Struct, frozen=True):
    """There is nothing to call. `detail` is for the endpoint's owner: it tells no address."""

    kind: Kind
    detail: str


Resolved = Addresses | Unresolved
Done = Callable[[Resolved], None]
Item = TypeVar("Item")

_BLOCKED = Unresolved(Kind.BLOCKED, "the host leads to an address that must not be called")
_CLOSED = Unresolved(Kind.DNS, "the sender was closed before the name was resolved")
_CROWDED = Unresolved(Kind.DNS, "too many names are being resolved just now")
_NO_ADDRESS = Unresolved(Kind.DNS, "the name has no address")
_FAILURES = {
    socket.EAI_NONAME: "the name is not known",
    socket.EAI_AGAIN: "the name servers did not answer",
}


class _Known:
    """What is known of a host, and what that means for each port."""

    __slots__ = ("answers", "found", "until")

    def __init__(self, found: tuple[str, ...] | Unresolved, until: float) -> None:
        self.found = found
        self.until = until
        self.answers: tuple[tuple[int, Resolved], ...] = ()


class _Flight:
    """A name that is being looked up, and who waits for it."""

    __slots__ = ("begun_at", "host", "is_late", "timer", "waiting")

    def __init__(self, host: str) -> None:
        self.host = host
        self.waiting: list[tuple[int, Done]] = []
        self.timer: asyncio.TimerHandle | None = None
        self.begun_at: float | None = None
        self.is_late = False


class Resolver:
    """Resolves hosts for one event loop, the one that runs when it is made."""

    def __init__(
        self,
        egress: Egress,
        *,
        lookup: Callable[[str], Iterable[str]] = look_up,
        timeout: float = TIMEOUT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._egress = egress
        self._lookup = lookup
        self._timeout = timeout
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._known: dict[str, _Known] = {}
        self._flights: dict[str, _Flight] = {}
        self._threads = Threads(THREADS, "tarry-resolve")
        self._slow_threads = Threads(SLOW_THREADS, "tarry-resolve-slow")
        self._slow: dict[str, None] = {}  # the names that took too long last time
        self._is_closed = False

    def resolve(self, host: str, port: int, done: Done) -> None:
        """Find the addresses of a host, as `Target` has it, for a port, and call `done` once.

        What is known, and what is an address already, is answered at once, before this returns;
        the rest later, on the event loop.
        """
        known = self._known.get(host)
        if known is None or known.until <= self._clock():
            address = read(host)
            if address is None:
                self._join_flight(host, port, done)
                return
            known = self._remember(host, (str(address),))
        done(self._judged(known, port))

    def close(self) -> None:
        """Answer all who wait, and let the threads go."""
        self._is_closed = True
        for flight in self._flights.values():
            self._answer(flight, _Known(_CLOSED, 0.0))
        self._threads.close()
        self._slow_threads.close()

    def _join_flight(self, host: str, port: int, done: Done) -> None:
        flight = self._flights.get(host)
        if self._is_closed or (flight is None and len(self._flights) >= MOST_FLIGHTS):
            done(_CLOSED if self._is_closed else _CROWDED)
            return
        if flight is None:
            flight = self._flights[host] = _Flight(host)
            self._take_off(flight)
        flight.waiting.append((port, done))
        if flight.timer is None:
            flight.timer = self._loop.call_later(self._timeout, self._be_late, flight)

    def _take_off(self, flight: _Flight) -> None:
        threads = self._slow_threads if flight.host in self._slow else self._threads
        threads.do(partial(self._fly, flight))

    def _fly(self, flight: _Flight) -> None:
        """In a thread: look a name up, unless nobody waits for it any more."""
        found: tuple[str, ...] | Unresolved | None = None
        if flight.waiting or not flight.is_late:
            flight.begun_at = self._clock()
            try:
                found = tuple(self._lookup(flight.host)) or _NO_ADDRESS
            except OSError as error:
                found = _failure(error)
            except Exception:  # noqa: BLE001  whatever it was, the thread is needed again
                found = _failure(OSError())
        try:
            self._loop.call_soon_threadsafe(self._land, flight, found)
        except RuntimeError:
            return  # the event loop is gone, and with it all who waited

    def _land(self, flight: _Flight, found: tuple[str, ...] | Unresolved | None) -> None:
        if found is None and flight.waiting and not self._is_closed:
            self._take_off(flight)  # somebody came just when it was given up
            return
        del self._flights[flight.host]
        if not flight.is_late:
            self._slow.pop(flight.host, None)
        if found is not None:
            self._answer(flight, self._remember(flight.host, found))

    def _be_late(self, flight: _Flight) -> None:
        """Tell those who wait that it takes too long; the flight itself cannot be called back."""
        flight.is_late = True
        begun_at = flight.begun_at
        # One that stood in the queue for most of its time is not to blame.
        if begun_at is not None and self._clock() - begun_at >= self._timeout / 2:
            _push(self._slow, flight.host, None)
        late = Unresolved(Kind.DNS, f"the name was not resolved within {self._timeout:g} s")
        self._answer(flight, self._remember(flight.host, late))

    def _answer(self, flight: _Flight, known: _Known) -> None:
        if flight.timer is not None:
            flight.timer.cancel()
            flight.timer = None
        waiting, flight.waiting = flight.waiting, []
        for port, done in waiting:
            # Each by itself: what one caller does wrong is not the next one's trouble.
            self._loop.call_soon(done, self._judged(known, port))

    def _remember(self, host: str, found: tuple[str, ...] | Unresolved) -> _Known:
        life = BAD_FOR if isinstance(found, Unresolved) else GOOD_FOR
        known = _Known(found, self._clock() + life)
        _push(self._known, host, known)
        return known

    def _judged(self, known: _Known, port: int) -> Resolved:
        for judged, answer in known.answers:
            if judged == port:
                return answer
        answer = self._judge(known.found, port)
        known.answers = (*known.answers[1 - MOST_PORTS :], (port, answer))
        return answer

    def _judge(self, found: tuple[str, ...] | Unresolved, port: int) -> Resolved:
        if isinstance(found, Unresolved):
            return found
        if not all(self._egress.permits(address, port) for address in found):
            return _BLOCKED
        given = tuple(dict.fromkeys(str(read(address)) for address in found))[:MOST_ADDRESSES]
        # There are as many as hosts, and mostly they are just what was found: one copy will do.
        return Addresses(found if given == found else given)


def _failure(error: OSError) -> Unresolved:
    return Unresolved(Kind.DNS, _FAILURES.get(error.errno or 0, "the name could not be resolved"))


def _push(kept: dict[str, Item], key: str, item: Item) -> None:
    """Keep an item as the youngest, and let the oldest go if there are too many."""
    kept.pop(key, None)
    kept[key] = item
    if len(kept) > MOST_KNOWN:
        del kept[next(iter(kept))]
