"""Go through a list a piece at a time: whatever little of it is wanted, nobody is held up for long.

A piece is a question to the database by itself. So a look through a million rows that fit nothing
leaves its connection to others in between, and keeps no old state of the database alive.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar

from tarry.service.model.delivery import State
from tarry.service.model.listing import Cut

Key = TypeVar("Key", str, int)
What = TypeVar("What", bound=Hashable)
Row = tuple[Any, ...]
"""A key, whether it fits, and whatever else is told of it."""

MOST = 2_000
"""Rows that are looked at in one piece of a list."""
MOST_COUNTED = 20_000
"""Rows that are counted in one piece."""
WIDER = 4
"""How much more is looked at in a piece than in the one before, in which not enough fitted."""

UNDELIVERED = frozenset(State) - {State.DELIVERED}
"""The states with indexes of their own: what else is in a lane, which is most, is not looked at."""
NUMBERS = (0, 2**63 - 1)
"""Sort before and behind every number of a delivery."""
LATE = 600.0
"""Seconds that it may take from when a message is accepted until it is in its lanes.

What is in a lane before something that was accepted so long before a time came in before that time
as well. A replay is accepted anew: then there is only more to look at.
"""


async def look_through(
    ask: Callable[[Key, Key, int], Awaitable[list[Row]]], low: Key, high: Key, cut: Cut
) -> tuple[list[Row], Row | None]:
    """The rows of a page, in its order: those between two keys that fit, as many as the cut says.

    And the last row that was looked at, if these are not enough and there may be more behind it.
    `ask` gives so many rows between two keys, from the end that the way begins at.
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


async def count_through(
    ask: Callable[[Key, int], Awaitable[list[tuple[What, int, int, Key]]]], low: Key
) -> Counter[What]:
    """How many there are of what, behind a key.

    `ask` tells of so many rows behind a key what is there: how many count, how many there are, and
    the last key.
    """
    counts: Counter[What] = Counter()
    while True:
        seen = await ask(low, MOST_COUNTED)
        for what, many, _, _ in seen:
            counts[what] += many
        if sum(there for _, _, there, _ in seen) < MOST_COUNTED:
            return counts
        low = max(last for _, _, _, last in seen)


class Halving:
    """Looks for the first number up to `last` that a yes begins with; one behind it if none does.

    `middle` is the number to be asked about next, None when `first` is it.
    """

    def __init__(self, last: int) -> None:
        self._no = 0
        self.first = last + 1

    @property
    def middle(self) -> int | None:
        """What to ask about."""
        return (self._no + self.first) // 2 if self.first - self._no > 1 else None

    def tell(self, middle: int, *, yes: bool) -> None:
        """The answer: what is behind a yes has one too, what is before a no has none."""
        if yes:
            self.first = middle
        else:
            self._no = middle
