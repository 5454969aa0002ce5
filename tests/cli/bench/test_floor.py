import asyncio
from collections.abc import Awaitable, Callable

import pytest
import uvloop

from tarry.cli.bench.floor import bare_client, post_all
from tarry.cli.bench.sink import Sink
from tarry.errors import TarryError

Receiver = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def against(receiver: Receiver) -> float:
    async with await asyncio.start_server(receiver, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        return await bare_client(f"http://127.0.0.1:{port}/", 4, 2)


@pytest.mark.parametrize(("deliveries", "concurrency"), [(1000, 20), (3, 20), (20, 1)])
def test_every_delivery_is_made_once(deliveries: int, concurrency: int) -> None:
    with Sink() as sink:
        seconds = uvloop.run(bare_client(sink.url, deliveries, concurrency))
        report = sink.report()
    assert (report.arrivals, report.distinct) == (deliveries, deliveries)
    assert 0 < report.last_at - report.first_at < seconds


def test_an_answer_that_is_no_success_is_an_error() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n")
        await reader.read()
        writer.close()

    with pytest.raises(TarryError, match="gave up: the receiver answered 503"):
        uvloop.run(against(refuse))


def test_a_lost_connection_is_an_error() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    with pytest.raises(TarryError, match="gave up: a connection was lost"):
        uvloop.run(against(hang_up))


def test_a_rate_is_kept_to_and_requests_are_timed_from_when_they_were_due() -> None:
    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readuntil(b"\r\n\r\n"):
            await asyncio.sleep(0.05)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")

    async def post(rate: float) -> tuple[float, float]:
        async with await asyncio.start_server(slow, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
            requests = iter([b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"] * 8)
            posted = await post_all(url, requests, 8, 1, rate=rate)
        return posted.took, posted.quantile(1.0)

    took, longest = uvloop.run(post(10.0))
    assert took >= 0.7, "the last of eight is due after seven tenths of a second"
    assert longest < took, "none is timed from the beginning but the first, and it is not the last"
    _, longest = uvloop.run(post(1_000.0))
    assert longest > 0.3, "the last one has waited for the one connection"
