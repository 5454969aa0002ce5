"""How a page is cut out of a list, and which ids lie in a span of time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.service.model.ids import MESSAGE, made_at, make, moment
from tarry.service.model.listing import (
    FIRST,
    LAST,
    AttemptFilter,
    Cut,
    DeliveryFilter,
    MessageFilter,
)
from tarry.testing.samples import NOON, a_due, a_message, an_attempt

ORDERS = [(back, descending) for back in (False, True) for descending in (False, True)]


@pytest.mark.parametrize(("back", "descending"), ORDERS)
def test_a_page_is_what_the_list_has_behind_or_before_the_mark(
    *, back: bool, descending: bool
) -> None:
    ids = sorted("abcdefg", reverse=descending)
    cut = Cut(limit=2, mark="d", back=back, descending=descending)
    low, high = cut.between(FIRST, LAST)
    way = sorted((one for one in ids if low < one < high), reverse=not cut.upwards)
    assert cut.in_order(way) == (ids[1:3] if back else ids[4:6])


@pytest.mark.parametrize(("back", "descending"), ORDERS)
def test_a_mark_beyond_a_span_changes_nothing(*, back: bool, descending: bool) -> None:
    cut = Cut(mark="a" if back == descending else "z", back=back, descending=descending)
    assert cut.between("d", "f") == ("d", "f")
    assert Cut(back=back, descending=descending).between("d", "f") == ("d", "f")


@given(since=st.integers(0, 10**13), length=st.integers(0, 5), other=st.integers(-5, 10))
def test_a_span_has_the_ids_of_its_milliseconds(since: int, length: int, other: int) -> None:
    wanted = MessageFilter(after=since / 1000, before=(since + length) / 1000)
    low, high = wanted.span(MESSAGE)
    known = make(MESSAGE, now=max(0, since + other) / 1000 + 5e-5, entropy=bytes(19))
    assert (low < known < high) == (since <= round(made_at(known) * 1000) < since + length)


def test_without_an_instant_a_span_has_no_end() -> None:
    assert MessageFilter().span(MESSAGE) == (FIRST, LAST)
    assert MessageFilter(after=NOON).span(MESSAGE) == (MESSAGE + moment(NOON), LAST)
    assert FIRST < MESSAGE < LAST


def test_a_filter_that_names_nothing_takes_all() -> None:
    message, due = a_message("app_1"), a_due()
    assert MessageFilter().fits(message)
    assert AttemptFilter().fits(an_attempt(due), message)
    assert DeliveryFilter().message == MessageFilter()


@pytest.mark.parametrize(
    ("status", "hundred"), [(None, 0), (200, 200), (299, 200), (404, 400), (503, 500)]
)
def test_an_attempt_is_of_its_status_hundred(status: int | None, hundred: int) -> None:
    attempt, message = an_attempt(a_due(), status=status), a_message("app_1")
    fitting = [
        one
        for one in (0, 100, 200, 300, 400, 500)
        if AttemptFilter(status_class=one).fits(attempt, message)
    ]
    assert fitting == [hundred]
