"""The topic `bulk` notices stores that break its rules."""

from collections.abc import Callable

import pytest

from tarry.service.model.replay import Fate, ReplayFilter
from tarry.service.store.memory import MemoryStore
from tarry.testing.store_contract.bulk import BulkContract

Try = Callable[..., None]


def test_a_store_that_replays_what_is_not_wanted_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "test_messages_are_replayed_by_the_state_of_their_deliveries"
    parameters = {"fate": Fate.FAIL, "replayed": {"failed"}}
    try_on(BulkContract, name, **parameters)
    monkeypatch.setattr(ReplayFilter, "fits", lambda *_: True)
    with pytest.raises(AssertionError):
        try_on(BulkContract, name, **parameters)


def test_a_store_that_lets_anybody_purge_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "test_a_purge_needs_the_lease_of_its_application"
    try_on(BulkContract, name)
    monkeypatch.setattr(MemoryStore, "_holds", lambda *_: True)
    with pytest.raises(AssertionError):
        try_on(BulkContract, name)
