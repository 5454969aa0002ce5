"""Binary search in a lane: its sequence numbers grow with time."""

from collections.abc import Callable

import apsw

from tarry.service.model.listing import Cut, MessageFilter
from tarry.service.store.paged_search import LATEST_ADD_SECONDS, SEQ_BOUNDS, BinarySearch
from tarry.service.store.sqlite.database import rows
from tarry.service.store.sqlite.queries import SQL


def span(
    db: apsw.Connection, lane: int, cut: Cut, message_filter: MessageFilter
) -> tuple[int, int]:
    """Return the sequence numbers between which the entries of a page are, both exclusive."""
    low, high = SEQ_BOUNDS
    if cut.mark:
        before, behind = _seqs_around(db, lane, cut.mark)
        low, high = (before, high) if cut.upwards else (low, behind)
    if message_filter.after is not None:
        low = max(low, first_since(db, lane, message_filter.after) - 1)
    return low, high


def first_since(db: apsw.Connection, lane: int, at: float) -> int:
    """Return a sequence number before which all messages were accepted before `at`."""
    return _first_that(db, lane, lambda row: row[1] >= at - LATEST_ADD_SECONDS)


def _seqs_around(db: apsw.Connection, lane: int, message: str) -> tuple[int, int]:
    """Return the sequence numbers just before and just after `message` in the lane."""
    seq = db.execute(SQL["page_deliveries_to_mark"], (message, lane)).get
    if seq is not None:
        return seq, seq
    later = _first_that(db, lane, lambda row: row[0] > message)
    return later - 1, later


def _first_that(db: apsw.Connection, lane: int, satisfies: Callable[[rows.Row], bool]) -> int:
    """Return the sequence number of the first delivery in the lane that satisfies a condition."""
    search = BinarySearch(db.execute(SQL["page_deliveries_to_last"], (lane,)).get or 0)
    while (middle := search.middle) is not None:
        row = db.execute(SQL["page_deliveries_to_near"], (lane, middle)).fetchone()
        search.answer(middle, yes=row is None or satisfies(row))
    return search.first
