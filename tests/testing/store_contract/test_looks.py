"""The topic `looks` notices stores that break its rules."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tarry.service.model.listing import Cut, Found, MessageFilter
from tarry.service.model.message import Message
from tarry.service.store.memory import MemoryStore
from tarry.testing.store_contract.looks import LooksContract

Try = Callable[..., None]

TEST = "test_what_is_wanted_of_messages_is_found_look_by_look"


class Endless(MemoryStore):
    """Looks on until it has enough."""

    async def _page_messages(
        self, application: str, cut: Cut, wanted: MessageFilter
    ) -> Found[Message]:
        return await super()._page_messages(application, replace(cut, look=10**9), wanted)


class Short(MemoryStore):
    """Says that there is nothing more when it has looked enough."""

    async def _page_messages(
        self, application: str, cut: Cut, wanted: MessageFilter
    ) -> Found[Message]:
        return Found((await super()._page_messages(application, cut, wanted)).entries)


class Hasty(MemoryStore):
    """Leaves after each entry."""

    async def _page_messages(
        self, application: str, cut: Cut, wanted: MessageFilter
    ) -> Found[Message]:
        return await super()._page_messages(application, replace(cut, look=1), wanted)


class Careless(MemoryStore):
    """Goes on behind the end, wherever that is."""

    async def _page_messages(
        self, application: str, cut: Cut, wanted: MessageFilter
    ) -> Found[Message]:
        found = await super()._page_messages(application, cut, wanted)
        return found if found.left_at is None else replace(found, left_at=found.left_at + "~")


@pytest.mark.parametrize("spoilt", [Endless, Short, Hasty, Careless])
def test_a_store_that_looks_otherwise_than_it_is_told_is_noticed(
    try_on: Try, spoilt: type[MemoryStore]
) -> None:
    try_on(LooksContract, TEST)
    with pytest.raises(AssertionError):
        try_on(LooksContract, TEST, spoilt)
