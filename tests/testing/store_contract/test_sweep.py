"""The topic `sweep` notices stores that break its rules."""

from collections.abc import Callable

import pytest

from tarry.service.store.memory.data import Data
from tarry.testing.store_contract.sweep import MESSAGES, SweepContract

Try = Callable[..., None]


def test_a_store_that_sweeps_what_waits_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    try_on(SweepContract, "test_messages_with_live_deliveries_are_not_swept", retention=MESSAGES)
    monkeypatch.setattr(Data, "has_ended", lambda *_: True)
    with pytest.raises(AssertionError):
        try_on(
            SweepContract, "test_messages_with_live_deliveries_are_not_swept", retention=MESSAGES
        )
