"""A name that leads to an allowed address first and to another one later: only the first is called.

The allowed receiver is on 127.0.0.9, which the operator allows; it stands for the public internet.
Traps with the same port are on other loopback addresses. Each name is called four times, with its
cached answer expired in between. No trap gets a connection, with either event loop.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from ipaddress import IPv4Address
from itertools import count

import pytest
import uvloop

from tarry.core.outcome import Kind
from tarry.service.wire.client import Client
from tarry.service.wire.dial import GOOD_FOR, Resolver
from tarry.service.wire.egress import Egress
from tarry.service.wire.exchange import Answer, Request
from tarry.testing import PushedClock

ALLOWED = "127.0.0.9"
TRAPS = ("127.0.0.1", "127.0.0.2", "::1")
CALLS = 4

NAMES: Mapping[str, Sequence[Sequence[str]]] = {
    "private at the second look": [[ALLOWED], ["127.0.0.1"]],
    "private at first": [["127.0.0.1"], [ALLOWED]],
    "private every other time": [[ALLOWED], ["127.0.0.1"], [ALLOWED], ["127.0.0.1"]],
    "another private address each time": [["127.0.0.1"], ["127.0.0.2"], ["::1"], ["127.0.0.1"]],
    "both, the private one last": [[ALLOWED, "127.0.0.1"]],
    "both, the private one first": [["127.0.0.1", ALLOWED]],
    "private behind many": [[*[ALLOWED] * 200, "127.0.0.1"]],
    "an alias of localhost": [["127.0.0.1", "::1"]],
    "an alias of an alias of localhost, later": [[ALLOWED], [ALLOWED], ["::1", "127.0.0.1"]],
    "IPv4-mapped": [[ALLOWED], ["::ffff:127.0.0.1"]],
    "NAT64": [[ALLOWED], ["64:ff9b::7f00:1"]],
    "6to4": [[ALLOWED], ["2002:7f00:1::"]],
    "no address": [[ALLOWED], [str(IPv4Address(0))], ["::"]],
    "a scope": [[ALLOWED], ["::1%lo"], ["fe80::1%lo"]],
    "an odd spelling": [[ALLOWED], ["2130706433"], ["127.1"], ["0x7f.1"]],
    "a metadata service": [[ALLOWED], ["169.254.169.254"], ["fd00:ec2::254"]],
    "nothing, then private": [[], ["127.0.0.1"]],
}
"""What a name server answers, one answer after the other; the last one stays."""


class Places:
    """The allowed receiver and the traps, all on one port."""

    def __init__(self) -> None:
        self.port = 0
        self.received: list[str] = []
        self.caught: list[str] = []
        self.all_caught = asyncio.Event()
        self.answer = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"

    async def receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.received.append(head.decode().partition("host: ")[2].partition("\r\n")[0])
        writer.write(self.answer)
        writer.close()

    async def catch(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.caught.append(str(writer.get_extra_info("sockname")))
        if len(self.caught) == len(TRAPS):
            self.all_caught.set()
        writer.close()


@asynccontextmanager
async def listening() -> AsyncIterator[Places]:
    places = Places()
    async with AsyncExitStack() as stack:
        server = await asyncio.start_server(places.receive, ALLOWED, 0)
        await stack.enter_async_context(server)
        places.port = server.sockets[0].getsockname()[1]
        for trap in TRAPS:
            await stack.enter_async_context(
                await asyncio.start_server(places.catch, trap, places.port)
            )
        yield places


@asynccontextmanager
async def calling(
    answers: Sequence[Sequence[str]], clock: PushedClock, egress: Egress
) -> AsyncIterator[Client]:
    turn = count()

    def look_up(_host: str) -> Iterable[str]:
        return answers[min(next(turn), len(answers) - 1)]

    resolver = Resolver(egress, lookup=look_up, clock=lambda: clock.now)
    client = Client(resolver, egress.permits)
    try:
        yield client
    finally:
        await client.close()
        resolver.close()


async def call(client: Client, egress: Egress, port: int) -> Answer:
    answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    target = egress.target(f"http://rebind.example:{port}/in", owner="app_a")
    client.send(Request(target=target, headers=(), body=b"{}", timeout=30), answered.set_result)
    return await asyncio.wait_for(answered, 60)


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def runner(request: pytest.FixtureRequest) -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=request.param) as runner:
        yield runner


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_name_leads_to_no_private_address(runner: asyncio.Runner, name: str) -> None:
    answers = NAMES[name]
    allowed = sum(set(answers[min(look, len(answers) - 1)]) == {ALLOWED} for look in range(CALLS))

    async def attack() -> None:
        egress, clock = Egress.of([f"{ALLOWED}/32"]), PushedClock()
        async with listening() as places, calling(answers, clock, egress) as client:
            results = list[Answer]()
            for _ in range(CALLS):
                results.append(await call(client, egress, places.port))
                clock.push(GOOD_FOR + 1)
            assert places.caught == []
            assert places.received == [f"rebind.example:{places.port}"] * allowed
            kinds = [result.failure for result in results]
            assert kinds.count(None) == allowed
            assert set(kinds) <= {None, Kind.BLOCKED, Kind.DNS}

    runner.run(attack())


def test_there_are_at_least_fifteen_names() -> None:
    assert len(NAMES) >= 15


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(runner: asyncio.Runner, status: int) -> None:
    async def attack() -> None:
        egress, clock = Egress.of([f"{ALLOWED}/32"]), PushedClock()
        async with listening() as places, calling([[ALLOWED]], clock, egress) as client:
            place = f"http://127.0.0.1:{places.port}/"
            places.answer = (
                f"HTTP/1.1 {status} Elsewhere\r\nlocation: {place}\r\nrefresh: 0; url={place}\r\n"
                "content-length: 0\r\n\r\n"
            ).encode()
            result = await call(client, egress, places.port)
            assert result.status == status
            assert (len(places.received), places.caught) == (1, [])

    runner.run(attack())


def test_a_connection_that_was_kept_is_not_used_for_another_address(
    runner: asyncio.Runner,
) -> None:
    """The trap is on the same port and the name is the same: only the address is another one."""

    async def attack() -> None:
        egress, clock = Egress.of([f"{ALLOWED}/32"]), PushedClock()
        answers = [[ALLOWED], ["127.0.0.1"]]
        async with listening() as places, calling(answers, clock, egress) as client:
            places.answer = b"HTTP/1.1 204 No Content\r\n\r\n"
            for _ in range(CALLS):
                await call(client, egress, places.port)
                clock.push(GOOD_FOR + 1)
            assert places.caught == []

    runner.run(attack())


def test_the_traps_would_notice_a_connection() -> None:
    async def connect() -> None:
        async with listening() as places:
            for trap in TRAPS:
                _, writer = await asyncio.open_connection(trap, places.port)
                writer.close()
            async with asyncio.timeout(60):
                await places.all_caught.wait()

    asyncio.run(connect())
    assert socket.has_ipv6
