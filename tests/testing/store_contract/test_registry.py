"""The topic `registry` notices stores that break its rules."""

from collections.abc import Callable, Sequence

import pytest

from tarry.service.model.lane import Notice
from tarry.service.store.memory import MemoryStore
from tarry.testing.store_contract.registry import RegistryContract

Try = Callable[..., None]


class Chatty(MemoryStore):
    """Tells again what it is told again."""

    async def add_notices(self, notices: Sequence[Notice]) -> None:
        self._data.told.difference_update(notice.id for notice in notices)
        await super().add_notices(notices)


def test_a_store_that_tells_twice_is_noticed(try_on: Try) -> None:
    name = "test_what_is_put_on_record_once_more_was_told_all_the_same"
    try_on(RegistryContract, name)
    with pytest.raises(AssertionError):
        try_on(RegistryContract, name, Chatty)
