"""The topic `attempts` notices stores that break its rules."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tarry.service.model.attempt import Attempt
from tarry.service.model.audit import Action, attempt_target
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.listing import AttemptFilter, Cut, Found
from tarry.service.store.memory import MemoryStore
from tarry.testing.store_contract.attempts import AttemptsContract

Try = Callable[..., None]


def test_a_page_that_is_too_long_is_noticed(try_on: Try) -> None:
    class Long(MemoryStore):
        async def _page_attempts_of(
            self, message: str, cut: Cut, attempt_filter: AttemptFilter
        ) -> Found[tuple[Attempt, Endpoint]]:
            longer = replace(cut, limit=cut.limit + 1)
            return await super()._page_attempts_of(message, longer, attempt_filter)

    test = "test_attempts_are_listed_by_endpoint_and_by_message"
    try_on(AttemptsContract, test)
    with pytest.raises(AssertionError):
        try_on(AttemptsContract, test, Long)


def test_a_filter_that_takes_all_is_noticed(try_on: Try, monkeypatch: pytest.MonkeyPatch) -> None:
    test = "test_attempts_are_filtered_by_their_outcomes_and_messages"
    try_on(AttemptsContract, test)
    monkeypatch.setattr(AttemptFilter, "fits", lambda *_: True)
    with pytest.raises(AssertionError):
        try_on(AttemptsContract, test)


def test_an_attempt_that_is_found_by_any_message_is_noticed(try_on: Try) -> None:
    class Any(MemoryStore):
        async def _attempt(self, message: str, attempt: str) -> tuple[Attempt, Endpoint]:
            for message_id in (message, *self._data.attempts):
                for row in self._data.attempts.get(message_id, ()):
                    if row.id == attempt:
                        return row, self._data.lanes[row.lane].endpoint
            return await super()._attempt(message, attempt)

    test = "test_one_attempt_is_found_by_its_message"
    try_on(AttemptsContract, test)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        try_on(AttemptsContract, test, Any)


def test_a_store_that_keeps_what_it_should_forget_is_noticed(try_on: Try) -> None:
    class Keeps(MemoryStore):
        async def _expunge_attempt(
            self, message: str, attempt: str, *, by: Action | None = None
        ) -> None:
            await self._attempt(message, attempt)
            self._data.write_entry(by, attempt_target("app_1", attempt))

    test = "test_the_stored_response_of_an_attempt_can_be_expunged"
    try_on(AttemptsContract, test)
    with pytest.raises(AssertionError):
        try_on(AttemptsContract, test, Keeps)
