"""The topic `settle` notices stores that break its rules."""

from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace

from tarry.service.model.attempt import Settlement
from tarry.service.model.lane import Lease
from tarry.service.store.memory.data import Data
from tarry.service.store.memory.queue import MemoryQueue
from tarry.testing.store_contract.settle import SettleContract

Try = Callable[..., None]


def test_a_store_that_believes_every_lease_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    try_on(SettleContract, "test_a_stale_lease_changes_nothing", how="taken")
    monkeypatch.setattr(Data, "holds", lambda *_: True)
    with pytest.raises(AssertionError):
        try_on(SettleContract, "test_a_stale_lease_changes_nothing", how="taken")


def test_a_store_that_does_not_look_at_tries_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    try_on(SettleContract, "test_a_delivery_that_was_tried_meanwhile_is_not_settled")
    right = MemoryQueue._settle  # noqa: SLF001  it is to be spoilt

    def careless(self: MemoryQueue, settlement: Settlement, leases: Sequence[Lease]) -> bool:
        delivery = self._data.lanes[settlement.lane].deliveries[settlement.seq]
        return right(self, replace(settlement, tries=delivery.tries), leases)

    monkeypatch.setattr(MemoryQueue, "_settle", careless)
    with pytest.raises(AssertionError):
        try_on(SettleContract, "test_a_delivery_that_was_tried_meanwhile_is_not_settled")
