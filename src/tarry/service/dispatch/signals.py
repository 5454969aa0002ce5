"""Signals: what each loop of the dispatcher waits for when it has nothing to do."""

import asyncio


class Signals:
    """One event for each loop: whoever leaves work for a loop sets its event."""

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
        """Set once and for all: nothing more is sent."""

    def store_has_news(self) -> None:
        """Have the loops look that take up what is new in the store."""
        self.load.set()
        self.upkeep.set()
