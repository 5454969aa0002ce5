from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.window import SHORTEST, SLICES, Counts, Window, slot_end, slot_of, span
from tarry.errors import PolicyError

WINDOW = 10.0

slots = st.integers(0, 60) | st.integers(0, 10**9)
counts = st.tuples(st.integers(0, 9), st.integers(0, 9))


def test_a_window_has_twenty_slices_and_keeps_one_more() -> None:
    assert SLICES == 20
    window = Window()
    for slot in range(100, 150):
        window = window.add(slot, (1,))
    assert (window.newest, len(window.slices)) == (149, 21)


def test_an_empty_window_counts_nothing() -> None:
    assert Window().sums(7, SLICES, 3) == (0, 0, 0)
    assert Window().sums(0, SLICES, 1) == (0,)
    assert Window() == Window(newest=0, slices=())


def test_counts_of_one_slice_add_up() -> None:
    window = Window().add(5, (1, 0)).add(5, (2, 4))
    assert window.newest == 5
    assert window.slices[-1] == (3, 4)
    assert window.sums(5, 1, 2) == (3, 4)


def test_adding_makes_a_new_window_and_leaves_the_old() -> None:
    before = Window().add(5, (1,))
    assert before.add(5, (1,)) != before
    assert before == Window().add(5, (1,))


@pytest.mark.parametrize(
    ("slot", "slices", "counted"),
    [
        (5, 1, 1),
        (6, 1, 0),
        (6, 2, 1),
        (24, 20, 1),
        (25, 20, 0),
        (25, 21, 1),
        (26, 21, 0),
        (10_000, 21, 0),
    ],
)
def test_a_count_is_seen_until_its_slice_is_too_old(slot: int, slices: int, counted: int) -> None:
    assert Window().add(5, (1,)).sums(slot, slices, 1) == (counted,)


def test_looking_does_not_move_the_window() -> None:
    window = Window().add(5, (1,))
    window.sums(1_000, SLICES, 1)
    assert window.sums(5, SLICES, 1) == (1,)


def test_a_late_count_joins_the_newest_slice() -> None:
    window = Window().add(9, (1,)).add(3, (10,))
    assert window.newest == 9
    assert window.slices[-1] == (11,)


def test_counts_of_another_kind_are_refused() -> None:
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        Window().add(5, (1, 2)).add(5, (1,))
    with pytest.raises(ValueError, match="argument 2 is longer"):
        Window(5, ((1,), (1, 2))).sums(5, 2, 1)


def test_a_gap_is_filled_with_empty_slices() -> None:
    window = Window().add(1, (1,)).add(4, (2,))
    assert window.slices == ((1,), (0,), (0,), (2,))


def test_the_first_slice_may_be_number_zero() -> None:
    assert Window().add(0, (1,)) == Window(0, ((1,),))


@given(st.lists(st.tuples(slots, counts)), slots, st.integers(1, SLICES + 1))
def test_a_window_counts_what_a_list_of_everything_would(
    added: list[tuple[int, Counts]], ahead: int, slices: int
) -> None:
    window, newest, everything = Window(), 0, list[tuple[int, Counts]]()
    for slot, some in added:
        window = window.add(slot, some)
        newest = max(newest, slot)
        everything.append((newest, some))
    now = newest + ahead
    seen = [some for slot, some in everything if slot > now - slices]
    assert window.sums(now, slices, 2) == tuple(
        sum(part) for part in zip((0, 0), *seen, strict=True)
    )
    assert len(window.slices) <= SLICES + 1


@given(st.lists(st.floats(0, 7), min_size=1, max_size=60), st.floats(0, 12))
def test_twenty_slices_stay_inside_the_true_window_and_one_more_covers_it(
    steps: list[float], last: float
) -> None:
    now, times, window = 1_000.0, list[float](), Window()
    for step in steps:
        now += step
        times.append(now)
        window = window.add(slot_of(now, WINDOW), (1,))
    now += last
    truly = sum(now - WINDOW < time <= now for time in times)
    slot = slot_of(now, WINDOW)
    (least,), (most,) = window.sums(slot, SLICES, 1), window.sums(slot, SLICES + 1, 1)
    assert least <= truly <= most
    shorter = sum(now - WINDOW * (1 - 1 / SLICES) < time for time in times)
    longer = sum(now - WINDOW * (1 + 1 / SLICES) <= time for time in times)
    assert shorter <= least
    assert most <= longer


@pytest.mark.parametrize(
    ("now", "slot", "end"), [(0.0, 0, 0.5), (0.49, 0, 0.5), (0.5, 1, 1.0), (99.99, 199, 100.0)]
)
def test_a_slice_is_a_twentieth_of_the_window(now: float, slot: int, end: float) -> None:
    assert slot_of(now, WINDOW) == slot
    assert slot_end(slot, WINDOW) == end


@given(st.floats(0, 1e9), st.floats(SHORTEST, 1e9))
def test_every_moment_has_a_slice_that_ends_after_it(now: float, window: float) -> None:
    slot = slot_of(now, window)
    assert slot_end(slot, window) >= now * (1 - 1e-12)
    assert slot_end(slot - 1, window) <= now * (1 + 1e-12)


@pytest.mark.parametrize(
    ("given", "seconds"),
    [(10, 10.0), (0.001, 0.001), (1e9, 1e9), (timedelta(minutes=1), 60.0)],
)
def test_a_window_is_a_number_of_seconds(given: float, seconds: float) -> None:
    found = span("ratio.window", given)
    assert found == seconds
    assert isinstance(found, float)


@pytest.mark.parametrize("given", [0, 0.000_999, 5e-324, -1, 1.1e9, float("nan"), "10", None, True])
def test_no_window_is_shorter_than_a_clock_can_tell(given: float) -> None:
    with pytest.raises(PolicyError) as caught:
        span("ratio.window", given)
    assert (caught.value.field, caught.value.wanted) == (
        "ratio.window",
        "a number of seconds from 0.001 to 1,000,000,000",
    )
    assert caught.value.value is given
