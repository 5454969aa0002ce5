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
What = TypeVar("What", bound=Hashable)
Row = tuple[Any, ...]
"""A key, whether the row fits, and other columns."""

MOST = 2_000
"""The most rows that one piece of a search reads."""
MOST_COUNTED = 20_000
"""Rows that one piece of a count reads."""
WIDER = 4
"""A piece reads this many times more rows than the one before, if that had too few hits."""

UNDELIVERED = frozenset(State) - {State.DELIVERED}
"""States that have their own indexes. Delivered ones, which are most of a lane, are not in them."""
NUMBERS = (0, 2**63 - 1)
"""Bounds below and above every sequence number."""
LATE = 600.0
"""Seconds that it may take from accepting a message until its deliveries are in their lanes.

If a delivery was accepted more than this before some time, all deliveries before it in the lane
were added before that time too. A replay is accepted anew, which only adds rows to read.
"""


async def search_page(
    ask: Callable[[Key, Key, int], Awaitable[list[Row]]], low: Key, high: Key, cut: Cut
) -> tuple[list[Row], Row | None]:
    """Return the rows of a page in its order: rows between two keys that fit, up to the limit.

    Also returns the last row that was read, if there are too few hits and may be more after it.
    `ask` returns up to a number of rows between two keys, from the end where the page starts.
    """
    found: list[Row] = []
    left, piece = cut.look, min(cut.limit, cut.look)
    while True:
        seen = await ask(low, high, piece)
        found += (row for row in seen if row[1])
        left -= piece
        if len(found) >= cut.limit or len(seen) < piece:
            return cut.in_order(found), None
        if not left:
            return cut.in_order(found), seen[-1]
        low, high = (seen[-1][0], high) if cut.upwards else (low, seen[-1][0])
        piece = min(left, max(piece, min(MOST, piece * WIDER)))


async def count_rows(
    ask: Callable[[Key, int], Awaitable[list[tuple[What, int, int, Key]]]], low: Key
) -> Counter[What]:
    """Count rows after a key, by kind.

    `ask` reads up to a number of rows after a key. For each kind it returns how many rows count,
    how many there are, and the last key.
    """
    counts: Counter[What] = Counter()
    while True:
        seen = await ask(low, MOST_COUNTED)
        for what, many, _, _ in seen:
            counts[what] += many
        if sum(there for _, _, there, _ in seen) < MOST_COUNTED:
            return counts
        low = max(last for _, _, _, last in seen)


class BinarySearch:
    """Binary search for the first number up to `last` whose answer is yes, or `last` + 1.

    `middle` is the next number to ask about, or None once `first` is the result.
    """

    def __init__(self, last: int) -> None:
        self._no = 0
        self.first = last + 1

    @property
    def middle(self) -> int | None:
        """The next number to ask about."""
        return (self._no + self.first) // 2 if self.first - self._no > 1 else None

    def answer(self, middle: int, *, yes: bool) -> None:
        """Use an answer. All numbers after a yes are yes too, all before a no are no."""
        if yes:
            self.first = middle
        else:
            self._no = middle
