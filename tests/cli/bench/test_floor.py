import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest
import uvloop

from tarry.cli.bench.floor import bare_client, post_all
from tarry.cli.bench.sink import Sink
from tarry.errors import TarryError

REQUEST = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
Receiver = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def served(receiver: Receiver) -> AsyncIterator[str]:
    """The URL of a server that ends when all its connections are closed.

    asyncio leaves a connection open when its handler fails, and closes it only since Python 3.11.7.
    """
    conversations: list[asyncio.Task[None]] = []

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):  # the client has hung up
            await receiver(reader, writer)
        with suppress(ConnectionError):
            writer.close()
            await writer.wait_closed()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        conversations.append(asyncio.create_task(converse(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    finally:
        server.close()
        await asyncio.sleep(0)  # a connection that was accepted just now calls `accept` first
        await asyncio.gather(*conversations)


async def against(receiver: Receiver) -> float:
    async with served(receiver) as url:
        return await bare_client(url, 4, 2)


@pytest.mark.parametrize(("deliveries", "concurrency"), [(1000, 20), (3, 20), (20, 1)])
def test_every_delivery_is_made_once(deliveries: int, concurrency: int) -> None:
    with Sink() as sink:
        seconds = uvloop.run(bare_client(sink.url, deliveries, concurrency))
        report = sink.report()
    assert (report.arrivals, report.distinct) == (deliveries, deliveries)
    assert 0 < report.last_at - report.first_at < seconds


async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n")
    await reader.read()


def test_an_answer_that_is_no_success_is_an_error() -> None:
    with pytest.raises(TarryError, match="gave up: the receiver answered 503"):
        uvloop.run(against(refuse))


def test_a_lost_connection_is_an_error() -> None:
    async def hang_up(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")

    with pytest.raises(TarryError, match="gave up: a connection was lost"):
        uvloop.run(against(hang_up))


def test_a_rate_is_kept_to_and_requests_are_timed_from_when_they_were_due() -> None:
    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readuntil(b"\r\n\r\n"):
            await asyncio.sleep(0.05)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")

    async def post(rate: float) -> tuple[float, float]:
        async with served(slow) as url:
            posted = await post_all(url, iter([REQUEST] * 8), 8, 1, rate=rate)
        return posted.took, posted.quantile(1.0)

    took, longest = uvloop.run(post(10.0))
    assert took >= 0.7, "the last of eight is due after seven tenths of a second"
    assert longest < took, "none is timed from the beginning but the first, and it is not the last"
    _, longest = uvloop.run(post(1_000.0))
    assert longest > 0.3, "the last one has waited for the one connection"


def test_after_an_error_a_request_that_was_not_due_yet_is_not_sent() -> None:
    errors: list[object] = []

    async def post() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, error: errors.append(error))
        async with served(refuse) as url:
            with pytest.raises(TarryError, match="answered 503"):
                await post_all(url, iter([REQUEST] * 2), 2, 2, rate=10.0)
        await asyncio.sleep(0.15)  # past the time of the second request

    uvloop.run(post())
    assert not errors
