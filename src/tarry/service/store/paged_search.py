"""Search a list in small pieces, so that a search with few hits blocks no other query for long.

Each piece is a separate query. So a search through a million rows without a hit frees its
connection in between, and keeps no old snapshot of the database alive.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar

from tarry.service.model.delivery import State
from tarry.service.model.listing import Cut

Key = TypeVar("Key", str, int)
Kind = TypeVar("Kind", bound=Hashable)
Row = tuple[Any, ...]
"""A key, whether the row fits, the size of its payload, and other columns."""

MOST_ROWS = 2_000
"""The most rows that one piece of a search reads."""
COUNTED_ROWS = 20_000
"""Rows that one piece of a count reads."""
GROWTH = 4
"""A piece reads this many times more rows than the one before, if that had too few hits."""

UNDELIVERED = frozenset(State) - {State.DELIVERED}
"""States that have their own indexes, without the delivered ones, which are most of a lane."""
SEQ_BOUNDS = (0, 2**63 - 1)
"""Bounds below and above every sequence number."""
LATEST_ADD_SECONDS = 600.0
"""Seconds that it may take from accepting a message until its deliveries are in their lanes.

If a delivery was accepted more than this before some time, all deliveries before it in the lane
were added before that time too. A replay is accepted anew, which only adds rows to read.
"""


async def search_page(
    read_rows: Callable[[Key, Key, int], Awaitable[list[Row]]], low: Key, high: Key, cut: Cut
) -> tuple[list[Row], Row | None]:
    """Return the rows of a page in its order: rows between two keys that fit, up to the limit.

    Also returns the row to continue after, if there are too few hits and may be more: the last one
    that was read, or the last hit if the payload of the next one does not fit into the page.
    `read_rows` returns up to a number of rows between two keys, from the end where the page starts.
    """
    hits: list[Row] = []
    unread, piece = cut.look, min(cut.limit, cut.look)
    while True:
        rows = await read_rows(low, high, piece)
        hits += (row for row in rows if row[1])
        unread -= piece
        fitting = cut.fitting(row[2] for row in hits)
        if fitting < min(len(hits), cut.limit):
            return cut.in_order(hits[:fitting]), hits[fitting - 1]
        if len(hits) >= cut.limit or len(rows) < piece:
            return cut.in_order(hits), None
        if not unread:
            return cut.in_order(hits), rows[-1]
        low, high = (rows[-1][0], high) if cut.upwards else (low, rows[-1][0])
        piece = min(unread, max(piece, min(MOST_ROWS, piece * GROWTH)))


async def count_rows(
    read_counts: Callable[[Key, int], Awaitable[list[tuple[Kind, int, int, Key]]]], low: Key
) -> Counter[Kind]:
    """Count rows after a key, by kind.

    `read_counts` reads up to a number of rows after a key. For each kind it returns how many rows
    count, how many were read, and the last key.
    """
    counts: Counter[Kind] = Counter()
    while True:
        groups = await read_counts(low, COUNTED_ROWS)
        for kind, counted, _, _ in groups:
            counts[kind] += counted
        if sum(rows_read for _, _, rows_read, _ in groups) < COUNTED_ROWS:
            return counts
        low = max(last for _, _, _, last in groups)


class BinarySearch:
    """Binary search for the first number up to `last` that has a property, or `last` + 1.

    `middle` is the next number to check, or None once `first` is the result.
    """

    def __init__(self, last: int) -> None:
        self._last_no = 0
        self.first = last + 1

    @property
    def middle(self) -> int | None:
        """The next number to check; None at the end."""
        return (self._last_no + self.first) // 2 if self.first - self._last_no > 1 else None

    def answer(self, middle: int, *, yes: bool) -> None:
        """Use an answer. All numbers after a yes are yes too, all before a no are no."""
        if yes:
            self.first = middle
        else:
            self._last_no = middle
