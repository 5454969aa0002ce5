"""A list is searched in pieces, and the search finds every row that fits."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.service.model.listing import MOST_CHECKED, Cut
from tarry.service.store.paged_search import (
    COUNTED_ROWS,
    MOST_ROWS,
    BinarySearch,
    Row,
    count_rows,
    search_page,
)


class Rows:
    """Numbers from 1 on, of which every `every`-th fits."""

    def __init__(self, many: int, every: int, *, upwards: bool) -> None:
        self.rows: list[Row] = [(number, number % every == 0, 0) for number in range(1, many + 1)]
        self.upwards = upwards
        self.pieces: list[int] = []

    async def ask(self, low: int, high: int, most: int) -> list[Row]:
        self.pieces.append(most)
        between = [row for row in self.rows if low < row[0] < high]
        return (between if self.upwards else between[::-1])[:most]


@given(
    many=st.integers(0, 200),
    every=st.integers(1, 60),
    limit=st.integers(1, 20),
    back=st.booleans(),
    descending=st.booleans(),
)
def test_a_page_has_what_fits_wherever_it_is(
    *, many: int, every: int, limit: int, back: bool, descending: bool
) -> None:
    cut = Cut(limit=limit, back=back, descending=descending)
    rows = Rows(many, every, upwards=cut.upwards)
    hits, last = asyncio.run(search_page(rows.ask, 0, many + 1, cut))
    whole = sorted((number for number, fits, _ in rows.rows if fits), reverse=descending)
    assert [row[0] for row in hits] == (whole[-limit:] if back else whole[:limit])
    assert last is None


def test_what_all_fits_is_asked_for_once() -> None:
    rows = Rows(1000, 1, upwards=True)
    asyncio.run(search_page(rows.ask, 0, 10_000, Cut(limit=50)))
    assert rows.pieces == [50]


def test_where_nothing_fits_pieces_grow_to_a_bound() -> None:
    rows = Rows(5 * MOST_ROWS, 10**9, upwards=True)
    assert asyncio.run(search_page(rows.ask, 0, 10**6, Cut(limit=50))) == ([], None)
    assert rows.pieces[:4] == [50, 200, 800, MOST_ROWS]
    assert max(rows.pieces) == MOST_ROWS


@given(
    many=st.integers(0, 200),
    every=st.integers(1, 60),
    limit=st.integers(1, 20),
    look=st.integers(1, 250),
    upwards=st.booleans(),
)
def test_no_more_is_looked_at_than_may_be(
    *, many: int, every: int, limit: int, look: int, upwards: bool
) -> None:
    rows = Rows(many, every, upwards=upwards)
    cut = Cut(limit=limit, descending=not upwards, look=look)
    hits, last = asyncio.run(search_page(rows.ask, 0, many + 1, cut))
    assert sum(rows.pieces) <= look
    ordered = rows.rows if upwards else rows.rows[::-1]
    fitting = [row for row in ordered[:look] if row[1]]
    assert hits == fitting[:limit]
    assert last == (ordered[look - 1] if len(fitting) < limit and many >= look else None)


def test_a_page_of_a_long_list_is_left_in_the_end() -> None:
    rows = Rows(MOST_CHECKED + 1, 10**9, upwards=True)
    hits, last = asyncio.run(search_page(rows.ask, 0, 10**6, Cut()))
    assert (hits, last) == ([], (MOST_CHECKED, False, 0))
    assert sum(rows.pieces) == MOST_CHECKED


@pytest.mark.parametrize("many", [0, 1, COUNTED_ROWS - 1, COUNTED_ROWS, 2 * COUNTED_ROWS + 1])
def test_everything_is_counted_once(many: int) -> None:
    async def read_counts(low: int, most: int) -> list[tuple[bool, int, int, int]]:
        numbers = range(low + 1, min(low + most, many) + 1)
        split = {odd: [number for number in numbers if number % 2 == odd] for odd in (False, True)}
        return [(odd, len(group), len(group), group[-1]) for odd, group in split.items() if group]

    counts = asyncio.run(count_rows(read_counts, 0))
    assert (counts[True], counts[False]) == ((many + 1) // 2, many // 2)


@given(last=st.integers(0, 500), first=st.integers(1, 501))
def test_halving_finds_the_first_yes_soon(last: int, first: int) -> None:
    search = BinarySearch(last)
    answers = 0
    while (middle := search.middle) is not None:
        answers += 1
        search.answer(middle, yes=middle >= first)
    assert search.first == min(first, last + 1)
    assert answers <= last.bit_length() + 1
