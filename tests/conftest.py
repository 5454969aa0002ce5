"""What all tests share: how hard they look, and a time that stands still until it is pushed.

`./dev test` uses the profile `ci`; `./dev test --hypothesis-profile=deep` digs for long.
"""

import sys
from collections.abc import Callable, Generator

import anyio.lowlevel
import pytest
from hypothesis import settings

from tarry.call.world import world

settings.register_profile("ci", deadline=None, derandomize=False, print_blob=True)
settings.register_profile("deep", settings.get_profile("ci"), max_examples=5_000)
settings.load_profile("ci")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Let coverage look away from a slow test: tracing makes it several times slower still."""
    tracer = sys.gettrace()
    if item.get_closest_marker("slow"):
        sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(tracer)


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
