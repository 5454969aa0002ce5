"""Where in a lane something is: numbers grow with time, so it is found by halving."""

from collections.abc import Callable

import apsw

from tarry.service.model.listing import Cut, MessageFilter
from tarry.service.store.pieces import LATE, NUMBERS, Halving
from tarry.service.store.sqlite import rows
from tarry.service.store.sqlite.queries import SQL


def span(db: apsw.Connection, lane: int, cut: Cut, wanted: MessageFilter) -> tuple[int, int]:
    """The numbers of a lane between which a page is."""
    low, high = NUMBERS
    if cut.mark:
        before, behind = _place(db, lane, cut.mark)
        low, high = (before, high) if cut.upwards else (low, behind)
    if wanted.after is not None:
        low = max(low, first_since(db, lane, wanted.after) - 1)
    return low, high


def first_since(db: apsw.Connection, lane: int, at: float) -> int:
    """A number that what was accepted from a time on does not begin before."""
    return _first(db, lane, lambda near: near[1] >= at - LATE)


def _place(db: apsw.Connection, lane: int, message: str) -> tuple[int, int]:
    """The numbers that what is before a message ends and what is behind it begins with."""
    seq = db.execute(SQL["list_deliveries_to_mark"], (message, lane)).get
    if seq is not None:
        return seq, seq
    later = _first(db, lane, lambda near: near[0] > message)
    return later - 1, later


def _first(db: apsw.Connection, lane: int, yes: Callable[[rows.Row], bool]) -> int:
    """The number that a lane's deliveries begin with of which something is so."""
    search = Halving(db.execute(SQL["list_deliveries_to_last"], (lane,)).get or 0)
    while (middle := search.middle) is not None:
        near = db.execute(SQL["list_deliveries_to_near"], (lane, middle)).fetchone()
        search.tell(middle, yes=near is None or yes(near))
    return search.first
