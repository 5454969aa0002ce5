"""The one place where real time, real waiting and real chance come in.

Everything in `call/` asks `world`; tests put a clock they push and draws they wrote in its place.
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

# An own generator: a program that seeds the global one, as many do in every process alike, must
# not make all its clients wait the same. One C call under its own lock: safe across threads.
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
    """The module whose event loop runs us: asyncio, or anyio for anything else.

    Nobody can run us under asyncio without having imported it, so this never has to.
    """
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None and _running(asyncio):
        return asyncio
    try:
        return import_module("anyio")
    except ModuleNotFoundError:
        message = "outside asyncio tarry waits through anyio: pip install 'tarry[trio]'"
        raise TarryError(message) from None


def _running(asyncio: ModuleType) -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _asleep(seconds: float) -> None:
    await async_library().sleep(seconds)


world = World()
