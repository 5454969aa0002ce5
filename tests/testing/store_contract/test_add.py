"""The topic `add` notices stores that break its rules."""

from collections.abc import Callable

import pytest

from tarry.service.model.delivery import Delivery
from tarry.service.store.memory import ingest
from tarry.testing.samples import NOON
from tarry.testing.store_contract.add import AddContract

Try = Callable[..., None]


def test_a_store_that_sends_too_early_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    try_on(AddContract, "test_a_message_waits_for_its_time")
    monkeypatch.setattr(
        ingest,
        "_delivery",
        lambda message, lane: Delivery(
            lane=lane.number, seq=lane.added + 1, message=message.id, accepted_at=NOON
        ),
    )
    with pytest.raises(AssertionError):
        try_on(AddContract, "test_a_message_waits_for_its_time")


def test_a_store_that_takes_more_than_may_wait_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    try_on(AddContract, "test_a_full_backlog_is_one_application_s_own")
    monkeypatch.setattr(ingest.MemoryIngest, "_backlog_full", lambda *_: None)
    with pytest.raises(AssertionError):
        try_on(AddContract, "test_a_full_backlog_is_one_application_s_own")
