"""The floor: how fast one process sends signed POST requests when it does nothing else.

This is a bare asyncio protocol with httptools' parser, meant for uvloop. It has no timeouts,
limits, TLS, address checks, store or retries. Any extra time that tarry takes is the cost of these.
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
    """Send `deliveries` requests and return the seconds from first send to last response.

    Each of the `concurrency` connections has one request in flight at a time. A lost connection, or
    a response that is not 2xx, ends the measurement with an error.
    """
    address = urlsplit(url)
    requests = _requests(address.netloc, address.path or "/", deliveries)
    return (await post_all(url, requests, deliveries, concurrency)).took


async def post_all(
    url: str,
    requests: Iterator[bytes],
    count: int,
    concurrency: int,
    *,
    rate: float | None = None,
) -> "Posted":
    """Send `count` prepared requests over `concurrency` connections.

    With a `rate`, requests become due at that many per second, however slow the earlier ones are.
    Each is timed from the moment it is due, so waiting for a free connection counts as well.
    """
    loop, address = asyncio.get_running_loop(), urlsplit(url)
    work = Work(requests, count, loop.create_future(), rate)
    try:
        for _ in range(min(concurrency, count)):
            await loop.create_connection(
                lambda: Client(work), address.hostname or "", address.port or 80
            )
        work.began_at = time.perf_counter()
        for client in work.clients:
            client.send()
        await work.done
        return Posted(time.perf_counter() - work.began_at, sorted(work.waits))
    finally:
        work.done.cancel()  # connections that close from now on are not failures
        await asyncio.gather(*(client.close() for client in work.clients))


class Posted(Struct, frozen=True):
    """How long all requests took together, and how long each took, sorted from the fastest."""

    took: float
    waits: list[float]

    def quantile(self, share: float) -> float:
        """Return the time within which this share of the requests was answered."""
        return self.waits[min(len(self.waits) - 1, int(share * len(self.waits)))]


def _requests(host: str, path: str, deliveries: int) -> Iterator[bytes]:
    """Sign requests one at a time, when the next one is needed."""
    body, key = PAYLOAD.encode(), key_of(SECRET)
    frame = (
        f"POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nwebhook-id: %s\r\nwebhook-timestamp: %d\r\n"
        "webhook-signature: %s\r\n\r\n"
    )
    for serial in range(deliveries):
        id, now = message_id(serial), int(time.time())  # noqa: A001  `id` is the usual name
        yield (frame % (id, now, signature(key, id, now, body))).encode() + body


class Work:
    """What all connections share: the remaining requests, and the number of responses still due."""

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
        """Return when the next request is due: now, or at its place in the rate."""
        if self._rate is None:
            return time.perf_counter()
        return self.began_at + next(self._numbers) / self._rate

    def answered(self, status: int) -> None:
        """Count a response; a status other than 2xx ends the measurement."""
        self.answers_due -= 1
        if status not in GOOD:
            self.fail(f"the receiver answered {status}")
        elif not self.answers_due and not self.done.done():
            self.done.set_result(None)

    def fail(self, why: str) -> None:
        """End the measurement with an error."""
        if not self.done.done():
            self.done.set_exception(TarryError(f"the bare client gave up: {why}"))


class Client(asyncio.Protocol):
    """One connection: send a request, wait for the response, send the next one."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._parser = httptools.HttpResponseParser(self)
        self._timer: asyncio.TimerHandle | None = None
        self._closed = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport and prepare a parser."""
        self._transport = cast("asyncio.Transport", transport)  # a stream's reads and writes
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
        """Feed the parser."""
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        """Count the response and send the next request. httptools calls this."""
        self._work.waits.append(time.perf_counter() - self._due_at)
        self._work.answered(self._parser.get_status_code())
        self.send()

    def connection_lost(self, error: Exception | None) -> None:
        """Fail the measurement if responses are still due."""
        self._closed.set_result(None)
        self._work.fail(f"a connection was lost ({error or 'closed by the receiver'})")

    async def close(self) -> None:
        """Drop a request that is not due yet, and close the connection.

        When this returns, the event loop no longer knows the connection and may be closed.
        """
        if self._timer:
            self._timer.cancel()
        self._transport.abort()
        await self._closed
