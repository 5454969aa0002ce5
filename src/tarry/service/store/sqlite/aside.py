"""Work that may take long, in a thread of its own; it ends early once nobody waits for it."""

import asyncio
from collections.abc import Callable
from threading import Event
from typing import TypeVar

Answer = TypeVar("Answer")
Unwanted = Callable[[], bool]
"""Says whether nobody waits any more."""


def never() -> bool:
    """Somebody waits until the end."""
    return False


async def aside(work: Callable[[Unwanted], Answer]) -> Answer:
    """Have work done that asks now and then whether it is still wanted; if not, it is to raise.

    A process ends only when its threads have: without that, a copy of many gigabytes would be made
    to its end after Ctrl-C.
    """
    over = Event()
    try:
        return await asyncio.to_thread(work, over.is_set)
    finally:
        over.set()
