"""A running receiver: it listens on loopback, in a thread of its own, with one behaviour.

Beside its behaviour, every receiver has a `calm_url`, where it answers correctly, with the body of
the request. It shows whether a sender that met the behaviour still matches responses to requests.
If the receiver reads requests at all, this URL has the same port, so a sender may use the same
connection.
"""

import asyncio
import socket
from contextlib import ExitStack, suppress
from threading import Event, Thread
from types import TracebackType
from typing import Self

from tarry.receive.http1 import RequestError, response
from tarry.testing.zoo.behaviour import Behaviour
from tarry.testing.zoo.certificates import ADDRESS, HOST, context
from tarry.testing.zoo.line import Asked, Line

CALM = "/calm"
TRAP = "/trap"
"""Where the redirects lead that a sender must not follow; requests to it are answered correctly."""
ACCEPT_QUEUE = 1024
LONGEST_HEAD = 64 * 1024


class Receiver:
    """One receiver, open until the end of the `with` block.

    `requests` are those it has read, in order. `connections` counts those it has accepted.
    """

    def __init__(self, behaviour: Behaviour, *, beat: float = 1.0) -> None:
        self.behaviour = behaviour
        self.requests: list[Asked] = []
        self.connections = 0
        self.url = self.calm_url = ""
        self._beat = beat
        self._thread = Thread(target=self._run, name=f"zoo {behaviour.name}", daemon=True)
        self._ready = Event()
        self._sockets = ExitStack()
        self._tasks: set[asyncio.Task[None]] = set()
        self._accepted: set[socket.socket] = set()

    def __enter__(self) -> Self:
        listener = self._listen(0 if self.behaviour.unaccepted else ACCEPT_QUEUE)
        host = HOST if self.behaviour.scheme == "https" else ADDRESS
        base = f"{self.behaviour.scheme}://{host}:{listener.getsockname()[1]}"
        self._listeners = [(listener, False)]
        self.url, self.calm_url = f"{base}/hook", f"{base}{CALM}"
        if self.behaviour.unaccepted:
            self._fill(listener)
        if self.behaviour.unheard or self.behaviour.scheme == "https":
            beside = self._listen(ACCEPT_QUEUE)
            self._listeners.append((beside, True))
            self.calm_url = f"http://{ADDRESS}:{beside.getsockname()[1]}{CALM}"
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()
        self._sockets.close()

    def _listen(self, room: int) -> socket.socket:
        """Return a socket that listens on a free port, with `room` for connections to accept."""
        listener = self._sockets.enter_context(socket.create_server((ADDRESS, 0), backlog=room))
        listener.settimeout(0)
        return listener

    def _fill(self, listener: socket.socket) -> None:
        """Fill the accept queue."""
        for _ in range(2):
            waiting = self._sockets.enter_context(socket.socket())
            waiting.settimeout(0)
            waiting.connect_ex(listener.getsockname())

    def _run(self) -> None:
        """Serve in this thread until the receiver is closed, then close all connections."""
        asyncio.run(self._serve())
        for sock in self._accepted:  # a task cancelled before its first step has closed nothing
            sock.close()

    async def _serve(self) -> None:
        """Accept connections in an event loop until the receiver is closed."""
        self._loop = asyncio.get_running_loop()
        self._closing = asyncio.Event()
        for listener, calm in self._listeners:
            if calm or not self.behaviour.unaccepted:
                self._loop.add_reader(listener, self._accept, listener, calm)
        self._ready.set()
        await self._closing.wait()
        for listener, _ in self._listeners:
            self._loop.remove_reader(listener)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _accept(self, listener: socket.socket, calm: bool) -> None:  # noqa: FBT001  called by the event loop
        """Accept a connection and serve it in a task. The event loop calls this."""
        with suppress(BlockingIOError):  # the client may have gone already
            sock, _ = listener.accept()
            sock.settimeout(0)
            self._accepted.add(sock)
            task = self._loop.create_task(self._serve_connection(sock, calm=calm))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _serve_connection(self, sock: socket.socket, *, calm: bool) -> None:
        """Serve one connection until it ends: as the behaviour does or, if `calm`, correctly.

        Only connections that are not calm are counted.
        """
        self.connections += not calm
        with suppress(
            OSError, asyncio.IncompleteReadError, RequestError
        ):  # it has gone, or cannot be read
            line = await self._open(sock, calm=calm)
            try:
                await self._converse(line, calm=calm)
            finally:
                line.drop()
        self._accepted.discard(sock)

    async def _open(self, sock: socket.socket, *, calm: bool) -> Line:
        """Return a line on a new connection, with the behaviour's certificate unless `calm`."""
        reader = asyncio.StreamReader(limit=LONGEST_HEAD)
        protocol = asyncio.StreamReaderProtocol(reader)
        shown = None if calm else self.behaviour.certificate
        transport, _ = await self._loop.connect_accepted_socket(
            lambda: protocol, sock, ssl=context(shown) if shown else None
        )
        writer = asyncio.StreamWriter(transport, protocol, reader, self._loop)
        return Line(reader, writer, url=self.url, beat=self._beat)

    async def _converse(self, line: Line, *, calm: bool) -> None:
        """Answer the requests of a connection, as the behaviour does or, if `calm`, with 200."""
        if self.behaviour.unheard and not calm:
            await self.behaviour.play(line)
            return
        while not line.over and (request := await line.next_request()):
            self.requests.append(request)
            if calm or request.path in {CALM, TRAP}:
                await line.send(response(200, body=request.body))
            else:
                await self.behaviour.play(line)
            line.answered += 1
