import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest

from tarry.cli.listen.http_server import Listener, Reply
from tarry.errors import SettingsError
from tarry.receive.http1 import MOST_BODY, MOST_HEAD, Request


class Site:
    """A listener that keeps what comes and answers what it is told to."""

    def __init__(self) -> None:
        self.taken: list[Request] = []
        self.reply = Reply(200, (("x-said", "yes"),), b"hello")
        self.came = asyncio.Event()
        self.hold: asyncio.Event | None = None
        self.listener = Listener("127.0.0.1", 0, self.handle)
        self.port = int(self.listener.url.rpartition(":")[2])

    async def handle(self, request: Request) -> Reply:
        self.taken.append(request)
        self.came.set()
        if self.hold:
            await self.hold.wait()
        return self.reply

    async def says(self, *parts: bytes) -> bytes:
        """What comes back for these bytes, until it is silent or closes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        for part in parts:
            writer.write(part)
            await writer.drain()
        writer.write_eof()
        try:
            return await reader.read()
        finally:
            writer.close()


def with_a_site(story: Callable[[Site], Awaitable[None]]) -> None:
    async def run() -> None:
        site = Site()
        try:
            await site.listener.up()
            await story(site)
        finally:
            await site.listener.close()

    asyncio.run(run())


def test_a_request_is_handed_on_whole_and_answered() -> None:
    async def story(site: Site) -> None:
        said = await site.says(
            b"POST /a?b=c HTTP/1.1\r\nHost: x\r\nX-Odd:  a: b \r\nContent-Length: 5\r\n\r\nhe",
            b"llo",
        )
        assert site.taken == [
            Request(
                b"POST /a?b=c HTTP/1.1\r\nHost: x\r\nX-Odd:  a: b \r\nContent-Length: 5", b"hello"
            )
        ]
        assert said == (
            b"HTTP/1.1 200 OK\r\nx-said: yes\r\nconnection: keep-alive\r\ncontent-length: 5\r\n\r\n"
            b"hello"
        )

    with_a_site(story)


def test_several_requests_come_over_one_connection() -> None:
    async def story(site: Site) -> None:
        one = b"POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx"
        assert (await site.says(one * 3)).count(b"200 OK") == 3

    with_a_site(story)


@pytest.mark.parametrize(
    "head", [b"POST / HTTP/1.0\r\n", b"POST / HTTP/1.1\r\nConnection: Close\r\n"]
)
def test_a_sender_that_wants_no_more_gets_no_more(head: bytes) -> None:
    async def story(site: Site) -> None:
        said = await site.says((head + b"\r\n") * 2)
        assert said.count(b"HTTP/1.1") == 1
        assert b"connection: close" in said

    with_a_site(story)


def test_a_body_may_come_in_chunks() -> None:
    async def story(site: Site) -> None:
        head = b"POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n"
        said = await site.says(head, b"3;x=y\r\nabc\r\n0A\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n")
        assert b"200 OK" in said
        assert [request.body for request in site.taken] == [b"abc0123456789"]

    with_a_site(story)


def test_who_asks_whether_to_go_on_is_told_so() -> None:
    async def story(site: Site) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"x")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        writer.close()

    with_a_site(story)


CHUNKED = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"hello\r\n\r\n", 400),
        (b"POST / HTTP/1.1 more\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\n: nameless\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nA : b\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1e3\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (MOST_BODY + 1), 413),
        (b"POST / HTTP/1.1\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nA: " + b"b" * MOST_HEAD + b"\r\n\r\n", 431),
        (CHUNKED + b"zz\r\n", 400),
        (CHUNKED + b"\r\n", 400),
        (CHUNKED + b"1\r\nab\r\n", 400),
        (CHUNKED + b"%x\r\n" % (MOST_BODY + 1), 413),
        (CHUNKED + b"1" * (2 * MOST_HEAD), 400),
    ],
)
def test_what_is_no_request_is_refused_and_ends_the_connection(sent: bytes, status: int) -> None:
    async def story(site: Site) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(sent)
        assert (await reader.readline()).startswith(b"HTTP/1.1 %d " % status)
        writer.close()
        assert site.taken == []

    with_a_site(story)


def test_who_hangs_up_in_the_middle_is_forgotten() -> None:
    async def story(site: Site) -> None:
        for part in (b"", b"POST / HT", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc"):
            assert await site.says(part) == b""
        assert site.taken == []

    with_a_site(story)


def test_an_unusual_status_can_be_said_and_204_has_no_body() -> None:
    async def story(site: Site) -> None:
        site.reply = Reply(599)
        assert (await site.says(b"POST / HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 599 Unknown\r\n")
        site.reply = Reply(204)
        assert b"content-length" not in await site.says(b"POST / HTTP/1.1\r\n\r\n")

    with_a_site(story)


def test_down_it_refuses_connections_and_back_it_has_the_same_port() -> None:
    async def story(site: Site) -> None:
        for _ in range(2):
            for _ in range(2):
                await site.listener.down()
            with pytest.raises(ConnectionRefusedError):
                await site.says(b"POST / HTTP/1.1\r\n\r\n")
            for _ in range(2):
                await site.listener.up()
            assert b"200 OK" in await site.says(b"POST / HTTP/1.1\r\n\r\n")

    with_a_site(story)


def test_it_knows_whether_it_is_up() -> None:
    async def story(site: Site) -> None:
        known = [site.listener.is_up]
        await site.listener.down()
        known.append(site.listener.is_up)
        assert known == [True, False]

    with_a_site(story)


def test_going_down_breaks_off_what_is_under_way() -> None:
    async def story(site: Site) -> None:
        site.hold = asyncio.Event()
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(b"POST / HTTP/1.1\r\n\r\n")
        await site.came.wait()
        await site.listener.down()
        assert await reader.read() == b""
        writer.close()

    with_a_site(story)


def test_its_port_is_its_own_before_it_is_up() -> None:
    async def run() -> None:
        site = Site()
        with pytest.raises(ConnectionRefusedError):
            await site.says(b"")
        with pytest.raises(SettingsError, match=rf"'port' is {site.port}; it must be a port"):
            await Listener("127.0.0.1", site.port, site.handle).up()
        await site.listener.close()

    asyncio.run(run())


def test_a_port_that_is_taken_is_said_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError) as refused:
            Listener("127.0.0.1", port, Site.handle)  # type: ignore[arg-type]  # never called
    assert str(refused.value) == (
        f"'port' is {port}; it must be a port of 127.0.0.1 that is free (Address already in use);"
        " 0 takes any"
    )


def test_an_address_of_ipv6_is_written_in_brackets() -> None:
    async def handle(_: Request) -> Reply:
        return Reply(200)

    async def run() -> None:
        listener = Listener("::1", 0, handle)
        assert listener.url.startswith("http://[::1]:")
        await listener.close()

    asyncio.run(run())
