"""The topic `listing` notices stores that break its rules."""

from collections.abc import Callable

import pytest

from tarry.service.model.listing import Cut, MessageFilter
from tarry.testing.store_contract.listing import ListingContract

Try = Callable[..., None]


@pytest.mark.parametrize(
    ("name", "value", "test"),
    [
        (
            "upwards",
            property(lambda cut: not cut.descending),
            "test_endpoints_are_listed_without_deleted_and_foreign_ones",
        ),
        (
            "upwards",
            property(lambda cut: not cut.back),
            "test_messages_are_listed_without_swept_and_foreign_ones",
        ),
        (
            "between",
            lambda _, low, high: (low, high),
            "test_applications_are_listed_without_deleted_and_foreign_ones",
        ),
        (
            "in_order",
            lambda cut, entries: entries[: cut.limit],
            "test_tasks_are_listed_also_of_applications_that_were_deleted",
        ),
    ],
)
def test_a_page_that_is_cut_wrongly_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch, name: str, value: object, test: str
) -> None:
    try_on(ListingContract, test)
    monkeypatch.setattr(Cut, name, value)
    with pytest.raises(AssertionError):
        try_on(ListingContract, test)


@pytest.mark.parametrize(
    "test",
    [
        "test_messages_are_chosen_by_channel_tag_and_type_of_event",
        "test_a_word_is_looked_for_as_it_is_and_whole",
        "test_matching_messages_are_found_behind_many_that_do_not_match",
    ],
)
def test_a_filter_that_takes_all_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch, test: str
) -> None:
    try_on(ListingContract, test)
    monkeypatch.setattr(MessageFilter, "fits", lambda *_: True)
    with pytest.raises(AssertionError):
        try_on(ListingContract, test)


def test_a_filter_that_takes_all_times_is_noticed(
    try_on: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = "test_messages_of_a_span_of_time_begin_with_its_first_millisecond"
    try_on(ListingContract, test)
    monkeypatch.setattr(MessageFilter, "span", lambda *_: ("", "~"))
    with pytest.raises(AssertionError):
        try_on(ListingContract, test)
