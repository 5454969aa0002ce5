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
    """Caches the results of `ask` for `seconds` each; it is cleared when it has `most` entries."""

    def __init__(
        self,
        ask: Callable[[Key], Coroutine[Any, Any, Value]],
        *,
        seconds: float,
        most: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask, self._seconds, self._most, self._clock = ask, seconds, most, clock
        self._kept: dict[Key, tuple[float, Value]] = {}
        self._asked: dict[Key, tuple[float, asyncio.Task[Value]]] = {}

    async def get(self, key: Key) -> tuple[Value, bool]:
        """Return the value, and whether an earlier query was used."""
        since = self._clock() - self._seconds
        kept = self._kept.get(key)
        if kept is not None and since < kept[0]:
            return kept[1], True
        asked = self._asked.get(key)
        if asked is not None and since < asked[0]:
            return await asyncio.shield(asked[1]), True
        return await asyncio.shield(self._begin(key)), False

    def forget(self, key: Key) -> None:
        """Drop an entry, and the result of a query that is still running."""
        self._kept.pop(key, None)
        self._asked.pop(key, None)

    def _begin(self, key: Key) -> asyncio.Task[Value]:
        at = self._clock()
        task = asyncio.create_task(self._ask(key))
        self._asked[key] = asked = at, task

        def keep(task: asyncio.Task[Value]) -> None:
            failed = task.cancelled() or task.exception() is not None
            if self._asked.get(key) is not asked:  # dropped, or queried again since
                return
            del self._asked[key]
            if failed:
                return
            if len(self._kept) >= self._most:
                self._kept.clear()
            self._kept[key] = at, task.result()

        task.add_done_callback(keep)
        return task
