"""Scan old rows in bounded pieces, so that rows that must stay are not read again each time."""

import math
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")

ROWS_READ_PER_KEY = 20
"""At most this many rows are read for each key that a caller asks for."""


class OldRows(Generic[Key]):
    """Remembers between calls where the scan stopped. `first` sorts before every key."""

    def __init__(self, first: Key) -> None:
        self._start = (-math.inf, first)
        self._position = self._start

    async def removable(
        self,
        read_rows: Callable[[float, Key, int], Awaitable[list[tuple[float, Key, bool]]]],
        *,
        limit: int,
    ) -> list[Key]:
        """Return at most `limit` keys of rows that may be removed.

        `read_rows` returns up to a number of rows after an instant and a key, in this order, and
        whether each may be removed. An empty result means that there are none, or that the rows
        read so far cannot be removed yet, and the next call continues the scan.
        """
        first_position = self._position
        keys = await self._read_piece(read_rows, limit)
        has_wrapped = first_position != self._start and self._position == self._start
        if len(keys) < limit and has_wrapped:
            keys += await self._read_piece(read_rows, limit)
        return list(dict.fromkeys(keys))[:limit]

    async def _read_piece(
        self,
        read_rows: Callable[[float, Key, int], Awaitable[list[tuple[float, Key, bool]]]],
        limit: int,
    ) -> list[Key]:
        """Read a few rows, and more only if few of them may be removed."""
        keys: list[Key] = []
        rows_read, rows_to_read = 0, limit
        while rows_read < limit * ROWS_READ_PER_KEY:
            rows = await read_rows(*self._position, rows_to_read)
            removable = [(at, key) for at, key, is_over in rows if is_over][: limit - len(keys)]
            keys += [key for _, key in removable]
            if len(keys) == limit:
                self._position = removable[-1]
                break
            if len(rows) < rows_to_read:
                self._position = self._start
                break
            self._position = rows[-1][:2]
            rows_read += rows_to_read
            rows_to_read = min(2 * rows_to_read, limit * ROWS_READ_PER_KEY - rows_read)
        return keys
