"""Deliveries that wait for a moment: the first goes first, and a moment is not forgotten."""

import math

from hypothesis import given
from hypothesis import strategies as st

from tarry.service.dispatch.buffer.moments import MOST, NO_MOMENTS, Moments
from tarry.testing.samples import NOON, a_due


def waiting_for(*instants: float) -> Moments:
    """Rows that wait, in the order of their sequence numbers."""
    moments = NO_MOMENTS
    for seq, at in enumerate(instants, start=1):
        moments = moments.add(a_due(seq=seq), at)
    return moments


@given(st.lists(st.floats(0, 100)))
def test_whoever_may_go_first_is_the_first_and_of_the_same_instant_the_oldest(
    instants: list[float],
) -> None:
    moments, gone = waiting_for(*instants), []
    while moments.waiting:
        at = moments.next_at
        row, moments = moments.first()
        gone.append((at, row.seq))
    assert gone == sorted(zip(instants, range(1, len(instants) + 1), strict=True))
    assert moments is NO_MOMENTS
    assert moments.next_at == math.inf


def test_so_many_wait_and_no_more() -> None:
    moments = waiting_for(*[NOON] * MOST)
    assert moments.full
    assert not moments.first()[1].full


def test_of_what_was_forgotten_the_moment_is_known_until_it_is_read_again() -> None:
    moments = waiting_for(NOON + 1, NOON + 2).forget()
    assert moments.waiting == ()
    assert moments.known == {1: NOON + 1, 2: NOON + 2}
    moments = moments.recall({1, 7})
    assert moments.known == {2: NOON + 2}
    assert moments.recall({2}) is NO_MOMENTS


def test_moments_of_rows_that_never_come_again_are_forgotten_in_the_end() -> None:
    moments = NO_MOMENTS
    for seq in range(10 * MOST):
        moments = moments.add(a_due(seq=seq), NOON).forget()
        assert len(moments.known) <= MOST + 1
    assert NO_MOMENTS.forget() is NO_MOMENTS
