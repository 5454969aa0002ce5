"""The topic `fanout` notices stores that break its rules."""

from collections.abc import Callable

import pytest

from tarry.service.model.endpoint import Endpoint
from tarry.testing.store_contract.fanout import FanoutContract

Try = Callable[..., None]


def test_a_store_that_gives_everybody_everything_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    try_on(FanoutContract, "test_endpoints_choose_by_event_type")
    monkeypatch.setattr(Endpoint, "wants", lambda *_: True)
    with pytest.raises(AssertionError):
        try_on(FanoutContract, "test_endpoints_choose_by_event_type")
