"""The topic `listing` notices stores that break its rules."""

from collections.abc import Callable

import pytest

from tarry.service.model.listing import AttemptFilter, Cut, DeliveryFilter, MessageFilter
from tarry.service.store.memory import MemoryStore
from tarry.testing.store_contract.listing import ListingContract

Try = Callable[..., None]

TESTS = [name for name in dir(ListingContract) if name.startswith("test_")]


@pytest.mark.parametrize("name", TESTS)
def test_the_memory_store_keeps_each_rule(try_on: Try, name: str) -> None:
    try_on(ListingContract, name)


@pytest.mark.parametrize(
    ("name", "value", "test"),
    [
        ("upwards", property(lambda cut: not cut.descending), "test_endpoints_are_listed_without"),
        ("upwards", property(lambda cut: not cut.back), "test_messages_are_listed_without"),
        ("between", lambda _, low, high: (low, high), "test_applications_are_listed_without"),
        ("in_order", lambda cut, found: found[: cut.limit], "test_tasks_are_listed_also"),
        ("in_order", lambda cut, found: found[:: -1 if cut.back else 1], "test_attempts_are_lis"),
    ],
)
def test_a_page_that_is_cut_wrongly_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch, name: str, value: object, test: str
) -> None:
    monkeypatch.setattr(Cut, name, value)
    (found,) = [one for one in TESTS if one.startswith(test)]
    with pytest.raises(AssertionError):
        try_on(ListingContract, found)


@pytest.mark.parametrize(
    ("kind", "test"),
    [
        (MessageFilter, "test_messages_are_chosen_by_channel_tag_and_type_of_event"),
        (DeliveryFilter, "test_deliveries_are_chosen_by_state_and_whether_they_were_tried"),
        (AttemptFilter, "test_attempts_are_chosen_by_what_came_of_them_and_their_messages"),
    ],
)
def test_a_filter_that_takes_all_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch, kind: type, test: str
) -> None:
    monkeypatch.setattr(kind, "fits", lambda *_: True)
    with pytest.raises(AssertionError):
        try_on(ListingContract, test)


def test_a_store_that_keeps_what_it_should_forget_is_noticed(try_on: Try) -> None:
    class Keeps(MemoryStore):
        async def expunge_attempt(self, message: str, attempt: str) -> None:
            await self.attempt(message, attempt)

    with pytest.raises(AssertionError):
        try_on(ListingContract, "test_what_an_endpoint_answered_can_be_forgotten", Keeps)
