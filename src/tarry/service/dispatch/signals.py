"""Signals: what each loop of the dispatcher waits for when it has nothing to do."""

import asyncio


class Signals:
    """Whoever has something to do for a step rings its bell; a step waits for its own."""

    def __init__(self) -> None:
        self.own = asyncio.Event()
        self.wake = asyncio.Event()
        self.feed = asyncio.Event()
        self.settle = asyncio.Event()
        self.tick = asyncio.Event()
        self.upkeep = asyncio.Event()
        self.stop = asyncio.Event()
        """Rung once and for all: nothing more is sent."""

    def ring_for_desk(self) -> None:
        """There is work on one of the lists of the context."""
        for bell in (self.feed, self.settle, self.tick):
            bell.set()

    def ring_for_store(self) -> None:
        """Something is new in the store."""
        for bell in (self.wake, self.upkeep):
            bell.set()
