"""Iterate over a whole list, page by page, for work that needs all entries."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, TypeVar

from tarry.service.model.listing import Cut

PAGE = 250
"""Entries of a page."""


class Listed(Protocol):
    """An entry of a list that is sorted by id."""

    @property
    def id(self) -> str:
        """Its id."""


Thing = TypeVar("Thing", bound=Listed)


async def all_pages(ask: Callable[[Cut], Awaitable[list[Thing]]]) -> AsyncIterator[Thing]:
    """Yield all entries of a list, as they are when their page is read."""
    found = await ask(Cut(PAGE))
    while found:
        for one in found:
            yield one
        found = await ask(Cut(PAGE, found[-1].id)) if len(found) == PAGE else []
