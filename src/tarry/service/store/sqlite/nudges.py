"""Callbacks for woken lanes, each called on the loop it was added from."""

import asyncio
from collections.abc import Callable

from tarry.service.store.sqlite.line import call_soon


class Nudges:
    """Calls all its callbacks, each on its own loop. It can be called from any thread."""

    def __init__(self) -> None:
        self._nudges: list[tuple[asyncio.AbstractEventLoop, Callable[[], None]]] = []

    def add(self, nudge: Callable[[], None]) -> None:
        """Add a callback, to be called on the loop that runs now."""
        self._nudges.append((asyncio.get_running_loop(), nudge))

    def __call__(self) -> None:
        """Report that a lane was woken."""
        for loop, nudge in self._nudges:
            call_soon(loop, nudge)
