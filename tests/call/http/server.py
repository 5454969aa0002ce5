"""A server that answers as it is told, and remembers what it was asked."""

import asyncio
import threading
import time
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

TLS_HELLO = b"\x16"
PATIENCE = 120.0  # how long a test waits for what should happen at once


@dataclass
class Answer:
    """What the server does with a request."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    delay: float = 0.0
    drop: bool = False
    early: bool = False
    raw: bytes | None = None

    def written(self) -> bytes:
        """The answer as it goes over the wire."""
        if self.raw is not None:
            return self.raw
        headers = {"content-length": str(len(self.body)), **self.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"HTTP/1.1 {self.status} Scripted\r\n{head}\r\n".encode() + self.body


@dataclass
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""


class Server:
    """An HTTP server in a thread of its own: answers are scripted by path, the last one repeats."""

    def __init__(self) -> None:
        self.requests: list[Seen] = []
        self.accepted = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self._scripts: dict[str, list[Answer]] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._port = 0
        self._door: asyncio.Server | None = None
        self.open_door()

    def url(self, path: str) -> str:
        """Where to find a path."""
        return f"http://127.0.0.1:{self._port}{path}"

    def script(self, path: str, *answers: Answer | int) -> str:
        """Say what is answered at a path, and give its address."""
        made = [Answer(answer) if isinstance(answer, int) else answer for answer in answers]
        self._scripts[path] = made
        return self.url(path)

    def answer(self, status: int = 200, body: bytes = b"", **headers: str) -> Answer:
        """An answer; `retry_after="3"` is a header."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return Answer(status, named, body)

    def late(self, delay: float, status: int = 200) -> Answer:
        """An answer that takes its time."""
        return Answer(status, delay=delay)

    def garbage(self) -> Answer:
        """An answer that is not HTTP."""
        return Answer(raw=b"SSH-2.0-OpenSSH_9.6\r\n\r\n")

    def cut_short(self, status: int) -> Answer:
        """An answer with a body that is announced and never comes."""
        return Answer(raw=f"HTTP/1.1 {status} Scripted\r\ncontent-length: 9\r\n\r\n".encode())

    def early(self, status: int) -> Answer:
        """An answer to the head of the request; the body is read and thrown away."""
        return Answer(status, early=True)

    def dropped(self) -> Answer:
        """The request is read, and the connection closed without an answer."""
        return Answer(drop=True)

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._writers)

    @property
    def numbers(self) -> list[str | None]:
        """What the requests said in the attempt header."""
        return [seen.headers.get("tarry-attempt") for seen in self.requests]

    def close_door(self) -> None:
        """Refuse connections from now on."""
        self._do(self._close_door())

    def open_door(self) -> None:
        """Take connections, again at the same port."""
        self._do(self._open_door())

    def has_no_connection(self) -> bool:
        """Whether all connections are closed, after a moment if need be."""
        give_up_at = time.monotonic() + PATIENCE
        while self.connections and time.monotonic() < give_up_at:
            time.sleep(0.002)
        return not self.connections

    def stop(self) -> None:
        """Close everything."""
        self._do(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    async def _open_door(self) -> None:
        self._door = await asyncio.start_server(
            self._take, "127.0.0.1", self._port, backlog=2048, reuse_address=True
        )
        self._port = self._door.sockets[0].getsockname()[1]

    async def _close_door(self) -> None:
        if self._door is not None:
            self._door.close()
            self._door = None

    async def _stop(self) -> None:
        await self._turn()  # asyncio forgets a connection it is just about to take
        await self._close_door()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()
        await self._turn()

    async def _turn(self) -> None:
        """Let the loop turn a few times: to take and to close a connection it needs some."""
        for _ in range(5):
            await asyncio.sleep(0)

    def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        self._writers.add(writer)
        task = self._loop.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while await self._serve_once(reader, writer):
                pass
        writer.transport.abort()
        self._writers.discard(writer)

    async def _serve_once(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        first = await reader.readexactly(1)
        if first == TLS_HELLO:
            writer.write(b"HTTP/1.1 400 No TLS here\r\n\r\n")
            await writer.drain()
            return False
        seen = await _read_head(first, reader)
        self.requests.append(seen)
        script = self._scripts[seen.path]
        answer = script.pop(0) if len(script) > 1 else script[0]
        if answer.early:
            writer.write(answer.written())
            while await reader.read(100_000):
                pass
            return False
        if "expect" in seen.headers:
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        seen.body = await _read_body(reader, seen.headers)
        if answer.delay:
            await asyncio.wait([asyncio.ensure_future(reader.read(1))], timeout=answer.delay)
        if answer.drop:
            return False
        writer.write(answer.written())
        await writer.drain()
        return True


async def _read_head(start: bytes, reader: asyncio.StreamReader) -> Seen:
    head = (start + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ")
    pairs = (line.split(":", 1) for line in lines)
    return Seen(method, path, {name.lower(): value.strip() for name, value in pairs})


async def _read_body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding") != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    body = b""
    while size := int(await reader.readline(), 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
    return body
