"""Iterate over a whole list, page by page, for work that needs all entries."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, TypeVar

from tarry.service.model.listing import Cut, Found

PAGE_SIZE = 250
"""Entries of a page."""


class Listed(Protocol):
    """An entry of a list that is sorted by id."""

    @property
    def id(self) -> str:
        """Its id."""


Entry = TypeVar("Entry", bound=Listed)


async def all_pages(read_page: Callable[[Cut], Awaitable[Found[Entry]]]) -> AsyncIterator[Entry]:
    """Yield all entries of a list, as they are when their page is read."""
    entries = (await read_page(Cut(PAGE_SIZE))).entries
    while entries:
        for entry in entries:
            yield entry
        last = len(entries) < PAGE_SIZE
        entries = [] if last else (await read_page(Cut(PAGE_SIZE, entries[-1].id))).entries
