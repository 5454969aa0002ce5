import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest

from tarry.testing.zoo.line import Asked, Line


def between(
    theirs: Callable[[socket.socket], None], ours: Callable[[Line], Awaitable[None]]
) -> None:
    """Run both ends of a connection: a line on one side, a plain socket on the other."""

    async def hold() -> None:
        near, far = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=near)
        line = Line(reader, writer, url="http://127.0.0.1:1/hook", beat=0.0)
        far.settimeout(60.0)
        with far:
            await asyncio.gather(asyncio.to_thread(theirs, far), ours(line))
        line.drop()

    asyncio.run(hold())


def test_a_request_is_read_with_its_body() -> None:
    async def ours(line: Line) -> None:
        assert await line.next_request() == Asked("POST", "/a?b", {"content-length": "3"}, b"abc")
        assert await line.next_request() is None

    def theirs(far: socket.socket) -> None:
        far.sendall(b"POST /a?b HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc")
        far.shutdown(socket.SHUT_WR)

    between(theirs, ours)


def test_a_request_that_breaks_off_is_no_request() -> None:
    async def ours(line: Line) -> None:
        with pytest.raises(asyncio.IncompleteReadError):
            await line.next_request()

    def theirs(far: socket.socket) -> None:
        far.sendall(b"POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nab")
        far.shutdown(socket.SHUT_WR)

    between(theirs, ours)


def test_what_trickles_and_what_floods_arrives_whole() -> None:
    async def ours(line: Line) -> None:
        await line.trickle(b"slow")
        await line.flood(b"fast", 3)
        await line.hang_up()

    def theirs(far: socket.socket) -> None:
        heard = b""
        while piece := far.recv(100):
            heard += piece
        assert heard == b"slowfastfastfast"
        far.shutdown(socket.SHUT_WR)

    between(theirs, ours)


def test_who_hangs_notices_that_the_other_side_went() -> None:
    async def ours(line: Line) -> None:
        assert not line.over
        await line.hang()
        assert line.over

    between(lambda far: far.shutdown(socket.SHUT_WR), ours)
