"""The topic `notices` notices stores that break its rules."""

from collections.abc import Callable

import pytest

from tarry.service.model.audit import Action
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.lane import Noting
from tarry.service.store.memory import MemoryStore
from tarry.testing.store_contract.notices import NoticesContract

Try = Callable[..., None]


class Chatty(MemoryStore):
    """Sends a notice again when it is saved again."""

    def _save_notices(
        self, noting: Noting | None, before: Endpoint | None, after: Endpoint
    ) -> None:
        self._data.sent.clear()
        super()._save_notices(noting, before, after)


class Hasty(MemoryStore):
    """Saves the notice before the change, which may be refused."""

    async def _put_endpoint(
        self,
        endpoint: Endpoint,
        *,
        by: Action | None = None,
        noting: Noting | None = None,
        most: int | None = None,
    ) -> Endpoint:
        self._save_notices(noting, None, endpoint)
        return await super()._put_endpoint(endpoint, by=by, most=most)


def test_a_store_that_tells_twice_is_noticed(try_on: Try) -> None:
    name = "test_a_notice_that_is_saved_again_stays_marked_as_sent"
    try_on(NoticesContract, name)
    with pytest.raises(AssertionError):
        try_on(NoticesContract, name, Chatty)


def test_a_store_that_tells_of_what_it_refused_is_noticed(try_on: Try) -> None:
    name = "test_a_refused_change_saves_no_notice"
    try_on(NoticesContract, name)
    with pytest.raises(AssertionError):
        try_on(NoticesContract, name, Hasty)
