"""An exchange in progress, the connection that carries it, and the timer for all deadlines.

A connection carries one exchange at a time, and rests or closes after it. It is closed after any
fault, cut-off answer or unexpected byte, so that no byte of one answer can ever be taken for a part
of the next.
"""

import asyncio
import math
from collections.abc import Callable, Hashable
from time import monotonic
from typing import Generic, Protocol, TypeVar, cast

from tarry.core.outcome import Kind
from tarry.service.failpoints import armed, hit
from tarry.service.wire.exchange import Answer, Request
from tarry.service.wire.http1 import Reader
from tarry.service.wire.send_failure import SendFailure, send_failure_of

OLDEST = 300.0
"""Seconds after which a connection is not used again, so that a moved endpoint is found."""
LONGEST_JOINED = 16 * 1024
"""A body up to this size is written together with its head; a longer one is not copied."""
CONCLUSIVE_SHARE = 0.5
"""A dial that timed out is evidence against the origin if it had at least this share of the time to
connect."""
TICK = 0.05
"""Seconds by which a deadline may be noticed late."""

_UNCONNECTED = frozenset({Kind.DNS, Kind.TLS, Kind.TRANSIENT})
"""Failures that mean, before a request is sent, that no connection could be made."""

Item = TypeVar("Item")


class Exchange:
    """One attempt in progress. `done` is called once."""

    __slots__ = (
        *("again", "bucket", "carrier", "dialled_at", "done", "head", "over", "request"),
        "started_at",
    )

    def __init__(
        self, request: Request, head: bytes, done: Callable[[Answer], None], now: float
    ) -> None:
        self.request = request
        self.head = head
        self.done = done
        self.started_at = now
        self.over = False
        self.again = False
        """Whether this is the second try, after a resting connection turned out to be closed."""
        self.dialled_at = math.inf
        """When the addresses of its host were known, and its dial started."""
        self.carrier: Connection | None = None
        self.bucket = _NOWHERE
        """The bucket of `Deadlines` that holds its deadline."""

    def fail(self, why: SendFailure) -> None:
        """End it without an answer."""
        now = monotonic()
        self.finish(
            Answer(
                now - self.started_at,
                failure=why.kind,
                detail=why.detail,
                unreachable=self._is_unreachable(why, now),
            )
        )

    def _is_unreachable(self, why: SendFailure, now: float) -> bool:
        """Return whether the origin accepts no connection, whichever endpoint it is for.

        A dial that had little time says nothing about the origin: the endpoint's own timeout may be
        short, or the look-up of its name had to wait for others.
        """
        if self.carrier is not None or why.local:
            return False
        if why.kind is Kind.TIMEOUT:
            return now - self.dialled_at >= CONCLUSIVE_SHARE * self.request.connect_timeout
        return why.kind in _UNCONNECTED

    def finish(self, answer: Answer) -> None:
        """End it with this answer; a second call has no effect."""
        if self.over:
            return
        self.over = True
        self.carrier = None
        self.bucket.discard(self)
        try:
            self.done(answer)
        except Exception as error:  # noqa: BLE001  a caller's error must not break a connection
            asyncio.get_running_loop().call_exception_handler(
                {"message": "the callback of an exchange failed", "exception": error}
            )


_NOWHERE: set[Exchange] = set()


class Owner(Protocol):
    """The client that a connection belongs to."""

    def rest(self, connection: "Connection") -> None:
        """Keep a connection that completed an exchange and can carry another."""

    def lost(self, connection: "Connection") -> None:
        """Forget a connection that is closed."""

    def repeat(self, exchange: Exchange) -> None:
        """Send on a new connection: the old one was closed before the exchange could begin."""


class Connection(asyncio.Protocol):
    """An open connection, and the exchange that it carries."""

    __slots__ = (
        "_dropped",
        "_exchange",
        "_opened_at",
        "_owner",
        "_reader",
        "_transport",
        "_used",
        "key",
        "rested_at",
    )

    def __init__(self, owner: Owner, key: Hashable) -> None:
        self.key = key
        self.rested_at = 0.0
        self._owner = owner
        self._opened_at = monotonic()
        self._reader = Reader()
        self._exchange: Exchange | None = None
        self._used = False
        self._dropped = False
        self._transport: asyncio.Transport

    def carry(self, exchange: Exchange) -> None:
        """Send the exchange's request and wait for its answer."""
        exchange.carrier = self
        self._exchange = exchange
        self._reader.begin()
        body = exchange.request.body
        if len(body) > LONGEST_JOINED:
            self._transport.write(exchange.head)
            self._transport.write(body)
        else:
            self._transport.write(exchange.head + body)
        if armed():  # the event loop writes it at the end of its current iteration
            asyncio.get_running_loop().call_soon(hit, "send.written")

    def usable(self) -> bool:
        """Return whether it can carry a request, as far as is known."""
        return not self._dropped and not self._transport.is_closing()

    def close(self) -> None:
        """Close it properly, after pending writes."""
        self._transport.close()

    def abandon(self, why: SendFailure) -> None:
        """Give up its exchange. If the status has come already, it is the answer nevertheless."""
        exchange, self._exchange = self._exchange, None
        self._transport.abort()
        if exchange is not None:
            self._end_exchange(exchange, why)

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the transport of the open connection."""
        self._transport = cast("asyncio.Transport", transport)  # a stream's reads and writes

    def data_received(self, data: bytes) -> None:
        """Read on; at the end of the answer, rest or close first, and then report the answer."""
        exchange = self._exchange
        if exchange is None:  # bytes without a request: they must not become the next answer
            self._drop()
            return
        reader = self._reader
        if not reader.feed(data):
            return
        self._exchange = None
        now = monotonic()
        transport = self._transport
        if (
            reader.reusable
            and now - self._opened_at < OLDEST
            and not transport.get_write_buffer_size()  # else it answered before the request's end
        ):
            self._used = True
            self.rested_at = now
            self._owner.rest(self)
        else:
            self._drop()
        exchange.finish(reader.answer(now - exchange.started_at))

    def connection_lost(self, exc: Exception | None) -> None:
        """End the exchange on a connection that was closed, by either side."""
        self._owner.lost(self)
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            self._end(exchange, exc)
        self._reader.close()

    def _drop(self) -> None:
        """Abort the connection, in the next iteration of the loop: uvloop's TLS fails otherwise."""
        self._dropped = True
        asyncio.get_running_loop().call_soon(self._transport.abort)

    def _end(self, exchange: Exchange, exc: Exception | None) -> None:
        """End an exchange whose connection was closed: repeat it, or report the failure."""
        if self._used and not self._reader.begun and not exchange.again:
            self._owner.repeat(exchange)
            return
        if exc is None:
            self._reader.end()
            self._end_exchange(
                exchange, SendFailure(Kind.TRANSIENT, "closed before the response was complete")
            )
        else:
            self._end_exchange(exchange, send_failure_of(exc))

    def _end_exchange(self, exchange: Exchange, why: SendFailure) -> None:
        """End an exchange with the answer as far as it was read, or with `why` without a status."""
        if self._reader.status:
            exchange.finish(self._reader.answer(monotonic() - exchange.started_at))
        else:
            exchange.fail(why)


class Timer(Protocol):
    """The handle of a call that an event loop will make later."""

    def cancel(self) -> None:
        """Cancel the call."""


Later = Callable[[float, Callable[[], None]], Timer]
"""The `call_later` of an event loop."""


class Deadlines(Generic[Item]):
    """One ticking timer for the deadlines of all items, which ticks only while there are any.

    A timer of the event loop for each exchange was 15 % of the cost of sending. Items are held in
    buckets of one tick.
    """

    def __init__(
        self, later: Later, clock: Callable[[], float], expire: Callable[[Item], None]
    ) -> None:
        self._later = later
        self._expire = expire
        self._clock = clock
        self._buckets: dict[int, set[Item]] = {}
        self._timer: Timer | None = None

    def add(self, item: Item, due_at: float) -> set[Item]:
        """Let `item` expire at `due_at`, unless it is discarded from the returned set before."""
        tick = int(due_at / TICK) + 1  # the first tick that is not before the deadline
        bucket = self._buckets.get(tick)
        if bucket is None:
            bucket = self._buckets[tick] = set()
            if self._timer is None:
                self._timer = self._later(TICK, self._turn)
        bucket.add(item)
        return bucket

    def items(self) -> list[Item]:
        """Return all items that have not expired and were not discarded."""
        return [item for bucket in self._buckets.values() for item in bucket]

    def close(self) -> None:
        """Stop the timer and forget all items."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._buckets.clear()

    def _turn(self) -> None:
        """Expire the items that are due, and forget empty and past buckets."""
        now = int(self._clock() / TICK)
        past = [tick for tick, bucket in self._buckets.items() if tick <= now or not bucket]
        due = [item for tick in past for item in self._buckets.pop(tick)]
        try:
            while due:
                self._expire(due.pop())
        finally:
            if due:  # `expire` raised an error for one item: the others expire at the next tick
                self._buckets.setdefault(now, set()).update(due)
            self._timer = self._later(TICK, self._turn) if self._buckets else None
