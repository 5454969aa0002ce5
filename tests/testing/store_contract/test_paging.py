"""The topic `paging` notices stores that break its rules."""

from collections.abc import Callable

import pytest

from tarry.service.model.lane import Notice
from tarry.service.store.kinds import Notices
from tarry.service.store.memory import MemoryStore
from tarry.testing.store_contract.paging import PagingContract

Try = Callable[..., None]


def test_a_store_that_gives_the_first_page_again_is_noticed(try_on: Try) -> None:
    class Stuck(MemoryStore):
        async def _notices(self, query: Notices) -> list[Notice]:
            notices = await super()._notices(Notices(limit=100))
            return [notice for notice in notices if notice.id >= query.after][: query.limit]

    try_on(PagingContract, "test_notices_by_id")
    with pytest.raises(AssertionError):
        try_on(PagingContract, "test_notices_by_id", Stuck)
