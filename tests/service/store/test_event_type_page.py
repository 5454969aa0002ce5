"""The page of a list of event types."""

from tarry.service.model.listing import Cut, Found
from tarry.service.store.event_type_page import page_of_event_types
from tarry.testing.samples import an_event_type

LONG = [an_event_type(name, schemas="x" * 10) for name in "abc"]


def test_a_page_ends_before_it_has_too_many_bytes_but_has_one_entry() -> None:
    assert page_of_event_types(LONG, Cut(9, most_bytes=20)) == Found(LONG[:2], "b")
    assert page_of_event_types(LONG, Cut(9, most_bytes=9)) == Found(LONG[:1], "a")
    assert page_of_event_types(LONG, Cut(9, most_bytes=30)) == Found(LONG)


def test_a_page_that_is_full_ends_nowhere_early() -> None:
    assert page_of_event_types(LONG, Cut(2, most_bytes=20)) == Found(LONG[:2])
    assert page_of_event_types([], Cut(2, most_bytes=20)) == Found([])


def test_a_page_before_a_mark_is_in_the_order_of_the_list() -> None:
    assert page_of_event_types(LONG, Cut(9, back=True, most_bytes=20)) == Found(LONG[1::-1], "b")
