"""A proxy before a PostgreSQL server that cuts the connection at a chosen moment."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import parse_qs, urlsplit

CHUNK = 65536
PORT = 5432


class Line:
    """Passes bytes on until it sees the bytes at which it cuts the connection."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.cut_before = b""
        """Bytes of a request that does not reach the server."""
        self.cut_behind = b""
        """Bytes of a request that reaches the server but whose answer is lost."""

    async def serve(self, client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        server, to_server = await connected(self._url)
        back = asyncio.create_task(self._pass(server, answer))
        with suppress(ConnectionError):
            while data := await client.read(CHUNK):
                if self.cut_before and self.cut_before in data:
                    break
                if self.cut_behind and self.cut_behind in data:
                    back.cancel()
                    await back
                    to_server.write(data)
                    await server.read(1)  # it was done
                    break
                to_server.write(data)
        back.cancel()
        for writer in (to_server, answer):
            writer.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.CancelledError):
            while data := await reader.read(CHUNK):
                writer.write(data)
            writer.close()


@asynccontextmanager
async def line_to(url: str) -> AsyncIterator[tuple[Line, str]]:
    """Provide a proxy before a server, and the URL that leads through it."""
    parts = urlsplit(url)
    line = Line(url)
    server = await asyncio.start_server(line.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        yield line, f"postgresql://postgres@127.0.0.1:{port}{parts.path}?sslmode=disable"


async def connected(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a socket to a server: test clusters have a Unix socket, others have a port."""
    parts = urlsplit(url)
    folder = parse_qs(parts.query).get("host")
    if folder is None:
        return await asyncio.open_connection(parts.hostname, parts.port or PORT)
    return await asyncio.open_unix_connection(f"{folder[0]}/.s.PGSQL.{PORT}")
