import asyncio
import resource
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

import pytest
import uvloop

from tarry.core.outcome import Kind
from tarry.service.wire import tls
from tarry.service.wire.dial import Dialler
from tarry.service.wire.exchange import Target
from tarry.service.wire.send_failure import SendFailure

HERE, THERE, NOWHERE = "127.0.0.1", "127.0.0.2", "127.0.0.3"


class Line(asyncio.Protocol):
    """A connection that remembers where it leads."""

    peer: tuple[str, int]

    def __init__(self) -> None:
        self.lost = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.peer = transport.get_extra_info("peername")[:2]
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        assert exc is None
        self.lost.set()


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def loop(request: pytest.FixtureRequest) -> Iterator[asyncio.AbstractEventLoop]:
    with asyncio.Runner(loop_factory=request.param) as runner:
        yield runner.get_loop()


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server((THERE, 0)) as listening:
        yield listening


@contextmanager
def descriptors(most: int | None) -> Iterator[None]:
    """So many file descriptors, and no more."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[0] if most is None else most, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def dial(  # noqa: PLR0913  what a test may turn
    loop: asyncio.AbstractEventLoop,
    port: int,
    *addresses: str,
    permits: Callable[[str, int], bool] = lambda _address, _port: True,
    scarce: Callable[[], None] = lambda: None,
    within: float = 5.0,
    most: int | None = None,
) -> Line | SendFailure:
    dialler = Dialler(loop, permits, scarce, tls.context())
    target = Target("http", "hooks.example", port, "/")

    async def work() -> Line | SendFailure:
        with descriptors(most):
            made = await dialler.dial(target, addresses, monotonic() + within, Line)
        if isinstance(made, Line):
            made.transport.close()
            await made.lost.wait()
        return made

    return loop.run_until_complete(work())


def test_it_goes_to_the_address_and_not_to_the_name(
    loop: asyncio.AbstractEventLoop, listener: socket.socket
) -> None:
    made = dial(loop, listener.getsockname()[1], THERE)
    assert isinstance(made, Line)
    assert made.peer == listener.getsockname()


def test_the_next_address_is_tried_when_one_refuses(
    loop: asyncio.AbstractEventLoop, listener: socket.socket
) -> None:
    made = dial(loop, listener.getsockname()[1], HERE, THERE)
    assert isinstance(made, Line)
    assert made.peer[0] == THERE


def test_an_address_that_is_silent_leaves_time_for_the_next(
    loop: asyncio.AbstractEventLoop, listener: socket.socket
) -> None:
    port = listener.getsockname()[1]
    with (
        socket.create_server((NOWHERE, port), backlog=0) as full,
        socket.create_connection(full.getsockname()),
    ):
        made = dial(loop, port, NOWHERE, THERE, within=2.0)
    assert isinstance(made, Line)
    assert made.peer[0] == THERE


def test_when_all_refuse_that_is_the_failure(loop: asyncio.AbstractEventLoop) -> None:
    with socket.create_server((THERE, 0)) as closed:
        port = closed.getsockname()[1]
    found = dial(loop, port, HERE, THERE)
    assert found == SendFailure(Kind.TRANSIENT, "the connection was refused")


def test_no_address_is_no_connection(loop: asyncio.AbstractEventLoop) -> None:
    found = dial(loop, 80)
    assert isinstance(found, SendFailure)
    assert found.kind is Kind.DNS


def test_the_peer_is_checked_at_the_socket_before_a_byte_is_sent(
    loop: asyncio.AbstractEventLoop, listener: socket.socket
) -> None:
    asked: list[tuple[str, int]] = []

    def permits(address: str, port: int) -> bool:
        asked.append((address, port))
        return False

    found = dial(loop, listener.getsockname()[1], THERE, permits=permits)
    assert isinstance(found, SendFailure)
    assert found.kind is Kind.BLOCKED
    assert THERE not in found.detail
    assert asked == [listener.getsockname()]
    connection, _ = listener.accept()
    with connection:
        assert connection.recv(1) == b""


def test_without_file_descriptors_it_fails_and_says_so(
    loop: asyncio.AbstractEventLoop, listener: socket.socket
) -> None:
    told: list[bool] = []
    port = listener.getsockname()[1]
    found = dial(loop, port, HERE, THERE, scarce=lambda: told.append(True), most=1)
    assert isinstance(found, SendFailure)
    assert found.kind is Kind.TRANSIENT
    assert "no file descriptors" in found.detail
    assert told == [True]
