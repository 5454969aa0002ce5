"""A clock that stands still until it is pushed; who sleeps by it pushes it, and goes on at once.

Threads push it one after the other: what they sleep adds up, in the order in which they happen to
go to sleep. Tasks of an event loop sleep side by side, as they really would: they wake in the order
in which they are due, and the time jumps to the next one only when the event loop has gone
round `TURNS` times without anybody going to sleep or waking. So a task that is ready to run may
take some steps first, but one that waits for the outside world (a socket, a thread) does not
hold up the time.
"""

import time
from bisect import insort
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from threading import Lock, local
from types import ModuleType

from tarry.call.world import async_library, world
from tarry.core import checks

TURNS = 10


class PushedClock:
    """A clock to push; `slept` lists the waits in the order in which they were begun.

    `wall` is the time of day it starts from, in seconds since 1970; the real one if not given.

    >>> clock = PushedClock()
    >>> clock.sleep(2.5)
    >>> clock.push(60)
    >>> clock.now, clock.slept
    (62.5, [2.5])
    """

    def __init__(self, now: float = 0.0, *, wall: float | None = None) -> None:
        self.slept: list[float] = []
        self._now = float(now)
        self._wall_ahead = (time.time() if wall is None else wall) - self._now
        self._pushing = Lock()
        self._dormitory = Dormitory()

    @property
    def now(self) -> float:
        """The time, in place of `time.monotonic()`."""
        return self._now

    @property
    def wall(self) -> float:
        """The time of day, in place of `time.time()`."""
        return self._now + self._wall_ahead

    def push(self, seconds: checks.Seconds) -> None:
        """Let so many seconds go by."""
        self._pass(checks.seconds("seconds", seconds))

    def sleep(self, seconds: float) -> None:
        """Push the clock by this wait, in place of `time.sleep`."""
        self.slept.append(seconds)
        self._pass(seconds)

    async def asleep(self, seconds: float) -> None:
        """Let other tasks run until this one is the next to wake, then push the clock that far."""
        self.slept.append(seconds)
        due_at = self._now + seconds
        await self._dormitory.turn_of(due_at)
        with self._pushing:
            self._now = max(self._now, due_at)

    def _pass(self, seconds: float) -> None:
        with self._pushing:
            self._now += seconds


class Sleeper:
    """A task that sleeps."""

    __slots__ = ("called", "due_at", "place")

    def __init__(self, due_at: float, place: int, library: ModuleType) -> None:
        self.due_at = due_at
        self.place = place
        self.called = library.Event()

    def __lt__(self, other: "Sleeper") -> bool:
        return (self.due_at, self.place) < (other.due_at, other.place)


class Dormitory(local):
    """The tasks that sleep in the event loop of this thread, the next to wake first."""

    def __init__(self) -> None:
        self._sleepers: list[Sleeper] = []
        self._places = count()
        self._changes = 0

    async def turn_of(self, due_at: float) -> None:
        """Wait until a task that sleeps until then is the next to wake, and all is quiet."""
        library = async_library()
        sleeper = Sleeper(due_at, next(self._places), library)
        insort(self._sleepers, sleeper)
        self._changes += 1
        try:
            while True:
                if self._sleepers[0] is not sleeper:
                    sleeper.called = library.Event()
                    await sleeper.called.wait()
                elif await self._quiet(library):
                    return
        finally:
            self._sleepers.remove(sleeper)
            self._changes += 1
            if self._sleepers:
                self._sleepers[0].called.set()

    async def _quiet(self, library: ModuleType) -> bool:
        """Let the event loop go round, and say whether nothing happened here meanwhile."""
        before = self._changes
        for _ in range(TURNS):
            await library.sleep(0)
        return self._changes == before


@contextmanager
def pushed_clock(now: float = 0.0, *, wall: float | None = None) -> Iterator[PushedClock]:
    """Run the block by a clock of its own: nothing sleeps in it, and all waits are in `slept`.

    It holds for the waits and deadlines of tarry, in all threads and tasks; an `attempt_timeout` is
    kept by the event loop, whose time is real.
    """
    clock = PushedClock(now, wall=wall)
    before = world.clock, world.wall, world.sleep, world.asleep
    world.clock, world.wall = lambda: clock.now, lambda: clock.wall
    world.sleep, world.asleep = clock.sleep, clock.asleep
    try:
        yield clock
    finally:
        world.clock, world.wall, world.sleep, world.asleep = before
