"""A small HTTP server for local use, which can stop listening and come back.

It accepts what a webhook may be: a POST whose body has a length or is chunked. It needs only the
standard library.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from errno import EACCES, EADDRINUSE
from http import HTTPStatus
from typing import NamedTuple

from tarry.errors import SettingsError

MOST_HEAD = 64 * 1024
MOST_BODY = 16 * 1024 * 1024


class Request(NamedTuple):
    """A request that arrived."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


class Reply(NamedTuple):
    """A response."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class _Unreadable(Exception):  # noqa: N818  internal to this module
    def __init__(self, status: HTTPStatus) -> None:
        self.status = status


class Listener:
    """Passes each request to `handle`, and sends the response that it returns.

    It holds its port from the beginning. While it is down, it refuses connections, as a machine
    does on which nothing runs.
    """

    def __init__(self, host: str, port: int, handle: Callable[[Request], Awaitable[Reply]]) -> None:
        self._handle = handle
        self._host = host
        self._held: socket.socket | None = _bound(host, port)
        self._port: int = self._held.getsockname()[1]
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
        if self._held is not None:
            held, self._held = self._held, None
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections inherit it
            self._server = await asyncio.start_server(self._talk, sock=held, limit=MOST_HEAD)

    async def down(self) -> None:
        """Refuse connections from now on, and break those that are open."""
        if self._server is not None:
            await self.close()
            self._held = _bound(self._host, self._port)

    async def close(self) -> None:
        """Release the port."""
        if self._held is not None:
            self._held.close()
            self._held = None
        if self._server is not None:
            self._server.close()
            self._server = None
        talks = list(self._talks.items())
        for task, writer in talks:
            writer.transport.abort()
            task.cancel()
        await asyncio.gather(*(task for task, _ in talks), return_exceptions=True)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task  # noqa: S101  a running coroutine belongs to a task
        self._talks[task] = writer
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._answer_once(reader, writer):
                    pass
        finally:
            del self._talks[task]
            writer.close()

    async def _answer_once(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer the next request, and return whether another one may follow."""
        try:
            request, more = await _read(reader, writer)
        except _Unreadable as error:
            writer.write(_written(Reply(error.status), more=False))
            await writer.drain()
            return False
        reply = await self._handle(request)
        writer.write(_written(reply, more=more))
        await writer.drain()
        return more


def _bound(host: str, port: int) -> socket.socket:
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


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[Request, bool]:
    """Read the next request, and whether its sender may send another one after it."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise _Unreadable(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE) from None
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    try:
        method, path, version = first.split(" ")
    except ValueError:
        raise _Unreadable(HTTPStatus.BAD_REQUEST) from None
    headers = tuple(_header(line) for line in lines)
    told = {name.lower(): value for name, value in headers}
    if told.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    more = version == "HTTP/1.1" and told.get("connection", "").lower() != "close"
    return Request(method, path, headers, await _body(reader, told)), more


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not name or name != name.strip():
        raise _Unreadable(HTTPStatus.BAD_REQUEST)
    return name, value.strip(" \t")


async def _body(reader: asyncio.StreamReader, told: dict[str, str]) -> bytes:
    if told.get("transfer-encoding", "").lower() == "chunked":
        return await _chunks(reader)
    return await _exactly(reader, told.get("content-length", "0"), 10)


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while size := (await _line(reader)).partition(b";")[0].strip():
        chunk = await _exactly(reader, size.decode("latin-1"), 16, already=len(body))
        if not chunk:
            while await _line(reader):  # trailers are ignored
                pass
            return bytes(body)
        body += chunk
        if await _line(reader):
            break
    raise _Unreadable(HTTPStatus.BAD_REQUEST)


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        return (await reader.readuntil(b"\r\n"))[:-2]
    except asyncio.LimitOverrunError:
        raise _Unreadable(HTTPStatus.BAD_REQUEST) from None


async def _exactly(
    reader: asyncio.StreamReader, length: str, base: int, *, already: int = 0
) -> bytes:
    digits = "0123456789abcdefABCDEF" if base == 16 else "0123456789"  # noqa: PLR2004  the base of chunk sizes
    if not length or length.strip(digits):
        raise _Unreadable(HTTPStatus.BAD_REQUEST)
    if len(length) > len(str(MOST_BODY)) or already + int(length, base) > MOST_BODY:
        raise _Unreadable(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return await reader.readexactly(int(length, base))


def _written(reply: Reply, *, more: bool) -> bytes:
    try:
        phrase = HTTPStatus(reply.status).phrase
    except ValueError:
        phrase = "Said"
    headers = [*reply.headers, ("connection", "keep-alive" if more else "close")]
    if reply.status != HTTPStatus.NO_CONTENT:
        headers.append(("content-length", str(len(reply.body))))
    lines = [f"HTTP/1.1 {reply.status} {phrase}", *(f"{name}: {text}" for name, text in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + reply.body
