"""A pooler in transaction mode, as PgBouncer is: a transaction may get any server process."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

from tests.service.store.postgres.line import connected

SSL_REQUEST, CANCEL_REQUEST, PROTOCOL = 80877103, 80877102, 196608
KEY = struct.pack("!II", 4_000_000_000, 7)  # not a process: this is how a pooler is known
DONE = b""


class Process:
    """A connection to the server, lent to one client's transaction at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.settings: list[bytes] = []

    @classmethod
    async def start(cls, url: str, database: str) -> "Process":
        process = cls(*await connected(url))
        words = b"user\0postgres\0database\0" + database.encode() + b"\0\0"
        process.writer.write(struct.pack("!II", len(words) + 8, PROTOCOL) + words)
        while (message := await read(process.reader))[:1] != b"Z":
            if message[:1] == b"S":
                process.settings.append(message)
        return process


class Pooler:
    """Lends a few server processes to any number of clients, for one transaction each."""

    def __init__(self) -> None:
        self.free: asyncio.Queue[Process] = asyncio.Queue()
        self.transactions = 0

    async def serve(self, client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            if await self._greet(client, answer):
                requests: asyncio.Queue[bytes] = asyncio.Queue()
                reading = asyncio.create_task(_read_all(client, requests))
                while (message := await requests.get()) != DONE:
                    await self._transaction(message, requests, answer)
                await reading
        answer.transport.abort()

    async def _greet(self, client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> bool:
        while True:
            size, kind = struct.unpack("!II", await client.readexactly(8))
            await client.readexactly(size - 8)
            if kind == CANCEL_REQUEST:
                return False
            if kind != SSL_REQUEST:
                break
            answer.write(b"N")
        process = await self.free.get()
        self.free.put_nowait(process)
        ready = b"Z" + struct.pack("!I", 5) + b"I"
        key = b"K" + struct.pack("!I", 12) + KEY
        answer.write(b"R" + struct.pack("!II", 8, 0) + b"".join(process.settings) + key + ready)
        return True

    async def _transaction(
        self, message: bytes, requests: "asyncio.Queue[bytes]", answer: asyncio.StreamWriter
    ) -> None:
        """Lend a process until it reports that no transaction is open."""
        process = await self.free.get()
        self.transactions += 1
        answering = asyncio.create_task(_answer(process, answer))
        process.writer.write(message)
        while not answering.done():
            following = asyncio.create_task(requests.get())
            await asyncio.wait({answering, following}, return_when=asyncio.FIRST_COMPLETED)
            if following.done():
                process.writer.write(following.result())
            else:
                following.cancel()
        self.free.put_nowait(process)


async def _read_all(client: asyncio.StreamReader, requests: "asyncio.Queue[bytes]") -> None:
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while (message := await read(client))[:1] != b"X":
            requests.put_nowait(message)
    requests.put_nowait(DONE)


async def _answer(process: Process, answer: asyncio.StreamWriter) -> None:
    """Pass on the server's messages until it is ready for another transaction."""
    message = b""
    while message[:1] != b"Z" or message[-1:] != b"I":
        message = await read(process.reader)
        answer.write(message)


async def read(reader: asyncio.StreamReader) -> bytes:
    """Return one complete message."""
    head = await reader.readexactly(5)
    return head + await reader.readexactly(struct.unpack("!I", head[1:])[0] - 4)


@asynccontextmanager
async def pooler_of(url: str, processes: int = 3) -> AsyncIterator[tuple[Pooler, str]]:
    """Provide a pooler before a test cluster's server, and the URL that leads through it."""
    database = urlsplit(url).path.lstrip("/")
    pooler = Pooler()
    for _ in range(processes):
        pooler.free.put_nowait(await Process.start(url, database))
    server = await asyncio.start_server(pooler.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        yield pooler, f"postgresql://postgres@127.0.0.1:{port}/{database}"
    while not pooler.free.empty():
        pooler.free.get_nowait().writer.close()
