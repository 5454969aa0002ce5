"""The topic `looks` notices stores that break its rules."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tarry.service.model.listing import Cut, Found, MessageFilter
from tarry.service.model.message import Message
from tarry.service.store.memory import MemoryStore
from tarry.testing.store_contract.looks import LooksContract

Try = Callable[..., None]

TEST = "test_matching_messages_are_found_page_by_page"


class Endless(MemoryStore):
    """Ignores the search limit."""

    async def _page_messages(
        self, application: str, cut: Cut, message_filter: MessageFilter
    ) -> Found[Message]:
        return await super()._page_messages(application, replace(cut, look=10**9), message_filter)


class Short(MemoryStore):
    """Reports the end of the list when it reaches the search limit."""

    async def _page_messages(
        self, application: str, cut: Cut, message_filter: MessageFilter
    ) -> Found[Message]:
        return Found((await super()._page_messages(application, cut, message_filter)).entries)


class Hasty(MemoryStore):
    """Stops after each entry."""

    async def _page_messages(
        self, application: str, cut: Cut, message_filter: MessageFilter
    ) -> Found[Message]:
        return await super()._page_messages(application, replace(cut, look=1), message_filter)


class Careless(MemoryStore):
    """Reports a wrong entry as the one where it stopped."""

    async def _page_messages(
        self, application: str, cut: Cut, message_filter: MessageFilter
    ) -> Found[Message]:
        page = await super()._page_messages(application, cut, message_filter)
        return page if page.left_at is None else replace(page, left_at=page.left_at + "~")


@pytest.mark.parametrize("spoilt", [Endless, Short, Hasty, Careless])
def test_a_store_that_looks_otherwise_than_it_is_told_is_noticed(
    try_on: Try, spoilt: type[MemoryStore]
) -> None:
    try_on(LooksContract, TEST)
    with pytest.raises(AssertionError):
        try_on(LooksContract, TEST, spoilt)
