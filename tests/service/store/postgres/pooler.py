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
    """A connection to the server, used by whoever has a transaction to run."""

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
    """Lends a few server processes to any number of clients, for a transaction each."""

    def __init__(self) -> None:
        self.free: asyncio.Queue[Process] = asyncio.Queue()
        self.transactions = 0

    async def serve(self, client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            if await self._greet(client, answer):
                asked: asyncio.Queue[bytes] = asyncio.Queue()
                reading = asyncio.create_task(_read_all(client, asked))
                while (message := await asked.get()) != DONE:
                    await self._transaction(message, asked, answer)
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
        self, message: bytes, asked: "asyncio.Queue[bytes]", answer: asyncio.StreamWriter
    ) -> None:
        """Lend a process until it says that no transaction is open any more."""
        process = await self.free.get()
        self.transactions += 1
        answering = asyncio.create_task(_answer(process, answer))
        process.writer.write(message)
        while not answering.done():
            more = asyncio.create_task(asked.get())
            await asyncio.wait({answering, more}, return_when=asyncio.FIRST_COMPLETED)
            if more.done():
                process.writer.write(more.result())
            else:
                more.cancel()
        self.free.put_nowait(process)


async def _read_all(client: asyncio.StreamReader, asked: "asyncio.Queue[bytes]") -> None:
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while (message := await read(client))[:1] != b"X":
            asked.put_nowait(message)
    asked.put_nowait(DONE)


async def _answer(process: Process, answer: asyncio.StreamWriter) -> None:
    """Pass on what the server says until it is ready for another transaction."""
    said = b""
    while said[:1] != b"Z" or said[-1:] != b"I":
        said = await read(process.reader)
        answer.write(said)


async def read(reader: asyncio.StreamReader) -> bytes:
    """One message, whole."""
    head = await reader.readexactly(5)
    return head + await reader.readexactly(struct.unpack("!I", head[1:])[0] - 4)


@asynccontextmanager
async def pooler_of(url: str, processes: int = 3) -> AsyncIterator[tuple[Pooler, str]]:
    """A pooler before the server of a cluster for tests, and the URL that leads through it."""
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
