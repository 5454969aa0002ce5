"""The signals that wake the loops of a dispatcher, and how a loop repeats its step.

- `Signals`: the event that each loop waits for when it has nothing to do.
- `repeat`: repeats a step, and waits while the database is unavailable.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from tarry.core.backoff import Exponential
from tarry.core.jitter import Full
from tarry.core.policy import Policy
from tarry.errors import StoreError

log = logging.getLogger("tarry.service")

# --- Signals ------------------------------------------------------------------------------------


class Signals:
    """One event for each loop. Code that leaves work for a loop sets the loop's event."""

    def __init__(self) -> None:
        self.renew = asyncio.Event()
        self.own = asyncio.Event()
        self.load = asyncio.Event()
        self.feed = asyncio.Event()
        self.settle = asyncio.Event()
        self.tick = asyncio.Event()
        self.share = asyncio.Event()
        self.upkeep = asyncio.Event()
        self.stop = asyncio.Event()
        """Set when the dispatcher is to stop, and never cleared: nothing more is sent."""

    def store_has_news(self) -> None:
        """Wake the loops that read new work from the store."""
        self.load.set()
        self.upkeep.set()


# --- Steps --------------------------------------------------------------------------------------

AGAIN = Policy(backoff=Exponential(base=0.1, cap=2.0), jitter=Full(), attempts=None, within=None)
"""When to retry a step after an error of the database."""


async def repeat(
    step: Callable[[], Awaitable[None]],
    every: float | None,
    *,
    signal: asyncio.Event | None = None,
    draw: Callable[[], float],
    recovered: Callable[[], None] = lambda: None,
) -> None:
    """Repeat a step without end: after `every` seconds, or when its signal is set.

    `recovered` is called after the first success that follows a failure of the database.
    """
    failures = 0
    while True:
        try:
            await step()
            if failures:
                log.warning("going on (%s)", step.__name__.strip("_"))
                recovered()
            failures, pause = 0, every
        except StoreError as error:
            failures += 1
            pause, _ = AGAIN.wait(failures, None, draw())
            if failures == 1:
                log.warning("waiting (%s): %s", step.__name__.strip("_"), error)
            await asyncio.sleep(pause)
            continue
        if signal is None:
            await asyncio.sleep(pause or 0.0)
        else:
            await wait_for(signal, pause)


async def wait_for(signal: asyncio.Event, longest: float | None) -> None:
    """Wait until the signal is set, at most `longest` seconds, and clear it."""
    if not signal.is_set():
        loop = asyncio.get_running_loop()
        timer = None if longest is None else loop.call_later(longest, signal.set)
        try:
            await signal.wait()
        finally:
            if timer is not None:
                timer.cancel()
    signal.clear()
