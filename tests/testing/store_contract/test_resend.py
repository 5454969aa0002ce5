"""The topic `resend` notices stores that break its rules."""

from collections.abc import Callable

import pytest

from tarry.service.store.memory import queue
from tarry.testing.store_contract.resend import ResendContract

Try = Callable[..., None]


def test_a_store_that_resends_in_any_order_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    try_on(ResendContract, "test_resends_come_in_the_order_of_asking")
    monkeypatch.setattr(queue, "sorted", lambda names: list(names)[::-1], raising=False)
    with pytest.raises(AssertionError):
        try_on(ResendContract, "test_resends_come_in_the_order_of_asking")
