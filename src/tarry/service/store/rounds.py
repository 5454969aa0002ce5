"""Go round what is old, a bounded number at a time: what cannot go yet is not looked at again."""

import math
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")

LOOKED_AT = 20
"""How many are looked at in one piece, for each that may go."""


class Rounds(Generic[Key]):
    """Keeps in mind between calls how far the look came. `first` sorts before every key."""

    def __init__(self, first: Key) -> None:
        self._start = (-math.inf, first)
        self._behind = self._start

    async def look(
        self,
        ask: Callable[[float, Key, int], Awaitable[list[tuple[float, Key, bool]]]],
        *,
        limit: int,
    ) -> list[Key]:
        """At most `limit` keys of those that may go.

        `ask` gives so many behind an instant and a key, in this order, and whether each may go.
        None are left if nothing was found, or so much is in the way that the next call goes on.
        """
        began = self._behind
        found = await self._piece(ask, limit)
        if len(found) < limit and began != self._start and self._behind == self._start:
            found += await self._piece(ask, limit)
        return list(dict.fromkeys(found))[:limit]

    async def _piece(
        self, ask: Callable[[float, Key, int], Awaitable[list[tuple[float, Key, bool]]]], limit: int
    ) -> list[Key]:
        """Look at a few, and at more only if few of them may go."""
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
