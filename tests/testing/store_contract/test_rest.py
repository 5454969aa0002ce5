"""The topic `rest` notices stores that break its rules."""

from collections.abc import Callable

import pytest

from tarry.service.store.memory.data import Data
from tarry.service.store.memory.lane import Lane
from tarry.testing.store_contract.rest import RestContract

Try = Callable[..., None]


def test_a_store_that_lets_busy_lanes_rest_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    try_on(RestContract, "test_a_lane_with_something_to_send_stays_awake")
    monkeypatch.setattr(Lane, "idle", True)
    with pytest.raises(AssertionError):
        try_on(RestContract, "test_a_lane_with_something_to_send_stays_awake")


def test_a_store_that_wakes_nobody_is_noticed(try_on: Try, monkeypatch: pytest.MonkeyPatch) -> None:
    try_on(RestContract, "test_a_delivery_wakes_a_lane_at_rest_once")
    monkeypatch.setattr(Data, "wake_if_resting", lambda *_: None)
    with pytest.raises(AssertionError):
        try_on(RestContract, "test_a_delivery_wakes_a_lane_at_rest_once")
