import asyncio
import socket
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.receive.http1 import (
    CONTINUE,
    MOST_BODY,
    MOST_HEAD,
    Connection,
    Request,
    RequestError,
    RequestReader,
    read_request,
    response,
)

POST = b"POST /a?b=c HTTP/1.1\r\n"
CHUNKED = POST + b"Transfer-Encoding: Chunked\r\n\r\n"


def read(*pieces: bytes, needs_length: bool = False) -> list[Request]:
    reader, requests = RequestReader(needs_length=needs_length), []
    for piece in pieces:
        reader.feed(piece)
        while request := reader.next():
            requests.append(request)
    return requests


def test_a_request_has_a_head_and_a_body() -> None:
    (request,) = read(POST + b"Host: x\r\nX-Odd:  a: b \r\nContent-Length: 5 \r\n\r\nhello")
    assert (request.method, request.path, request.body) == ("POST", "/a?b=c", b"hello")
    assert request.headers == (("Host", "x"), ("X-Odd", "a: b"), ("Content-Length", "5"))
    assert (request.header("x-odd"), request.header("odd")) == ("a: b", "")


def test_a_request_that_announces_no_body_has_none() -> None:
    (request,) = read(b"GET / HTTP/1.1\r\n\r\n")
    assert (request.method, request.headers, request.body) == ("GET", (), b"")


@pytest.mark.parametrize("head", [b"POST / HTTP/1.1", b"POST / HTTP/1.1\r\nConnection: keep-alive"])
def test_a_connection_is_kept(head: bytes) -> None:
    assert Request(head, b"").keeps_connection


@pytest.mark.parametrize("head", [b"POST / HTTP/1.0", b"POST / HTTP/1.1\r\nConnection: Close"])
def test_a_connection_is_not_kept_if_its_sender_says_so(head: bytes) -> None:
    assert not Request(head, b"").keeps_connection


def test_a_chunked_body_is_put_together() -> None:
    chunks = b"3;x=y\r\nabc\r\n0A\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n"
    assert [request.body for request in read(CHUNKED + chunks)] == [b"abc0123456789"]


MIXED = (
    POST
    + b"content-length: 3\r\n\r\nabc"
    + CHUNKED
    + b"2\r\nab\r\n1;x\r\nc\r\n0\r\n\r\n"
    + b"GET / HTTP/1.1\r\n\r\n"
    + CHUNKED
    + b"0\r\nA: b\r\n\r\n"
    + POST
    + b"content-length: 40\r\n\r\n"
    + b"\r\n" * 20
)


@given(cuts=st.lists(st.integers(0, len(MIXED)), max_size=12).map(sorted))
def test_it_does_not_matter_where_the_data_is_cut(cuts: list[int]) -> None:
    borders = [0, *cuts, len(MIXED)]
    pieces = [MIXED[start:end] for start, end in pairwise(borders)]
    bodies = [request.body for request in read(*pieces)]
    assert bodies == [b"abc", b"abc", b"", b"", b"\r\n" * 20]


def test_single_bytes_are_enough() -> None:
    assert len(read(*(bytes((byte,)) for byte in MIXED))) == 5


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (POST + b"Content-Length: -1\r\n\r\n", 400),
        (POST + b"Content-Length: 1e3\r\n\r\n", 400),
        (POST + b"Content-Length:\r\n\r\n", 400),
        (POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (POST + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (POST + b"Transfer-Encoding: gzip\r\n\r\n", 501),
        (POST + b"Content-Length: %d\r\n\r\n" % (MOST_BODY + 1), 413),
        (POST + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", 413),
        (POST + b"A: " + b"b" * MOST_HEAD, 431),
        (POST + b"A: " + b"b" * MOST_HEAD + b"\r\n\r\n", 431),
        (CHUNKED + b"zz\r\n", 400),
        (CHUNKED + b"\r\n", 400),
        (CHUNKED + b"1\r\nab\r\n", 400),
        (CHUNKED + b"%x\r\n" % (MOST_BODY + 1), 413),
        (CHUNKED + b"1\r\na\r\n%x\r\n" % MOST_BODY, 413),
        (CHUNKED + b"1" * (2 * MOST_HEAD), 400),
        (CHUNKED + b"0\r\n" + b"a" * (2 * MOST_HEAD), 400),
    ],
)
def test_data_that_is_no_request_has_a_status(sent: bytes, status: int) -> None:
    with pytest.raises(RequestError) as raised:
        read(sent)
    assert raised.value.status == status


@pytest.mark.parametrize(
    "head",
    [
        b"hello",
        b"POST / HTTP/1.1 more",
        b"POST / HTTP/2.0",
        *(POST + line for line in (b"no colon", b": nameless", b"A : b", b" folded: x", b"a: \n")),
    ],
)
def test_a_wrong_line_of_the_head_is_found_when_it_is_checked(head: bytes) -> None:
    (request,) = read(head + b"\r\n\r\n")
    with pytest.raises(RequestError) as raised:
        request.check()
    assert raised.value.status == HTTPStatus.BAD_REQUEST


def test_a_correct_head_passes_the_check() -> None:
    for request in read(MIXED):
        request.check()


@pytest.mark.parametrize("sent", [POST + b"\r\n", CHUNKED])
def test_a_reader_may_insist_on_lengths(sent: bytes) -> None:
    with pytest.raises(RequestError) as raised:
        read(sent, needs_length=True)
    assert raised.value.status == HTTPStatus.LENGTH_REQUIRED
    assert len(read(POST + b"content-length: 0 \r\n\r\n", needs_length=True)) == 1


@pytest.mark.parametrize(
    ("framing", "body"),
    [(b"content-length: 2\r\n", b"ab"), (b"transfer-encoding: chunked\r\n", b"0\r\n\r\n")],
)
def test_a_body_that_is_held_back_awaits_a_continue_once(framing: bytes, body: bytes) -> None:
    head = POST + b"expect: 100-Continue\r\n" + framing + b"\r\n"
    reader = RequestReader()
    seen = []
    for piece in (head, body[:1], body[1:], head + body):
        reader.feed(piece)
        seen.append((reader.next() is not None, reader.awaits_continue))
    assert seen == [(False, True), (False, False), (True, False), (True, False)]


def test_a_reader_knows_whether_a_request_is_unfinished() -> None:
    reader = RequestReader()
    assert not reader.unfinished
    for piece in (CHUNKED, b"1\r\na\r\n", b"0\r\n"):
        reader.feed(piece)
        assert reader.next() is None
        assert reader.unfinished
    reader.feed(b"\r\n")
    assert reader.next()
    assert not reader.unfinished


def test_a_response_has_the_length_of_its_body() -> None:
    assert response(200, [("x", "y")], b"hello") == (
        b"HTTP/1.1 200 OK\r\nx: y\r\ncontent-length: 5\r\n\r\nhello"
    )


def test_a_204_has_no_length_and_any_status_can_be_sent() -> None:
    assert response(204) == b"HTTP/1.1 204 No Content\r\n\r\n"
    assert response(599) == b"HTTP/1.1 599 Unknown\r\ncontent-length: 0\r\n\r\n"


class Echo(Connection):
    def received(self, request: Request) -> None:
        self.transport.write(response(200, body=request.body))


Story = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def connected(story: Story) -> None:
    """Tell a story with one connection to an echo."""

    async def run() -> None:
        loop = asyncio.get_running_loop()
        near, far = socket.socketpair()
        await loop.connect_accepted_socket(lambda: Echo(RequestReader()), near)
        reader, writer = await asyncio.open_connection(sock=far)
        await asyncio.wait_for(story(reader, writer), 60)
        writer.close()

    asyncio.run(run())


def test_a_connection_hands_over_each_request() -> None:
    async def story(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((POST + b"content-length: 2\r\n\r\nab") * 3)
        whole = response(200, body=b"ab") * 3
        assert await reader.readexactly(len(whole)) == whole

    connected(story)


def test_a_connection_refuses_what_it_cannot_read_and_closes() -> None:
    async def story(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(POST + b"content-length: x\r\n\r\n")
        assert await reader.read() == (
            b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        )

    connected(story)


def test_a_connection_asks_for_a_body_that_is_held_back() -> None:
    async def story(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(POST + b"expect: 100-continue\r\ncontent-length: 1\r\n\r\n")
        assert await reader.readexactly(len(CONTINUE)) == CONTINUE
        writer.write(b"x")
        assert await reader.readexactly(len(response(200, body=b"x"))) == response(200, body=b"x")

    connected(story)


def test_a_subclass_must_say_how_it_answers() -> None:
    with pytest.raises(NotImplementedError):
        Connection(RequestReader()).received(Request(b"", b""))


def stream(*pieces: bytes) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    for piece in pieces:
        reader.feed_data(piece)
    reader.feed_eof()
    return reader


def test_a_stream_gives_its_requests_until_it_ends() -> None:
    async def run() -> None:
        requests, reader = RequestReader(), stream((POST + b"\r\n") * 2)
        assert await read_request(requests, reader)
        assert await read_request(requests, reader)
        assert await read_request(requests, reader) is None

    asyncio.run(run())


@pytest.mark.parametrize("sent", [b"POST", POST + b"content-length: 9\r\n\r\nabc", CHUNKED])
def test_a_stream_that_ends_within_a_request_is_an_error(sent: bytes) -> None:
    async def run() -> None:
        with pytest.raises(asyncio.IncompleteReadError):
            await read_request(RequestReader(), stream(sent))

    asyncio.run(run())
