"""The floor: how fast signed POSTs leave one process when nothing else is done.

A bare asyncio protocol with httptools' parser, meant for uvloop: no timeouts, limits, TLS, address
checks, store or second attempt. What tarry takes longer for, it takes for these.
"""

import asyncio
import itertools
import time
from collections.abc import Iterator
from typing import cast
from urllib.parse import urlsplit

import httptools
from msgspec import Struct

from tarry.cli.bench.job import PAYLOAD, SECRET, key_of, message_id, signature
from tarry.errors import TarryError

GOOD = range(200, 300)


async def bare_client(url: str, deliveries: int, concurrency: int) -> float:
    """Make so many deliveries over so many connections; seconds from first send to last answer.

    Each connection has one request on its way at a time. A connection that is lost and an answer
    that is not 2xx end it with an error.
    """
    place = urlsplit(url)
    requests = _requests(place.netloc, place.path or "/", deliveries)
    return (await post_all(url, requests, deliveries, concurrency)).took


async def post_all(
    url: str,
    requests: Iterator[bytes],
    count: int,
    concurrency: int,
    *,
    rate: float | None = None,
) -> "Posted":
    """Send so many requests, ready for the wire, over so many connections.

    With a `rate` so many a second become due, whatever became of those before, and each is timed
    from then on: one that finds all connections busy has waited already.
    """
    loop, place = asyncio.get_running_loop(), urlsplit(url)
    work = Work(requests, count, loop.create_future(), rate)
    try:
        for _ in range(min(concurrency, count)):
            await loop.create_connection(
                lambda: Client(work), place.hostname or "", place.port or 80
            )
        work.began_at = time.perf_counter()
        for client in work.clients:
            client.send()
        await work.done
        return Posted(time.perf_counter() - work.began_at, sorted(work.waits))
    finally:
        work.done.cancel()  # a connection that closes from now on is no failure
        await asyncio.gather(*(client.close() for client in work.clients))


class Posted(Struct, frozen=True):
    """How long all took together, and each of them, the quickest first."""

    took: float
    waits: list[float]

    def quantile(self, share: float) -> float:
        """How long so many of them took at the most."""
        return self.waits[min(len(self.waits) - 1, int(share * len(self.waits)))]


def _requests(host: str, path: str, deliveries: int) -> Iterator[bytes]:
    """One signed request after the other, ready for the wire, made when it is asked for."""
    body, key = PAYLOAD.encode(), key_of(SECRET)
    frame = (
        f"POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nwebhook-id: %s\r\nwebhook-timestamp: %d\r\n"
        "webhook-signature: %s\r\n\r\n"
    )
    for serial in range(deliveries):
        id, now = message_id(serial), int(time.time())  # noqa: A001  an id is what it is
        yield (frame % (id, now, signature(key, id, now, body))).encode() + body


class Work:
    """What all connections share: the requests that are left, and the answers that are due."""

    def __init__(
        self,
        requests: Iterator[bytes],
        answers_due: int,
        done: asyncio.Future[None],
        rate: float | None = None,
    ) -> None:
        self.requests = requests
        self.answers_due = answers_due
        self.done = done
        self.began_at = 0.0
        self._rate = rate
        self._numbers = itertools.count()
        self.waits: list[float] = []
        self.clients: list[Client] = []

    def due_at(self) -> float:
        """When the next request is due: now, or at its place in the rate."""
        if self._rate is None:
            return time.perf_counter()
        return self.began_at + next(self._numbers) / self._rate

    def answered(self, status: int) -> None:
        """Note an answer."""
        self.answers_due -= 1
        if status not in GOOD:
            self.fail(f"the receiver answered {status}")
        elif not self.answers_due and not self.done.done():
            self.done.set_result(None)

    def fail(self, why: str) -> None:
        """Give up."""
        if not self.done.done():
            self.done.set_exception(TarryError(f"the bare client gave up: {why}"))


class Client(asyncio.Protocol):
    """One connection: send, wait for the answer, send the next."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._parser = httptools.HttpResponseParser(self)
        self._timer: asyncio.TimerHandle | None = None
        self._closed = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Be ready."""
        self._transport = cast("asyncio.Transport", transport)  # a stream's goes both ways
        self._work.clients.append(self)

    def send(self) -> None:
        """Send the next request when it is due, if any is left."""
        request = next(self._work.requests, None)
        if request:
            self._due_at = self._work.due_at()
            early = self._due_at - time.perf_counter()
            if early > 0:
                loop = asyncio.get_running_loop()
                self._timer = loop.call_later(early, self._transport.write, request)
            else:
                self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Read on."""
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        """Note the answer and go on; httptools calls this."""
        self._work.waits.append(time.perf_counter() - self._due_at)
        self._work.answered(self._parser.get_status_code())
        self.send()

    def connection_lost(self, error: Exception | None) -> None:
        """Say so, if anybody still waits."""
        self._closed.set_result(None)
        self._work.fail(f"a connection was lost ({error or 'closed by the receiver'})")

    async def close(self) -> None:
        """Drop a request that is not due yet, and close the connection.

        When this returns, the event loop no longer knows the connection and may end.
        """
        if self._timer:
            self._timer.cancel()
        self._transport.abort()
        await self._closed
