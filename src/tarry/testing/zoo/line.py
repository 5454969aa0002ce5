"""One connection from the receiver's side: read requests, and continue or end it rudely."""

import asyncio
import socket
import struct
from contextlib import suppress
from itertools import repeat
from typing import cast

from msgspec import Struct

from tarry.receive.http1 import RequestReader, read_request

RESET_ON_CLOSE = struct.pack("ii", 1, 0)
PIECE = 16 * 1024


class Asked(Struct, frozen=True):
    """A request as it came, with header names in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Line:
    """A connection. Once it is `over`, nothing more is read from it.

    `answered` counts the requests answered on it before this one. `url` is the receiver's own URL,
    and `beat` the seconds between two bytes of a slow receiver.
    """

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, url: str, beat: float
    ) -> None:
        self.url = url
        self.beat = beat
        self.answered = 0
        self.over = False
        self._reader = reader
        self._writer = writer
        self._requests = RequestReader()

    async def next_request(self) -> Asked | None:
        """Read the next request; None if the sender has closed the connection."""
        request = await read_request(self._requests, self._reader)
        if request is None:
            return None
        request.check()
        headers = {name.lower(): value for name, value in request.headers}
        return Asked(request.method, request.path, headers, request.body)

    async def head(self) -> bytes:
        """Read the head of a request."""
        return await self._reader.readuntil(b"\r\n\r\n")

    async def some(self) -> bytes:
        """Read whatever comes first."""
        return await self._reader.read(PIECE)

    async def send(self, data: bytes) -> None:
        """Send data, and wait while the sender does not read it."""
        self._writer.write(data)
        await self._writer.drain()

    async def trickle(self, data: bytes) -> None:
        """Send data one byte at a time."""
        for byte in data:
            await self.send(bytes((byte,)))
            await asyncio.sleep(self.beat)

    async def flood(self, piece: bytes, times: int | None = None) -> None:
        """Send a piece again and again, as fast as it is read; without `times`, forever."""
        for _ in repeat(None) if times is None else repeat(None, times):
            await self.send(piece)
            await asyncio.sleep(0)  # drain() may return at once, and other tasks must run

    async def hang(self) -> None:
        """Send nothing more, until the sender has closed the connection."""
        while await self._reader.read(PIECE):
            pass
        self.over = True

    async def ignore(self) -> None:
        """Send and read nothing more: not even the end of the connection is noticed."""
        cast("asyncio.Transport", self._writer.transport).pause_reading()
        await asyncio.Event().wait()

    async def hang_up(self) -> None:
        """Close the connection properly, and wait for the sender to do the same.

        A socket that is closed with unread data would be reset.
        """
        self.over = True
        if self._writer.can_write_eof():
            self._writer.write_eof()
            await self.hang()
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    def reset(self) -> None:
        """Reset the connection."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        self.drop()

    def drop(self) -> None:
        """Close without notice: under TLS, the end of the stream is not announced."""
        self.over = True
        self._writer.transport.abort()

    @property
    def _socket(self) -> socket.socket:
        sock: socket.socket = self._writer.get_extra_info("socket")
        return sock
