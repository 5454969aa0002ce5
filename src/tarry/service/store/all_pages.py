"""Iterate over a whole list, page by page, for work that needs all entries."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, TypeVar

from tarry.service.model.listing import Cut, Found

PAGE = 250
"""Entries of a page."""


class Listed(Protocol):
    """An entry of a list that is sorted by id."""

    @property
    def id(self) -> str:
        """Its id."""


Thing = TypeVar("Thing", bound=Listed)


async def all_pages(ask: Callable[[Cut], Awaitable[Found[Thing]]]) -> AsyncIterator[Thing]:
    """Yield all entries of a list, as they are when their page is read."""
    entries = (await ask(Cut(PAGE))).entries
    while entries:
        for entry in entries:
            yield entry
        last = len(entries) < PAGE
        entries = [] if last else (await ask(Cut(PAGE, entries[-1].id))).entries
