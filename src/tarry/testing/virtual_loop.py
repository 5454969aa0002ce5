"""An event loop in virtual time: days of timers pass in moments.

Whenever nothing is left to do now, the clock jumps to the next timer. It is for programs that wait
only for timers and for each other. It does not wait for a real socket or thread.
"""

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class _VirtualSelector(selectors.SelectSelector):
    """Polls for events without waiting, and moves the clock instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return the events that are there; if there are none, move the clock on instead."""
        events = super().select(0)
        if not events:
            if timeout is None:
                raise RuntimeError("nothing is left that could ever happen in this event loop")
            self.now += max(0.0, timeout)
        return events


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop with a clock of its own, which starts at 0."""

    def __init__(self) -> None:
        self._jumping = _VirtualSelector()
        super().__init__(self._jumping)
        # How early a timer may fire. The default of a nanosecond is lost when it is added to the
        # seconds of a year: a timer that is just due would never fire.
        self._clock_resolution = 1e-7

    def time(self) -> float:
        """Return the seconds since the loop was created."""
        return self._jumping.now


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """Run a program to its end, as `asyncio.run` does, without waiting for its timers.

    >>> import asyncio
    >>> run_virtual(asyncio.sleep(86_400, "a day later"))
    'a day later'
    """
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def virtually(story: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Turn an async function into a normal one that runs in virtual time.

    >>> import asyncio
    >>> virtually(asyncio.sleep)(86_400, "a day later")
    'a day later'
    """

    @functools.wraps(story)
    def run_story(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_virtual(story(*args, **kwargs))

    return run_story
