"""Time that stands still until it is pushed: sleeping pushes it, and nobody really waits."""

from collections.abc import Callable, Iterator

import anyio.lowlevel
import pytest

from tarry.call.scope import current
from tarry.call.world import world
from tarry.observe import Event, listen


class StillTime:
    """A clock to push, and the waits that pushed it."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    def push(self, seconds: float) -> None:
        self.now += seconds

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)
        await anyio.lowlevel.checkpoint()


@pytest.fixture
def still_time(monkeypatch: pytest.MonkeyPatch) -> StillTime:
    time = StillTime()
    for name in ("clock", "sleep", "asleep"):
        monkeypatch.setattr(world, name, getattr(time, name))
    return time


@pytest.fixture
def slept(still_time: StillTime) -> list[float]:
    """Every wait so far."""
    return still_time.slept


@pytest.fixture
def push(still_time: StillTime) -> Callable[[float], None]:
    """Let so many seconds go by."""
    return still_time.push


@pytest.fixture
def events() -> Iterator[list[Event]]:
    """Every event so far, of whatever call."""
    heard: list[Event] = []
    stop = listen(heard.append)
    yield heard
    stop()


@pytest.fixture(autouse=True)
def no_scope_is_left_open() -> Iterator[None]:
    yield
    assert current.get() is None
