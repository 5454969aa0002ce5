"""What the tests of the HTTP adapters share: a scripted server, a pushed clock, every client."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import anyio.to_thread
import pytest

from tarry.call.world import world
from tests.call.http.callers import CALLERS, TEXT, Caller
from tests.call.http.server import Server


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.stop()


class PushedClock:
    """Time goes on only when somebody waits; what happens `during` a wait can be said."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []
        self.during: Callable[[], object] = lambda: None

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds
        self.during()

    async def asleep(self, seconds: float) -> None:
        await anyio.to_thread.run_sync(self.sleep, seconds)  # the loop runs on, as in a real wait


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> PushedClock:
    pushed = PushedClock()
    monkeypatch.setattr(world, "clock", pushed.clock)
    monkeypatch.setattr(world, "wall", pushed.clock)
    monkeypatch.setattr(world, "sleep", pushed.sleep)
    monkeypatch.setattr(world, "asleep", pushed.asleep)
    return pushed


@pytest.fixture
def file(tmp_path: Path) -> Iterator[BinaryIO]:
    path = tmp_path / "body.bin"
    path.write_bytes(TEXT)
    with path.open("rb") as opened:
        yield opened


@pytest.fixture(params=CALLERS)
def caller(request: pytest.FixtureRequest) -> Caller:
    return CALLERS[request.param]
