"""A line to a PostgreSQL server that can be cut at a chosen moment."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import parse_qs, urlsplit

CHUNK = 65536
PORT = 5432


class Line:
    """Passes bytes on, until it sees what it is to be cut at."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.cut_before = b""
        """Of what is asked: it does not reach the server."""
        self.cut_behind = b""
        """Of what is asked: it reaches the server, but the answer does not come back."""

    async def serve(self, client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        server, ask = await connected(self._url)
        back = asyncio.create_task(self._pass(server, answer))
        with suppress(ConnectionError):
            while data := await client.read(CHUNK):
                if self.cut_before and self.cut_before in data:
                    break
                if self.cut_behind and self.cut_behind in data:
                    back.cancel()
                    await back
                    ask.write(data)
                    await server.read(1)  # it was done
                    break
                ask.write(data)
        back.cancel()
        for writer in (ask, answer):
            writer.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.CancelledError):
            while data := await reader.read(CHUNK):
                writer.write(data)
            writer.close()


@asynccontextmanager
async def line_to(url: str) -> AsyncIterator[tuple[Line, str]]:
    """A line to a server, and the URL that leads over it."""
    parts = urlsplit(url)
    line = Line(url)
    server = await asyncio.start_server(line.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        yield line, f"postgresql://postgres@127.0.0.1:{port}{parts.path}?sslmode=disable"


async def connected(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A bare connection to a server: a cluster for tests has a Unix socket, others have a port."""
    parts = urlsplit(url)
    folder = parse_qs(parts.query).get("host")
    if folder is None:
        return await asyncio.open_connection(parts.hostname, parts.port or PORT)
    return await asyncio.open_unix_connection(f"{folder[0]}/.s.PGSQL.{PORT}")
