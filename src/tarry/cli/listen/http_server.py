"""A small HTTP server for local use, which can stop listening and come back.

It needs only the standard library.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from errno import EACCES, EADDRINUSE
from typing import NamedTuple

from tarry.errors import SettingsError
from tarry.receive.http1 import (
    CLOSE,
    PIECE,
    Request,
    RequestError,
    RequestReader,
    read_request,
    response,
)

KEEP = (("connection", "keep-alive"),)


class Reply(NamedTuple):
    """A response."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class Listener:
    """Passes each request to `handle`, and sends the response that it returns.

    It holds its port from the beginning. While it is down, it refuses connections, as a machine
    does on which nothing runs.
    """

    def __init__(self, host: str, port: int, handle: Callable[[Request], Awaitable[Reply]]) -> None:
        self._handle = handle
        self._host = host
        self._reserved_port: socket.socket | None = _reserve(host, port)
        self._port: int = self._reserved_port.getsockname()[1]
        self._server: asyncio.Server | None = None
        self._talks: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    @property
    def url(self) -> str:
        """The URL to send to; any path works."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    @property
    def is_up(self) -> bool:
        """Whether it accepts connections."""
        return self._server is not None

    async def up(self) -> None:
        """Accept connections from now on."""
        if self._reserved_port is not None:
            held, self._reserved_port = self._reserved_port, None
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections inherit it
            self._server = await asyncio.start_server(
                self._handle_connection, sock=held, limit=PIECE
            )

    async def down(self) -> None:
        """Refuse connections from now on, and break those that are open."""
        if self._server is not None:
            await self.close()
            self._reserved_port = _reserve(self._host, self._port)

    async def close(self) -> None:
        """Release the port."""
        if self._reserved_port is not None:
            self._reserved_port.close()
            self._reserved_port = None
        if self._server is not None:
            self._server.close()
            self._server = None
        talks = list(self._talks.items())
        for task, writer in talks:
            writer.transport.abort()
            task.cancel()
        await asyncio.gather(*(task for task, _ in talks), return_exceptions=True)

    async def _handle_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Answer the requests of one connection, and close it at the end."""
        task = asyncio.current_task()
        assert task  # noqa: S101  a running coroutine belongs to a task
        self._talks[task] = writer
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._converse(reader, writer)
        finally:
            del self._talks[task]
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer requests until the sender is done, or sends something that cannot be read."""
        requests = RequestReader()
        try:
            while request := await read_request(requests, reader, writer):
                request.check()
                reply, keep = await self._handle(request), request.keeps_connection
                headers = (*reply.headers, *(KEEP if keep else CLOSE))
                writer.write(response(reply.status, headers, reply.body))
                await writer.drain()
                if not keep:
                    return
        except RequestError as error:
            writer.write(response(error.status, CLOSE))
            await writer.drain()


def _reserve(host: str, port: int) -> socket.socket:
    """Return a socket that holds a port but does not listen yet."""
    if not host:  # an empty host would mean every address
        raise SettingsError("host", host, "an address of this machine")
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        # Clear the option again, so that no other process can bind this port from now on. It was
        # set for bind(), so that leftovers of earlier connections do not block us.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
    except OSError as error:
        bound.close()
        why = error.strerror or str(error)
        if error.errno not in {EADDRINUSE, EACCES}:
            raise SettingsError("host", host, f"an address of this machine ({why})") from error
        wanted = f"a port of {host} that is free ({why}); 0 takes any"
        raise SettingsError("port", port, wanted) from error
    return bound
