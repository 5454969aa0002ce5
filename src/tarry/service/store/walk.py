"""Walk through whole lists, page by page, for work that needs all of something."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, TypeVar

from tarry.service.model.listing import Cut

PAGE = 250
"""Entries that are read at once."""


class Listed(Protocol):
    """Whatever has an id that its list is by."""

    @property
    def id(self) -> str:
        """Its id."""


Thing = TypeVar("Thing", bound=Listed)


async def walk(ask: Callable[[Cut], Awaitable[list[Thing]]]) -> AsyncIterator[Thing]:
    """Everything that a list holds, as far as it was there when its page was read."""
    found = await ask(Cut(PAGE))
    while found:
        for one in found:
            yield one
        found = await ask(Cut(PAGE, found[-1].id)) if len(found) == PAGE else []
