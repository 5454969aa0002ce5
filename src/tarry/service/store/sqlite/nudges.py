"""Those who want to hear of lanes that were woken, each on the loop they listen from."""

import asyncio
from collections.abc import Callable

from tarry.service.store.sqlite.line import call_soon


class Nudges:
    """Called from any thread, it calls all of them, each on its own loop."""

    def __init__(self) -> None:
        self._nudges: list[tuple[asyncio.AbstractEventLoop, Callable[[], None]]] = []

    def add(self, nudge: Callable[[], None]) -> None:
        """Call this from now on, on the loop that runs now."""
        self._nudges.append((asyncio.get_running_loop(), nudge))

    def __call__(self) -> None:
        """A lane was woken."""
        for loop, nudge in self._nudges:
            call_soon(loop, nudge)
