"""The topic `deliveries` notices stores that break its rules."""

from collections.abc import Callable

import pytest

from tarry.service.model.delivery import Delivery
from tarry.service.model.listing import Cut, DeliveryFilter
from tarry.service.store.memory import listing
from tarry.testing.store_contract.deliveries import DeliveriesContract

Try = Callable[..., None]


@pytest.mark.parametrize(
    "test",
    [
        "test_deliveries_are_chosen_by_state_and_whether_they_were_tried",
        "test_deliveries_are_chosen_by_their_messages",
    ],
)
def test_a_filter_that_takes_all_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch, test: str
) -> None:
    try_on(DeliveriesContract, test)
    monkeypatch.setattr(DeliveryFilter, "fits", lambda *_: True)
    with pytest.raises(AssertionError):
        try_on(DeliveriesContract, test)


@pytest.mark.parametrize(
    "test",
    [
        "test_deliveries_are_listed_with_their_messages",
        "test_a_mark_whose_delivery_was_swept_is_taken_by_its_time",
        "test_deliveries_come_in_the_order_of_their_lane",
    ],
)
def test_a_list_by_id_is_noticed(try_on: Try, monkeypatch: pytest.MonkeyPatch, test: str) -> None:
    def behind(placed: list[Delivery], cut: Cut) -> list[Delivery]:
        return [delivery for delivery in placed if not cut.mark or delivery.message > cut.mark]

    try_on(DeliveriesContract, test)
    monkeypatch.setattr(listing, "_after_mark", behind)
    with pytest.raises(AssertionError):
        try_on(DeliveriesContract, test)
