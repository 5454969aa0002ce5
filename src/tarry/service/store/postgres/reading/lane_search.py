"""Binary search in a lane: its sequence numbers grow with time."""

from collections.abc import Callable
from typing import Protocol

from tarry.service.model.listing import Cut, MessageFilter
from tarry.service.store.paged_search import LATEST_ADD_SECONDS, SEQ_BOUNDS, BinarySearch
from tarry.service.store.postgres.database import rows
from tarry.service.store.postgres.queries import SQL


class Fetch(Protocol):
    """Runs a query, on its own or inside a transaction."""

    async def __call__(self, query: str, /, *arguments: object) -> list[rows.Row]:
        """Return the rows of the query."""


async def span(fetch: Fetch, lane: int, cut: Cut, message_filter: MessageFilter) -> tuple[int, int]:
    """Return the sequence numbers between which the entries of a page are, both exclusive."""
    low, high = SEQ_BOUNDS
    if cut.mark:
        before, behind = await _seqs_around(fetch, lane, cut.mark)
        low, high = (before, high) if cut.upwards else (low, behind)
    if message_filter.after is not None:
        low = max(low, await first_since(fetch, lane, message_filter.after) - 1)
    return low, high


async def first_since(fetch: Fetch, lane: int, at: float) -> int:
    """Return a sequence number before which all messages were accepted before `at`."""
    return await _first_that(fetch, lane, lambda row: row["accepted_at"] >= at - LATEST_ADD_SECONDS)


async def _seqs_around(fetch: Fetch, lane: int, message: str) -> tuple[int, int]:
    """Return the sequence numbers just before and just after `message` in the lane."""
    marked = await fetch(SQL["page_deliveries_to_mark"], lane, message)
    if marked:
        return marked[0]["seq"], marked[0]["seq"]
    later = await _first_that(fetch, lane, lambda row: row["message"] > message)
    return later - 1, later


async def _first_that(fetch: Fetch, lane: int, satisfies: Callable[[rows.Row], bool]) -> int:
    """Return the sequence number of the first delivery in the lane that satisfies a condition."""
    last = await fetch(SQL["page_deliveries_to_last"], lane)
    search = BinarySearch(last[0]["seq"] if last else 0)
    while (middle := search.middle) is not None:
        near_rows = await fetch(SQL["page_deliveries_to_near"], lane, middle)
        search.answer(middle, yes=not near_rows or satisfies(near_rows[0]))
    return search.first
