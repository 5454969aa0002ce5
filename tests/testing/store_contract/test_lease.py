"""The topic `lease` notices stores that break its rules."""

from collections.abc import Callable

import pytest

from tarry.service.store.memory.data import Data
from tarry.testing.store_contract.lease import LeaseContract

Try = Callable[..., None]


def test_a_store_that_renews_a_lease_after_somebody_took_the_shard_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    try_on(LeaseContract, "test_an_expired_lease_can_be_renewed_until_its_shard_is_taken")
    monkeypatch.setattr(Data, "holds", lambda *_: True)
    with pytest.raises(AssertionError):
        try_on(LeaseContract, "test_an_expired_lease_can_be_renewed_until_its_shard_is_taken")
