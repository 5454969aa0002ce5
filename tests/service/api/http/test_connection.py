import asyncio
from urllib.parse import urlsplit

import pytest

from tarry.service.api.app import Receive, Scope, Send
from tarry.service.api.http.connection import MOST_HEAD, Connection, Joined
from tarry.service.api.server import serving

KEY = "let-me-in"
pytestmark = pytest.mark.anyio

ASK = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"


async def connect(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    address = urlsplit(url)
    return await asyncio.open_connection(address.hostname, address.port)


async def until_closed(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(120):
        return await reader.read()


async def test_a_connection_is_kept_and_requests_may_come_at_once(url: str) -> None:
    reader, writer = await connect(url)
    writer.write(ASK + ASK)
    for _ in range(2):
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        await reader.readuntil(b'{"status":"alive"}')
    writer.write(ASK.replace(b"host: x", b"connection: close\r\nhost: x"))
    assert (await until_closed(reader)).startswith(b"HTTP/1.1 200 OK\r\n")
    writer.close()


async def test_of_many_requests_at_once_none_counts_for_the_head_of_another(url: str) -> None:
    reader, writer = await connect(url)
    count = 3 * MOST_HEAD // len(ASK)
    writer.write(ASK * count)
    async with asyncio.timeout(60):
        for _ in range(count):
            assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
            await reader.readuntil(b'{"status":"alive"}')
    writer.close()


@pytest.mark.parametrize(
    "head",
    [b"x-long: " + b"x" * MOST_HEAD, b"x-many: y\r\n" * (MOST_HEAD // 10)],
    ids=["long", "many"],
)
async def test_a_head_without_end_is_refused(url: str, head: bytes) -> None:
    reader, writer = await connect(url)
    writer.write(b"GET /healthz HTTP/1.1\r\n" + head)
    assert (await until_closed(reader)).startswith(b"HTTP/1.1 431 ")
    writer.close()


@pytest.mark.parametrize(
    "part",
    [
        b"",
        b"GET /healthz HT",
        b"POST /api/v1/app/shop/msg HTTP/1.1\r\ncontent-length: 100\r\n\r\n{",
    ],
    ids=["nothing", "half a head", "half a body"],
)
async def test_who_is_too_slow_is_told_so(
    url: str, part: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connection, "request_time", 0.2)
    reader, writer = await connect(url)
    writer.write(part)
    answer = await until_closed(reader)
    assert b"HTTP/1.1 408 " in answer or b"HTTP/1.1 401 " in answer
    writer.close()


class Long:
    """Answers with so much that it does not fit between the two, and tells when it is let go."""

    piece = b"x" * 1024 * 1024
    pieces = 32

    def __init__(self) -> None:
        self.disconnected = asyncio.Event()

    async def __call__(self, _scope: object, receive: Receive, send: Send) -> None:
        size = b"%d" % (self.pieces * len(self.piece))
        headers = [(b"content-length", size)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await receive()  # what was asked
        for _ in range(self.pieces):
            await send({"type": "http.response.body", "body": self.piece, "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
        self.disconnected.set()


async def test_who_does_not_take_an_answer_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connection, "answer_time", 0.1)
    app = Long()
    async with serving(app, "127.0.0.1:0") as url:
        _, writer = await connect(url)
        writer.write(ASK)
        async with asyncio.timeout(120):
            await app.disconnected.wait()
        writer.close()


async def test_who_takes_an_answer_slowly_gets_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connection, "answer_time", 1.0)  # a busy machine may stand still itself
    app = Long()
    async with serving(app, "127.0.0.1:0") as url:
        reader, writer = await connect(url)
        writer.write(ASK)
        await reader.readuntil(b"\r\n\r\n")
        for _ in range(app.pieces):
            await reader.readexactly(len(app.piece))
            await asyncio.sleep(0.04)  # so that it takes longer than it may stand still
        writer.close()
        async with asyncio.timeout(120):
            await app.disconnected.wait()


async def test_a_body_that_will_be_too_long_is_refused_before_it_comes(url: str) -> None:
    reader, writer = await connect(url)
    head = f"POST /api/v1/app HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}"
    writer.write(f"{head}\r\nexpect: 100-continue\r\ncontent-length: 99999999999\r\n\r\n".encode())
    assert (await reader.readline()).startswith(b"HTTP/1.1 413 ")  # its phrase is Python's
    writer.close()


async def test_a_request_in_pieces_is_served_and_the_next_one_too(url: str) -> None:
    reader, writer = await connect(url)
    for _ in range(2):
        for start in range(0, len(ASK), 5):
            writer.write(ASK[start : start + 5])
            await writer.drain()
            await asyncio.sleep(0)
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        await reader.readuntil(b'{"status":"alive"}')
    writer.close()


async def test_what_is_no_http_is_refused(url: str) -> None:
    reader, writer = await connect(url)
    writer.write(b"hello\r\n\r\n")
    assert (await until_closed(reader)).startswith(b"HTTP/1.1 400 ")
    writer.close()


class Wire(asyncio.Transport):
    """Keeps what was written, piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[bytes] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.closed
        self.pieces.append(bytes(data))

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


async def test_the_head_of_an_answer_goes_with_its_body() -> None:
    wire = Wire()
    joined = Joined(wire, asyncio.get_running_loop())
    for _ in range(2):
        joined.write(b"head ")
        joined.write(b"body ")
    assert wire.pieces == [b"head body ", b"head body "]
    joined.write(b"head ")
    joined.write(b"x" * 20_000)
    assert wire.pieces[2:] == [b"head ", b"x" * 20_000]


async def test_what_nothing_follows_goes_soon_and_before_the_connection_is_closed() -> None:
    wire = Wire()
    joined = Joined(wire, asyncio.get_running_loop())
    joined.write(b"100 ")
    await asyncio.sleep(0)
    assert wire.pieces == [b"100 "]
    joined.write(b"head ")
    joined.close()
    assert wire.pieces == [b"100 ", b"head "]
    assert joined.is_closing()
    await asyncio.sleep(0)
    assert wire.pieces == [b"100 ", b"head "]


async def test_an_answer_to_head_has_no_body_and_comes_all_the_same(url: str) -> None:
    reader, writer = await connect(url)
    writer.write(ASK.replace(b"GET", b"HEAD"))
    async with asyncio.timeout(120):
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 OK\r\n")
    writer.close()


async def test_of_too_many_connections_the_one_that_waited_longest_is_closed(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tarry.service.api.http.connection.MOST_CONNECTIONS", 2)
    first, second = await connect(url), await connect(url)
    for reader, writer in (second, first):  # the second one waits longest for its next request
        writer.write(ASK)
        await reader.readuntil(b'{"status":"alive"}')
    third = await connect(url)
    assert await until_closed(second[0]) == b""
    for reader, writer in (first, third):
        writer.write(ASK)
        await reader.readuntil(b'{"status":"alive"}')
    for _, writer in (first, second, third):
        writer.close()


async def answered_early(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, Connection]:
    """Return a connection that was answered before the last byte of its request."""
    reader, writer = await connect(url)
    writer.write(b"POST /api/v1/app HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{")
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 401 ")
    return reader, writer, next(reversed(Connection.waiting))


async def test_a_request_completed_after_its_answer_does_not_keep_the_connection_open(
    url: str,
) -> None:
    reader, writer, connection = await answered_early(url)
    connection.timeout_keep_alive = 0  # for the timer that the rest of the request starts
    writer.write(b"}")
    assert b"HTTP/1.1" not in await until_closed(reader)
    writer.close()


async def test_a_request_completed_after_its_answer_does_not_protect_from_the_limit(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    completed, complete = asyncio.Event(), Connection.on_message_complete

    def noted(connection: Connection) -> None:
        complete(connection)
        completed.set()

    monkeypatch.setattr(Connection, "on_message_complete", noted)
    monkeypatch.setattr("tarry.service.api.http.connection.MOST_CONNECTIONS", 1)
    reader, writer, connection = await answered_early(url)
    connection.timeout_keep_alive = 3600  # only the limit closes it
    writer.write(b"}")
    await completed.wait()
    next_reader, next_writer = await connect(url)
    await until_closed(reader)
    next_writer.write(ASK)
    assert await next_reader.readline() == b"HTTP/1.1 200 OK\r\n"
    for each in (writer, next_writer):
        each.close()


class SecondWaits:
    """Answers the first request at once, and the second one when it is told to."""

    def __init__(self) -> None:
        self.second, self.go_on = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Scope, _receive: object, send: Send) -> None:
        if scope["path"] == "/2":
            self.second.set()
            await self.go_on.wait()
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"ok"})


@pytest.mark.parametrize("body", [b"{}", b"{"], ids=["complete", "half a body"])
async def test_only_a_complete_pipelined_request_protects_from_the_limit(
    body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tarry.service.api.http.connection.MOST_CONNECTIONS", 1)
    app = SecondWaits()
    async with serving(app, "127.0.0.1:0") as url:
        reader, writer = await connect(url)
        second = b"POST /2 HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n" + body
        writer.write(ASK + second)
        async with asyncio.timeout(120):
            await app.second.wait()
            await reader.readuntil(b"\r\n\r\nok")
        next_reader, next_writer = await connect(url)
        dropped = next_reader if body == b"{}" else reader
        assert await until_closed(dropped) == b""
        app.go_on.set()
        if dropped is next_reader:
            assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        for each in (writer, next_writer):
            each.close()
