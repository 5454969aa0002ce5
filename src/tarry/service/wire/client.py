"""The sender: tarry's own HTTP/1.1 client on the event loop, built from callbacks.

An attempt on an open connection needs no task, future or timer: the client writes the request,
reads the answer and calls the callback. It starts a task only to make a new connection. Between
two requests, a connection rests in the pool.
"""

import asyncio
import ssl
from collections.abc import Callable, Hashable
from functools import lru_cache, partial
from time import monotonic
from typing import Generic, Protocol, TypeVar

from tarry.core.outcome import Kind
from tarry.service.wire import tls
from tarry.service.wire.connection import Connection, Deadlines, Exchange, Later, Timer
from tarry.service.wire.dial import Addresses, Dialler, Resolved
from tarry.service.wire.egress import read_address
from tarry.service.wire.exchange import Answer, Request
from tarry.service.wire.http1 import constant_head, request_head
from tarry.service.wire.lookup import Unresolved
from tarry.service.wire.proxy import Proxy
from tarry.service.wire.send_failure import SendFailure, send_failure_of

MOST_IDLE = 2_000
"""How many connections may rest at the same time, to all origins together."""
IDLE_TIME = 30.0
"""Seconds that a connection rests before it is closed. Most servers close theirs after a minute or
more, and a request on a connection that is being closed has to be sent again."""
MOST_HEADS = 20_000
"""How many targets have the constant part of their request head cached."""

_LATE = SendFailure(Kind.TIMEOUT, "the response did not come in time")
_UNCONNECTED = SendFailure(Kind.TIMEOUT, "the connection was not established in time")
_SHUT = SendFailure(Kind.TRANSIENT, "the connection closed before the request was sent")
_CLOSED = SendFailure(Kind.TRANSIENT, "the sender was closed", local=True)


class Resolver(Protocol):
    """Finds the addresses of a host, all of them checked."""

    def resolve(self, host: str, port: int, owner: str, done: Callable[[Resolved], None]) -> None:
        """Call `done` with the addresses, at once or later, on the thread of the event loop.

        A look-up counts against the share of `owner`, an application.
        """


class Client:
    """Makes attempts; see `Sender`. It is created, used and closed on one running event loop."""

    def __init__(
        self,
        resolver: Resolver,
        permits: Callable[[str, int], bool],
        *,
        context: ssl.SSLContext | None = None,
        proxy: Proxy | None = None,
        most_idle: int = MOST_IDLE,
    ) -> None:
        self._loop = loop = asyncio.get_running_loop()
        self._resolver = resolver
        self._dialler = Dialler(
            loop, permits, self._free_descriptors, context or tls.context(), proxy
        )
        self._deadlines = Deadlines(loop.call_later, monotonic, self._expire)
        self._pool = Pool[Connection](loop.call_later, monotonic, most=most_idle)
        self._standing = lru_cache(MOST_HEADS)(constant_head)
        self._open: set[Connection] = set()
        self._dials: set[asyncio.Task[None]] = set()
        self._emptied = asyncio.Event()
        self._closed = False

    def send(self, request: Request, done: Callable[[Answer], None]) -> None:
        """Start an attempt; `done` is called once, later, on the thread of the event loop."""
        now = monotonic()
        try:
            written = request_head(self._standing(request.target), request)
        except ValueError as error:
            self._fail_soon(
                Exchange(request, b"", done, now), SendFailure(Kind.PROTOCOL, str(error))
            )
            return
        exchange = Exchange(request, written, done, now)
        if self._closed:
            self._fail_soon(exchange, _CLOSED)
            return
        connection = self._pool.take(request.target.origin)
        if connection is None:
            self._connect(exchange)
            return
        exchange.bucket = self._deadlines.add(exchange, now + request.timeout)
        connection.carry(exchange)

    async def close(self) -> None:
        """Close all connections; attempts in flight end as failures."""
        self._closed = True
        self._pool.close()
        for exchange in self._deadlines.items():
            self._stop(exchange, _CLOSED)
        self._deadlines.close()
        for dial in self._dials:
            dial.cancel()
        if self._dials:
            await asyncio.wait(self._dials)
        while self._open:
            self._emptied.clear()
            await self._emptied.wait()

    # Making a connection.

    def _connect(self, exchange: Exchange) -> None:
        """Look up the name, then dial. Both must be done within the time to connect."""
        request = exchange.request
        now = monotonic()
        until = min(now + request.connect_timeout, exchange.started_at + request.timeout)
        exchange.bucket = self._deadlines.add(exchange, until)
        target = request.target
        if self._dialler.proxy is not None and read_address(target.host) is None:
            self._continue_with_addresses(
                exchange, until, Addresses(())
            )  # the proxy looks up the name
            return
        done = partial(self._continue_with_addresses, exchange, until)
        self._resolver.resolve(target.host, target.port, target.owner, done)

    def _continue_with_addresses(
        self, exchange: Exchange, until: float, resolved: Resolved
    ) -> None:
        """Dial the addresses of a name, or end the exchange if it was not resolved."""
        if exchange.over:
            return
        if isinstance(resolved, Unresolved):  # `send` may still be running
            self._fail_soon(
                exchange, SendFailure(resolved.kind, resolved.detail, local=resolved.local)
            )
            return
        exchange.dialled_at = monotonic()
        dial = self._loop.create_task(self._dial(exchange, resolved.addresses, until))
        self._dials.add(dial)
        dial.add_done_callback(self._dials.discard)

    async def _dial(self, exchange: Exchange, addresses: tuple[str, ...], until: float) -> None:
        """Connect to one of the addresses, and send the exchange's request on the connection."""
        target = exchange.request.target
        make = partial(Connection, self, target.origin)
        dialled: Connection | SendFailure
        try:
            dialled = await self._dialler.dial(target, addresses, until, make)
        except Exception as error:  # noqa: BLE001  any error is a failure of this attempt
            dialled = send_failure_of(error)
        if isinstance(dialled, SendFailure):
            exchange.fail(dialled)
        elif not dialled.usable():  # the endpoint closed at once, or sent bytes before the request
            exchange.fail(_SHUT)
        elif exchange.over:
            dialled.close()
        else:
            self._open.add(dialled)
            self._postpone(exchange)
            dialled.carry(exchange)

    def _postpone(self, exchange: Exchange) -> None:
        """Replace the deadline of the connection by that of the whole exchange."""
        exchange.bucket.discard(exchange)
        due_at = exchange.started_at + exchange.request.timeout
        exchange.bucket = self._deadlines.add(exchange, due_at)

    # Ending an exchange that gets no answer.

    def _expire(self, exchange: Exchange) -> None:
        """End an exchange whose time is up."""
        self._stop(exchange, _LATE if exchange.carrier else _UNCONNECTED)

    def _stop(self, exchange: Exchange, why: SendFailure) -> None:
        """End an exchange before its answer, for this reason."""
        if exchange.carrier is None:  # the dial for it has its own time limit
            exchange.fail(why)
        else:
            exchange.carrier.abandon(why)

    def _fail_soon(self, exchange: Exchange, why: SendFailure) -> None:
        """End an exchange with a failure, but only after the code that runs now."""
        self._loop.call_soon(exchange.fail, why)

    def _free_descriptors(self) -> None:
        """Close half of the resting connections: there is no file descriptor left."""
        self._pool.shrink(len(self._pool) // 2)

    # What connections call.

    def rest(self, connection: Connection) -> None:
        """Keep a connection that can carry another exchange."""
        self._pool.keep(connection)

    def lost(self, connection: Connection) -> None:
        """Forget a connection that is closed."""
        self._pool.forget(connection)
        self._open.discard(connection)
        if not self._open:
            self._emptied.set()

    def repeat(self, exchange: Exchange) -> None:
        """Send once more on a new connection: the old one was closed as the request was sent.

        The endpoint may get a message twice because of that. It can tell by the message's id.
        """
        exchange.again = True
        exchange.carrier = None
        exchange.bucket.discard(exchange)
        self._connect(exchange)


class Resting(Protocol):
    """A connection, as a pool needs it."""

    key: Hashable
    rested_at: float

    def usable(self) -> bool:
        """Return whether it can still carry a request, as far as is known."""

    def close(self) -> None:
        """Close it properly, after pending writes."""


Kept = TypeVar("Kept", bound=Resting)


class Pool(Generic[Kept]):
    """Keeps the connections that rest between two requests: not too many, and none for long.

    Connections are kept by their key. The one that rested last is taken first.
    """

    def __init__(
        self,
        later: Later,
        clock: Callable[[], float],
        *,
        most: int = MOST_IDLE,
        idle_time: float = IDLE_TIME,
    ) -> None:
        self._later = later
        self._clock = clock
        self._most = most
        self._idle_time = idle_time
        self._stacks: dict[Hashable, list[Kept]] = {}
        self._order: dict[Kept, None] = {}  # the one that rests longest is first
        self._timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._order)

    def take(self, key: Hashable) -> Kept | None:
        """Take out and return a connection that rests under this key; None if there is none."""
        stack = self._stacks.get(key)
        while stack:
            connection = stack.pop()
            del self._order[connection]
            if connection.usable():
                return connection
        return None

    def keep(self, connection: Kept) -> None:
        """Let a connection rest; if there are too many, close the one that has rested longest."""
        stack = self._stacks.get(connection.key)
        if stack is None:
            stack = self._stacks[connection.key] = []
        stack.append(connection)
        self._order[connection] = None
        if len(self._order) > self._most:
            self._close_oldest()
        if self._timer is None:
            self._timer = self._later(self._idle_time / 4, self._sweep)

    def forget(self, connection: Kept) -> None:
        """Remove a connection that has closed, if it rests here."""
        if connection in self._order:
            del self._order[connection]
            self._stacks[connection.key].remove(connection)

    def shrink(self, most: int) -> None:
        """Close those that have rested longest until no more than `most` are left."""
        while len(self._order) > most:
            self._close_oldest()

    def close(self) -> None:
        """Close all connections, and stop the timer."""
        self.shrink(0)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close_oldest(self) -> None:
        """Close the connection that has been idle for longest."""
        connection = next(iter(self._order))
        self.forget(connection)
        connection.close()

    def _sweep(self) -> None:
        """Close connections that have rested too long, and forget keys without connections."""
        before = self._clock() - self._idle_time
        while self._order and next(iter(self._order)).rested_at <= before:
            self._close_oldest()
        self._stacks = {key: stack for key, stack in self._stacks.items() if stack}
        self._timer = self._later(self._idle_time / 4, self._sweep) if self._order else None
