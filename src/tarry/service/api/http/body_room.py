"""Room in memory for the bodies of requests: a request waits until there is room for its own."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

SMALL = 64 * 1024
"""Bodies up to this many bytes need no room: about as much is read with the head anyway."""
MOST = 64 * 1024 * 1024
"""The most bytes of bodies that are read or worked on at a time."""
MOST_OF_KEY = MOST // 2
"""The most bytes of one key's bodies. A client that stops in the middle of a body leaves room."""


class BodyRoom:
    """Shares the room between the requests of one event loop, in the order in which they came."""

    def __init__(self, most: int = MOST, most_of_key: int = MOST_OF_KEY) -> None:
        self._most, self._most_of_key = most, most_of_key
        self._taken = 0
        self._of_key: Counter[str] = Counter()
        self._waiting: deque[tuple[str, int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def reserve(self, key: str, size: int) -> AsyncIterator[None]:
        """Wait until there is room for a body of this size, and keep it until the block ends."""
        if size <= SMALL:
            yield
            return
        if self._fits(key, size) and not any(key == other for other, _, _ in self._waiting):
            self._take(key, size)
        else:
            await self._wait(key, size)
        try:
            yield
        finally:
            self._give_back(key, size)

    async def _wait(self, key: str, size: int) -> None:
        """Wait for the turn of a request; its room is taken when this returns."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (key, size, turn)
        self._waiting.append(entry)
        try:
            await turn
        except asyncio.CancelledError:
            if entry in self._waiting:
                self._waiting.remove(entry)
            else:  # it was cancelled just after it got its room
                self._give_back(key, size)
            raise

    def _fits(self, key: str, size: int) -> bool:
        """Return whether there is room. A key without any body always may have one."""
        of_key = self._of_key[key] + size <= self._most_of_key or not self._of_key[key]
        return of_key and (self._taken + size <= self._most or not self._taken)

    def _take(self, key: str, size: int) -> None:
        """Count bytes as taken, in all and by this key."""
        self._taken += size
        self._of_key[key] += size

    def _give_back(self, key: str, size: int) -> None:
        """Free the room of a request, and give it to the next ones that fit."""
        self._taken -= size
        self._of_key[key] -= size
        if not self._of_key[key]:
            del self._of_key[key]
        passed_over: set[str] = set()
        for entry in list(self._waiting):
            waiting_key, waiting_size, turn = entry
            if waiting_key in passed_over or not self._fits(waiting_key, waiting_size):
                passed_over.add(waiting_key)
                continue
            self._waiting.remove(entry)
            self._take(waiting_key, waiting_size)
            turn.set_result(None)
