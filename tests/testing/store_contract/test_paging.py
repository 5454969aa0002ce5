"""The topic `paging` notices stores that break its rules."""

from collections.abc import Callable

import pytest

from tarry.service.model.lane import Notice
from tarry.service.store.memory import MemoryStore
from tarry.testing.store_contract.paging import PagingContract

Try = Callable[..., None]


def test_a_store_that_gives_the_first_page_again_is_noticed(try_on: Try) -> None:
    class Stuck(MemoryStore):
        async def notices(self, *, after: str = "", limit: int = 50) -> list[Notice]:
            found = await super().notices(limit=100)
            return [one for one in found if one.id >= after][:limit]

    try_on(PagingContract, "test_notices_by_id")
    with pytest.raises(AssertionError):
        try_on(PagingContract, "test_notices_by_id", Stuck)
