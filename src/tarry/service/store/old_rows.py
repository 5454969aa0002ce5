"""Scan old rows in bounded pieces, so that rows which cannot go yet are not read each time."""

import math
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")

LOOKED_AT = 20
"""How many rows one piece reads for each row that may be removed."""


class OldRows(Generic[Key]):
    """Remembers between calls where the scan stopped. `first` sorts before every key."""

    def __init__(self, first: Key) -> None:
        self._start = (-math.inf, first)
        self._behind = self._start

    async def removable(
        self,
        ask: Callable[[float, Key, int], Awaitable[list[tuple[float, Key, bool]]]],
        *,
        limit: int,
    ) -> list[Key]:
        """Return at most `limit` keys of rows that may be removed.

        `ask` returns up to a number of rows after an instant and a key, in this order, and whether
        each may be removed. An empty result means that there are none, or that so many rows cannot
        be removed yet that the next call continues the scan.
        """
        began = self._behind
        found = await self._piece(ask, limit)
        if len(found) < limit and began != self._start and self._behind == self._start:
            found += await self._piece(ask, limit)
        return list(dict.fromkeys(found))[:limit]

    async def _piece(
        self, ask: Callable[[float, Key, int], Awaitable[list[tuple[float, Key, bool]]]], limit: int
    ) -> list[Key]:
        """Read a few rows, and more only if few of them may be removed."""
        found: list[Key] = []
        looked, most = 0, limit
        while looked < limit * LOOKED_AT:
            seen = await ask(*self._behind, most)
            over = [(at, key) for at, key, over in seen if over][: limit - len(found)]
            found += [key for _, key in over]
            if len(found) == limit:
                self._behind = over[-1]
                break
            if len(seen) < most:
                self._behind = self._start
                break
            self._behind = seen[-1][:2]
            looked += most
            most = min(2 * most, limit * LOOKED_AT - looked)
        return found
