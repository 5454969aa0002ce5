"""Where in a lane something is: numbers grow with time, so it is found by halving."""

from collections.abc import Callable
from typing import Protocol

from tarry.service.model.listing import Cut, MessageFilter
from tarry.service.store.pieces import LATE, NUMBERS, Halving
from tarry.service.store.postgres import rows
from tarry.service.store.postgres.queries import SQL


class Fetch(Protocol):
    """Asks the database, by itself or within a transaction."""

    async def __call__(self, query: str, /, *arguments: object) -> list[rows.Row]:
        """The rows of an answer."""


async def span(fetch: Fetch, lane: int, cut: Cut, wanted: MessageFilter) -> tuple[int, int]:
    """The numbers of a lane between which a page is."""
    low, high = NUMBERS
    if cut.mark:
        before, behind = await _place(fetch, lane, cut.mark)
        low, high = (before, high) if cut.upwards else (low, behind)
    if wanted.after is not None:
        low = max(low, await first_since(fetch, lane, wanted.after) - 1)
    return low, high


async def first_since(fetch: Fetch, lane: int, at: float) -> int:
    """A number that what was accepted from a time on does not begin before."""
    return await _first(fetch, lane, lambda near: near["accepted_at"] >= at - LATE)


async def _place(fetch: Fetch, lane: int, message: str) -> tuple[int, int]:
    """The numbers that what is before a message ends and what is behind it begins with."""
    found = await fetch(SQL["list_deliveries_to_mark"], lane, message)
    if found:
        return found[0]["seq"], found[0]["seq"]
    later = await _first(fetch, lane, lambda near: near["message"] > message)
    return later - 1, later


async def _first(fetch: Fetch, lane: int, yes: Callable[[rows.Row], bool]) -> int:
    """The number that a lane's deliveries begin with of which something is so."""
    last = await fetch(SQL["list_deliveries_to_last"], lane)
    search = Halving(last[0]["seq"] if last else 0)
    while (middle := search.middle) is not None:
        near = await fetch(SQL["list_deliveries_to_near"], lane, middle)
        search.tell(middle, yes=not near or yes(near[0]))
    return search.first
