"""The topic `expire` notices stores that break its rules."""

from collections.abc import Callable

import pytest

from tarry.service.store.memory import queue
from tarry.testing.store_contract.expire import ExpireContract

Try = Callable[..., None]


def test_a_store_to_which_the_scheduled_is_old_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    try_on(ExpireContract, "test_what_is_scheduled_ages_from_its_time_on")
    monkeypatch.setattr(queue, "_scheduled", lambda *_: False)
    with pytest.raises(AssertionError):
        try_on(ExpireContract, "test_what_is_scheduled_ages_from_its_time_on")
