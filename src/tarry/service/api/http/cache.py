"""A short-lived cache of store queries that every request needs.

Callers that ask for a key while its query runs wait for that query. Otherwise all concurrent
requests would query the store at once whenever an entry expires.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Cache(Generic[Key, Value]):
    """Caches the results of `query` for `seconds` each, and is cleared at `most` entries."""

    def __init__(
        self,
        query: Callable[[Key], Coroutine[Any, Any, Value]],
        *,
        seconds: float,
        most: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._query, self._seconds, self._most, self._clock = query, seconds, most, clock
        self._values: dict[Key, tuple[float, Value]] = {}
        self._running: dict[Key, tuple[float, asyncio.Task[Value]]] = {}

    async def get(self, key: Key) -> tuple[Value, bool]:
        """Return the value, and whether an earlier query was used."""
        since = self._clock() - self._seconds
        cached = self._values.get(key)
        if cached is not None and since < cached[0]:
            return cached[1], True
        running = self._running.get(key)
        if running is not None and since < running[0]:
            return await asyncio.shield(running[1]), True
        return await asyncio.shield(self._start_query(key)), False

    def forget(self, key: Key) -> None:
        """Drop an entry, and the result of a query that is still running."""
        self._values.pop(key, None)
        self._running.pop(key, None)

    def _start_query(self, key: Key) -> asyncio.Task[Value]:
        """Start a query for a key; its value is cached unless the key is dropped meanwhile."""
        at = self._clock()
        task = asyncio.create_task(self._query(key))
        self._running[key] = running = at, task

        def keep(task: asyncio.Task[Value]) -> None:
            failed = task.cancelled() or task.exception() is not None
            if self._running.get(key) is not running:  # dropped, or queried again since
                return
            del self._running[key]
            if failed:
                return
            if len(self._values) >= self._most:
                self._values.clear()
            self._values[key] = at, task.result()

        task.add_done_callback(keep)
        return task
