"""Run long work in its own thread; it ends early once its caller has stopped waiting."""

import asyncio
from collections.abc import Callable
from threading import Event
from typing import TypeVar

Answer = TypeVar("Answer")
IsUnwanted = Callable[[], bool]
"""Returns True once the caller has stopped waiting."""


def never() -> bool:
    """Return False: the caller waits until the end."""
    return False


async def in_own_thread(work: Callable[[IsUnwanted], Answer]) -> Answer:
    """Run `work` in a thread. It must check now and then whether it is unwanted, and raise then.

    A process ends only after its threads: without this check, Ctrl-C would wait until a copy of
    many gigabytes is complete.
    """
    caller_is_gone = Event()
    try:
        return await asyncio.to_thread(work, caller_is_gone.is_set)
    finally:
        caller_is_gone.set()
