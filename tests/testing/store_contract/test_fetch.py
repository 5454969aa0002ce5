"""The topic `fetch` notices stores that break its rules."""

from collections.abc import Callable

import pytest

from tarry.service.store.memory.lane import Lane
from tarry.testing.store_contract.fetch import FetchContract

Try = Callable[..., None]


def test_a_store_that_does_not_tell_the_next_due_time_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    try_on(FetchContract, "test_the_waiting_stream_comes_with_the_next_due_time")
    monkeypatch.setattr(Lane, "next_due_at", lambda *_: None)
    with pytest.raises(AssertionError):
        try_on(FetchContract, "test_the_waiting_stream_comes_with_the_next_due_time")


def test_a_store_that_begins_anew_is_noticed(try_on: Try, monkeypatch: pytest.MonkeyPatch) -> None:
    try_on(FetchContract, "test_ready_deliveries_are_fetched_by_number_between_two_bounds")
    monkeypatch.setattr(Lane, "ready_between", lambda self, *_: iter(self.deliveries.values()))
    with pytest.raises(AssertionError):
        try_on(FetchContract, "test_ready_deliveries_are_fetched_by_number_between_two_bounds")
