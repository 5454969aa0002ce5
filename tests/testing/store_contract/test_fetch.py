"""The topic `fetch` notices stores that break its rules."""

from collections.abc import Callable

import pytest

from tarry.service.store.memory.lane import Lane
from tarry.testing.store_contract.fetch import FetchContract

Try = Callable[..., None]


def test_a_store_that_does_not_tell_the_next_due_time_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    try_on(FetchContract, "test_the_next_due_time_is_told_to_whoever_asks_for_what_is_due")
    monkeypatch.setattr(Lane, "next_due_at", lambda *_: None)
    with pytest.raises(AssertionError):
        try_on(FetchContract, "test_the_next_due_time_is_told_to_whoever_asks_for_what_is_due")


def test_a_store_that_begins_anew_is_noticed(try_on: Try, monkeypatch: pytest.MonkeyPatch) -> None:
    try_on(FetchContract, "test_what_is_ready_comes_by_number_between_two")
    monkeypatch.setattr(Lane, "ready_between", lambda self, *_: iter(self.deliveries.values()))
    with pytest.raises(AssertionError):
        try_on(FetchContract, "test_what_is_ready_comes_by_number_between_two")
