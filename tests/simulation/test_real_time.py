"""The event loop in real time: processes are suspended and killed, with their sockets."""

import asyncio
import gc
import socket
from collections.abc import Callable, Iterator

import pytest

from tests.simulation.loop import Process
from tests.simulation.real_time import RealTimeLoop

LONG, SHORT = 0.2, 0.05
PATIENCE = 60.0


def run_until(loop: RealTimeLoop, done: Callable[[], bool]) -> None:
    """Run until something is so; a test that waits in vain fails at its next line."""
    end = loop.time() + PATIENCE
    while not done() and loop.time() < end:
        loop.run_for(SHORT / 5)


@pytest.fixture
def loop() -> Iterator[RealTimeLoop]:
    crashes: list[BaseException] = []
    made = RealTimeLoop(lambda _process, error: crashes.append(error))
    yield made
    if not made.is_closed():
        made.shut_down()
    assert not crashes


def test_a_suspended_process_goes_on_where_it_was(loop: RealTimeLoop) -> None:
    process, seen = Process("one"), list[float]()

    async def tick() -> None:
        while True:
            seen.append(loop.time())
            await asyncio.sleep(SHORT / 5)

    loop.start(process, tick())
    loop.run_for(SHORT)
    loop.suspend(process)
    before = len(seen)
    loop.run_for(LONG)
    assert len(seen) == before > 0
    loop.go_on(process)
    run_until(loop, lambda: len(seen) > before)
    assert len(seen) > before


def test_what_comes_to_a_socket_waits_for_a_suspended_process(loop: RealTimeLoop) -> None:
    process, seen = Process("one"), list[bytes]()
    ours, theirs = socket.socketpair()

    async def listen() -> None:
        reader, writer = await asyncio.open_connection(sock=ours)
        try:
            seen.append(await reader.readexactly(2))
        finally:
            writer.close()

    loop.start(process, listen())
    loop.run_for(SHORT)
    loop.suspend(process)
    with theirs:
        theirs.sendall(b"ab")
        loop.run_for(LONG)
        assert seen == []
        loop.go_on(process)
        run_until(loop, lambda: bool(seen))
    assert seen == [b"ab"]


def test_a_killed_process_does_nothing_more_until_it_is_cleared_away(loop: RealTimeLoop) -> None:
    process, seen = Process("one"), list[str]()

    async def wait() -> None:
        try:
            await asyncio.sleep(SHORT)
            seen.append("went on")
        finally:
            seen.append("cleared away")

    task = loop.start(process, wait())
    loop.run_for(0)
    loop.kill(process)
    loop.run_for(LONG)
    assert seen == []
    loop.revive(process)
    task.cancel()
    run_until(loop, lambda: bool(seen))
    assert seen == ["cleared away"]


def test_callbacks_run_in_the_process_that_they_are_for(loop: RealTimeLoop) -> None:
    process, seen = Process("one"), list[str]()
    loop.suspend(process)
    loop.soon_in(process, seen.append, "suspended")
    loop.later_in(loop.world, 0.0, seen.append, "world")
    loop.run_to(loop.time() + SHORT)
    assert seen == ["world"]
    loop.go_on(process)
    run_until(loop, lambda: len(seen) == 2)
    assert seen == ["world", "suspended"]


@pytest.mark.filterwarnings("error")
def test_what_a_killed_process_never_began_is_cleared_away(loop: RealTimeLoop) -> None:
    process = Process("one")
    loop.kill(process)
    task = loop.start(process, asyncio.sleep(LONG))
    loop.patience = SHORT
    loop.shut_down()
    assert not task.done()
    del task
    gc.collect()
