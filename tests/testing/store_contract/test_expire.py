"""The topic `expire` notices stores that break its rules."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tarry.service.model.delivery import Delivery
from tarry.service.model.message import Message
from tarry.service.store.memory import ingest
from tarry.service.store.memory.lane import Lane
from tarry.testing.store_contract.expire import ExpireContract

Try = Callable[..., None]


def test_a_store_to_which_the_scheduled_is_old_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = ingest._delivery  # noqa: SLF001  spoilt on purpose

    def old_at_birth(message: Message, lane: Lane) -> Delivery:
        return replace(create(message, lane), accepted_at=message.accepted_at)

    try_on(ExpireContract, "test_scheduled_deliveries_age_from_their_due_time_on")
    monkeypatch.setattr(ingest, "_delivery", old_at_birth)
    with pytest.raises(AssertionError):
        try_on(ExpireContract, "test_scheduled_deliveries_age_from_their_due_time_on")
