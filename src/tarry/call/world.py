"""The only module of `call/` with real time, real waits and real random numbers.

Everything in `call/` uses `world`; tests replace it with a clock that they push and scripted draws.
"""

import os
import sys
import time
from importlib import import_module
from random import Random
from types import ModuleType
from typing import TYPE_CHECKING

from tarry.errors import TarryError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tarry.core.decide import Draw

# A generator of our own: many programs seed the global one, with the same number in every process,
# and that must not give all clients the same waits. A draw is one C call under its own lock, so it
# is safe across threads.
_chance = Random()  # noqa: S311  jitter, not secrets
if hasattr(os, "register_at_fork"):  # not where there is no fork
    os.register_at_fork(after_in_child=_chance.seed)


class World:
    """Time, waiting and chance."""

    __slots__ = ("asleep", "clock", "draw", "sleep", "wall")

    def __init__(self) -> None:
        self.clock: Callable[[], float] = time.monotonic
        self.wall: Callable[[], float] = time.time
        self.sleep: Callable[[float], None] = time.sleep
        self.asleep: Callable[[float], Awaitable[None]] = _asleep
        self.draw: Draw = _chance.random


def async_library() -> ModuleType:
    """Return the module whose event loop runs the caller: asyncio, or anyio for anything else.

    A caller under asyncio has imported it already, so this function never has to.
    """
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None and _has_running_loop(asyncio):
        return asyncio
    try:
        return import_module("anyio")
    except ModuleNotFoundError:
        message = "outside asyncio tarry waits through anyio: pip install 'tarry[trio]'"
        raise TarryError(message) from None


def _has_running_loop(asyncio: ModuleType) -> bool:
    """Return whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _asleep(seconds: float) -> None:
    await async_library().sleep(seconds)


world = World()
