"""A well-behaved receiver of webhooks with a limited capacity, for tests and benchmarks.

    with Receiver(capacity=200, manner="brittle") as receiver:
        ...                     # send something to receiver.url
        receiver.go_down("refuse")
        receiver.come_back()
        receiver.latency = 0.2
        receiver.script([500, 500])    # then as before
        receiver.arrivals

Above its capacity it behaves like an endpoint of the simulator, by the same code. To run it as a
process of its own: ``python -m tarry.testing.receiver --help``. It needs `tarry[service,sim]`.
"""

import asyncio
import socket
import sys
import time
from argparse import ArgumentParser
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from signal import SIGINT, SIGTERM, signal
from threading import Event, Thread
from types import TracebackType
from typing import IO, Literal, NamedTuple, Self

import uvloop

from tarry.errors import TarryError
from tarry.receive.http1 import Connection, Request, RequestReader, response
from tarry.sim.backlog.endpoint import MANNERS, Capacity, Endpoint, Manner

Down = Literal["refuse", "hang"] | int
"""How a receiver is down: it refuses connections, never answers, or always gives this status."""
ADDRESS = "127.0.0.1"
BACKLOG = 4096
OK = 200
OVERLOADED = 503
FLUSH_INTERVAL = 0.25
ANSWERS = {status: response(status) for status in range(200, 600)}


class Arrival(NamedTuple):
    """A request that arrived. `status` is None if it got no response."""

    at: float
    """The time by the monotonic clock."""
    id: str
    attempt: int
    status: int | None
    body: bytes
    head: bytes = b""

    def header(self, name: str) -> str:
        """Return the value of a header, empty if it is missing; heads are kept only with bodies."""
        return Request(self.head, self.body).header(name)


class Receiver:
    """A receiver in a thread of its own, which runs until the end of the `with` block.

    With a `queue`, a shedding receiver lets that many seconds of work wait. Its responses take
    longer the more work is waiting. `statuses` counts the responses. `arrivals` are kept if
    `record` is set, with bodies and heads if `bodies` is set. Each arrival is also written to
    `log`, as a line.
    """

    def __init__(  # noqa: PLR0913  one optional argument per setting
        self,
        *,
        port: int = 0,
        capacity: float | None = None,
        manner: Manner = "shed",
        queue: float = 0.0,
        latency: float = 0.0,
        seed: int = 0,
        record: bool = True,
        bodies: bool = False,
        log: IO[str] | None = None,
    ) -> None:
        self.latency = latency
        self.arrivals: list[Arrival] = []
        self.statuses: Counter[int | None] = Counter()
        self._port = port
        self._endpoint: Endpoint | None = None
        if capacity is not None:
            draw = Random(seed).random  # noqa: S311  load, not secrets
            self._endpoint = Endpoint(manner, Capacity(((0.0, capacity),)), draw, queue)
        self._record, self._bodies, self._log = record, bodies, log
        self._script: deque[int] = deque()
        self._down: Down | None = None
        self.connections: set[ReceiverConnection] = set()
        self._server: asyncio.Server | None = None
        self._ready = Event()
        self._thread = Thread(target=self._run, name="receiver", daemon=True)

    @property
    def url(self) -> str:
        """The URL to send to; any other path works as well."""
        return f"http://{ADDRESS}:{self._port}/hook"

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        if self._server is None:
            raise TarryError(f"port {self._port} cannot be listened on; 0 chooses a free one")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()

    def go_down(self, how: Down = "refuse") -> None:
        """Be down from now on; with "refuse", also drop the open connections."""
        asyncio.run_coroutine_threadsafe(self._set_down(how), self._loop).result()

    def come_back(self) -> None:
        """Accept requests again, on the same port."""
        asyncio.run_coroutine_threadsafe(self._set_down(None), self._loop).result()

    def script(self, statuses: Iterable[int]) -> None:
        """Answer the next requests with these statuses, one each, regardless of the capacity."""
        self._script = deque(statuses)

    def arrived(self, connection: "ReceiverConnection", request: Request) -> None:
        """Answer one request: now, later, or never."""
        at = time.monotonic()
        status, delay = self._status_and_delay(at)
        self.statuses[status] += 1
        if self._record or self._log:
            self._record_arrival(at, request, status)
        if status is None:
            return
        if delay > 0:
            self._loop.call_later(delay, connection.answer, status)
        else:
            connection.answer(status)

    def _status_and_delay(self, at: float) -> tuple[int | None, float]:
        """Return the status to answer now, None for no answer, and the answer's delay."""
        if self._down is not None:
            return (self._down if isinstance(self._down, int) else None), self.latency
        if self._script:
            return self._script.popleft(), self.latency
        if self._endpoint is None:
            return OK, self.latency
        if not self._endpoint.accepts(at, 1):
            return OVERLOADED, 0.0
        return OK, self.latency + self._endpoint.delay(at)

    def _record_arrival(self, at: float, request: Request, status: int | None) -> None:
        """Record a request and its status, in memory and in the log file."""
        message = request.header("webhook-id") or request.header("svix-id")
        number = request.header("webhook-attempt")
        attempt = int(number) if number.isdecimal() else 0
        if self._record:
            body_and_head = (request.body, request.head) if self._bodies else (b"", b"")
            self.arrivals.append(Arrival(at, message, attempt, status, *body_and_head))
        if self._log:
            self._log.write(f"{at:.6f}\t{message}\t{attempt}\t{status or '-'}\n")

    async def _set_down(self, how: Down | None) -> None:
        """Go down in this way; come back if it is None."""
        self._down = how
        if how == "refuse" and self._server:
            self._server.close()
            self._server = None
            for connection in tuple(self.connections):
                connection.drop()
        elif how != "refuse" and self._server is None:
            self._server = await self._loop.create_server(
                lambda: ReceiverConnection(self), ADDRESS, self._port, backlog=BACKLOG
            )

    async def _flush(self) -> None:
        """Write the log to its file now and then."""
        while self._log:  # readers of the file should see new lines soon
            await asyncio.sleep(FLUSH_INTERVAL)
            self._log.flush()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        """Reserve the port, listen, and wait until the receiver is closed."""
        self._loop = asyncio.get_running_loop()
        self._closing = asyncio.Event()
        with socket.socket() as reservation:  # reserves the port even while the receiver is down
            reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                with suppress(OSError):  # the port is taken: __enter__ reports it
                    reservation.bind((ADDRESS, self._port))
                    self._port = reservation.getsockname()[1]
                    await self._set_down(None)
            finally:
                self._ready.set()
            if self._server is not None:
                await self._until_closed()

    async def _until_closed(self) -> None:
        """Write the log now and then until the receiver is closed; then stop listening."""
        flushing = self._loop.create_task(self._flush())
        await self._closing.wait()
        flushing.cancel()
        await self._set_down("refuse")


class ReceiverConnection(Connection):
    """One connection to a receiver."""

    def __init__(self, receiver: Receiver) -> None:
        super().__init__(RequestReader())
        self._receiver = receiver

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection, so that it can be dropped."""
        super().connection_made(transport)
        self._receiver.connections.add(self)

    def connection_lost(self, _: Exception | None) -> None:
        """Forget the connection."""
        self._receiver.connections.discard(self)

    def received(self, request: Request) -> None:
        """Let the receiver answer."""
        self._receiver.arrived(self, request)

    def answer(self, status: int) -> None:
        """Send a response, unless the sender has closed the connection."""
        if not self.transport.is_closing():
            self.transport.write(ANSWERS[status])

    def drop(self) -> None:
        """Break the connection."""
        self.transport.abort()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run as a process of its own until a signal ends it; first print the URL."""
    options = _parser().parse_args(arguments)
    ended = Event()
    for number in (SIGINT, SIGTERM):
        signal(number, lambda *_: ended.set())
    with ExitStack() as opened:
        log = opened.enter_context(options.log.open("w")) if options.log else None
        receiver = opened.enter_context(
            Receiver(
                port=options.port,
                capacity=options.capacity,
                manner=options.mode,
                queue=options.queue,
                latency=options.latency,
                record=False,
                log=log,
            )
        )
        if options.down:
            receiver.go_down(int(options.how) if options.how.isdigit() else options.how)
        sys.stdout.write(f"{receiver.url}\n")
        sys.stdout.flush()
        if options.down:
            ended.wait(options.down)
            receiver.come_back()
        ended.wait()


def _parser() -> ArgumentParser:
    """Return the parser of the command line's options."""
    parser = ArgumentParser(prog="python -m tarry.testing.receiver")
    add = parser.add_argument
    add("--port", type=int, default=0, help="where to listen; 0 chooses a free one")
    add("--capacity", type=float, help="requests a second it can do; no limit if not given")
    add("--mode", choices=MANNERS, default="shed", help="what it does above its capacity")
    add("--queue", type=float, default=0.0, help="seconds of work that may wait when it sheds")
    add("--latency", type=float, default=0.0, help="seconds each answer takes")
    add("--down", type=float, default=0.0, help="seconds it is down at first")
    add("--how", default="refuse", help="how it is down: refuse, hang or a status")
    add("--log", type=Path, help="a file for the arrivals: time, id, attempt, status")
    return parser


if __name__ == "__main__":
    main()
