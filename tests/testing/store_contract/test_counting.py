"""The topic `counting` notices stores that break its rules."""

from collections.abc import Callable

import pytest

from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.listing import MessageFilter
from tarry.service.store.memory import MemoryStore
from tarry.testing.store_contract.counting import CountingContract

Try = Callable[..., None]


def test_a_count_of_all_times_is_noticed(try_on: Try, monkeypatch: pytest.MonkeyPatch) -> None:
    test = "test_attempts_are_counted_by_whether_they_succeeded"
    try_on(CountingContract, test)
    monkeypatch.setattr(MessageFilter, "span", lambda *_: ("", "~"))
    with pytest.raises(AssertionError):
        try_on(CountingContract, test)


def test_deliveries_that_are_counted_too_late_are_noticed(try_on: Try) -> None:
    class Late(MemoryStore):
        async def count_deliveries(
            self, endpoint: Endpoint, *, since: float, until: float
        ) -> dict[tuple[State, bool], int]:
            return await super().count_deliveries(endpoint, since=since, until=until + 1)

    test = "test_deliveries_are_counted_by_state_and_whether_they_were_tried"
    try_on(CountingContract, test)
    with pytest.raises(AssertionError):
        try_on(CountingContract, test, Late)
