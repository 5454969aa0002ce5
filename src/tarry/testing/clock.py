"""A clock that stands still until it is pushed. A sleep pushes it and returns at once.

Threads push the clock one after the other: their sleeps add up, in the order in which the threads
happen to start them. Tasks of an event loop sleep at the same time, as with a real clock. They wake
in the order in which they are due. The time jumps to the next task only when the event loop has run
`QUIET_ROUNDS` rounds in which no task went to sleep or woke. So a task that is ready to run can
take some steps first, but a task that waits for the outside world (a socket, a thread) does not
stop the clock.
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

QUIET_ROUNDS = 10


class PushedClock:
    """A clock that you push; `slept` lists the waits in the order in which they began.

    `wall` is the time of day at the start, in seconds since 1970; by default the real one.

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
        self._sleeping = SleepingTasks()

    @property
    def now(self) -> float:
        """The time, in place of `time.monotonic()`."""
        return self._now

    @property
    def wall(self) -> float:
        """The time of day, in place of `time.time()`."""
        return self._now + self._wall_ahead

    def push(self, seconds: checks.Seconds) -> None:
        """Let this many seconds pass."""
        self._advance(checks.seconds("seconds", seconds))

    def sleep(self, seconds: float) -> None:
        """Push the clock by this wait, in place of `time.sleep`."""
        self.slept.append(seconds)
        self._advance(seconds)

    async def asleep(self, seconds: float) -> None:
        """Let other tasks run until this one is the next to wake, then push the clock that far."""
        self.slept.append(seconds)
        due_at = self._now + seconds
        await self._sleeping.turn_of(due_at)
        with self._pushing:
            self._now = max(self._now, due_at)

    def _advance(self, seconds: float) -> None:
        """Move the clock on."""
        with self._pushing:
            self._now += seconds


class Sleeper:
    """A sleeping task."""

    __slots__ = ("called", "due_at", "number")

    def __init__(self, due_at: float, number: int, library: ModuleType) -> None:
        self.due_at = due_at
        self.number = number
        self.called = library.Event()

    def __lt__(self, other: "Sleeper") -> bool:
        return (self.due_at, self.number) < (other.due_at, other.number)


class SleepingTasks(local):
    """The sleeping tasks in the event loop of this thread, the next to wake first."""

    def __init__(self) -> None:
        self._sleepers: list[Sleeper] = []
        self._numbers = count()
        self._changes = 0

    async def turn_of(self, due_at: float) -> None:
        """Wait until a task that is due at this time is the next to wake, and all is quiet."""
        library = async_library()
        sleeper = Sleeper(due_at, next(self._numbers), library)
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
        """Let the event loop run some rounds; return whether no task slept or woke meanwhile."""
        before = self._changes
        for _ in range(QUIET_ROUNDS):
            await library.sleep(0)
        return self._changes == before


@contextmanager
def pushed_clock(now: float = 0.0, *, wall: float | None = None) -> Iterator[PushedClock]:
    """Run the block with a clock of its own: nothing really sleeps, and `slept` has all waits.

    This applies to the waits and deadlines of tarry, in all threads and tasks. It does not apply to
    an `attempt_timeout`, which the event loop measures in real time.
    """
    clock = PushedClock(now, wall=wall)
    before = world.clock, world.wall, world.sleep, world.asleep
    world.clock, world.wall = lambda: clock.now, lambda: clock.wall
    world.sleep, world.asleep = clock.sleep, clock.asleep
    try:
        yield clock
    finally:
        world.clock, world.wall, world.sleep, world.asleep = before
