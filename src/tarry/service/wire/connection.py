"""One connection: carries one exchange at a time, and rests or closes between two.

Nothing that is odd survives on it: after any fault, cut or late byte it is closed, so that no byte
of one answer can ever be taken for a part of the next.
"""

import asyncio
import math
from collections.abc import Callable, Hashable
from time import monotonic
from typing import Protocol, cast

from tarry.core.outcome import Kind
from tarry.service import failpoints
from tarry.service.wire.exchange import Answer, Request
from tarry.service.wire.reader import Reader
from tarry.service.wire.setback import Setback, setback

OLDEST = 300.0
"""Seconds after which a connection is not used again: an endpoint that moved is found anew."""
JOINED = 16 * 1024
"""A body up to this size goes out in one piece with its head; a longer one is not copied."""

ENOUGH = 0.5
"""The share of the time to connect after which a dial that took so long counts as tried."""
_UNCONNECTED = frozenset({Kind.DNS, Kind.TLS, Kind.TRANSIENT})
"""Failures that mean, before a request is sent, that no connection could be made."""


class Exchange:
    """One attempt on its way. `done` is told once."""

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
        """Is this the second try, after a connection that had rested turned out to be closed?"""
        self.dialled_at = math.inf
        """When the addresses of its host were known, and the dial for it began."""
        self.carrier: Connection | None = None
        self.bucket = _NOWHERE
        """Where its deadline waits."""

    def fail(self, why: Setback) -> None:
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

    def _is_unreachable(self, why: Setback, now: float) -> bool:
        """Whether nobody at the origin took the connection, whichever endpoint it was for.

        A dial that was given little time says nothing about the origin: the endpoint's own timeout
        may be short, or its name had to wait for others.
        """
        if self.carrier is not None or why.local:
            return False
        if why.kind is Kind.TIMEOUT:
            return now - self.dialled_at >= ENOUGH * self.request.connect_timeout
        return why.kind in _UNCONNECTED

    def finish(self, answer: Answer) -> None:
        """End it; whatever ends it a second time comes too late."""
        if self.over:
            return
        self.over = True
        self.carrier = None
        self.bucket.discard(self)
        try:
            self.done(answer)
        except Exception as error:  # noqa: BLE001  the caller's mistake must not harm a connection
            asyncio.get_running_loop().call_exception_handler(
                {"message": "the callback of an exchange failed", "exception": error}
            )


_NOWHERE: set[Exchange] = set()


class Owner(Protocol):
    """Who a connection belongs to."""

    def rest(self, connection: "Connection") -> None:
        """It has carried an exchange to its end and can carry another."""

    def lost(self, connection: "Connection") -> None:
        """It is closed."""

    def repeat(self, exchange: Exchange) -> None:
        """It was closed before the exchange could begin: make it on a fresh one."""


class Connection(asyncio.Protocol):
    """A connection that stands, and what is on it."""

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
        if len(body) > JOINED:
            self._transport.write(exchange.head)
            self._transport.write(body)
        else:
            self._transport.write(exchange.head + body)
        if failpoints.armed():  # the loop writes it at the end of this turn
            asyncio.get_running_loop().call_soon(failpoints.hit, "send.written")

    def usable(self) -> bool:
        """Whether it can carry a request, as far as is known."""
        return not self._dropped and not self._transport.is_closing()

    def close(self) -> None:
        """Close it in good order."""
        self._transport.close()

    def abandon(self, why: Setback) -> None:
        """Give up the exchange on it; if its status is known, that is the answer all the same."""
        exchange, self._exchange = self._exchange, None
        self._transport.abort()
        if exchange is not None:
            self._conclude(exchange, why)

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It stands."""
        self._transport = cast("asyncio.Transport", transport)  # a stream's goes both ways

    def data_received(self, data: bytes) -> None:
        """Read on; at the answer's end, rest or close, and only then tell."""
        exchange = self._exchange
        if exchange is None:  # nobody asked: it must not become the answer to the next request
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
            and not transport.get_write_buffer_size()  # answered before it had heard all
        ):
            self._used = True
            self.rested_at = now
            self._owner.rest(self)
        else:
            self._drop()
        exchange.finish(reader.answer(now - exchange.started_at))

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed, by whomever."""
        self._owner.lost(self)
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            self._end(exchange, exc)
        self._reader.close()

    def _drop(self) -> None:
        """Close it without a word, though not at once: uvloop's TLS would stumble over that."""
        self._dropped = True
        asyncio.get_running_loop().call_soon(self._transport.abort)

    def _end(self, exchange: Exchange, exc: Exception | None) -> None:
        """The other side closed it under an exchange."""
        if self._used and not self._reader.begun and not exchange.again:
            self._owner.repeat(exchange)
            return
        if exc is None:
            self._reader.end()
            self._conclude(exchange, Setback(Kind.TRANSIENT, "closed before the answer was there"))
        else:
            self._conclude(exchange, setback(exc))

    def _conclude(self, exchange: Exchange, why: Setback) -> None:
        if self._reader.status:
            exchange.finish(self._reader.answer(monotonic() - exchange.started_at))
        else:
            exchange.fail(why)
