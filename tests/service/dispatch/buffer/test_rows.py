"""Rows in memory: how far a stream was read, who waits for a moment, how many bytes that is."""

import math

from hypothesis import given
from hypothesis import strategies as st

from tarry.service.dispatch.buffer.rows import (
    EMPTY,
    MOST_MOMENTS,
    NO_MOMENTS,
    UNREAD,
    Moments,
    PayloadBytes,
    Reading,
)
from tarry.service.model.lane import Stream
from tarry.testing.samples import NOON, a_due

# --- One stream, as far as it was read ----------------------------------------------------------

FIRST, SECOND, THIRD = (a_due(seq=seq, due_at=NOON + seq) for seq in (1, 2, 3))


def test_it_goes_on_behind_what_was_found_also_if_that_was_not_kept() -> None:
    read = UNREAD.read_on([FIRST, SECOND], (FIRST,), all_read=False)
    assert read.rows == (FIRST,)
    want = read.want(7, Stream.WAITING, 5)
    assert (want.lane, want.limit, want.due_after, want.after) == (7, 5, NOON + 2, 2)
    more = read.read_on([THIRD], (THIRD,), all_read=True)
    assert (more.rows, more.seq) == ((FIRST, THIRD), 3)


def test_its_place_stays_if_nothing_was_found() -> None:
    read = UNREAD.read_on([FIRST], (FIRST,), all_read=False).read_on([], (), all_read=True)
    assert (read.rows, read.seq, read.all_read) == ((FIRST,), 1, True)


def test_it_wants_more_if_there_is_room_and_may_be_more() -> None:
    read = UNREAD.read_on([FIRST, SECOND], (FIRST, SECOND), all_read=False)
    assert read.wants(3)
    assert not read.wants(2)
    ended = read.read_on([], (), all_read=True)
    assert not ended.wants(3)
    assert ended.reopened().wants(3)
    assert read.reopened() is read


def test_rows_are_taken_from_the_front_and_come_back_there() -> None:
    read = UNREAD.read_on([FIRST, SECOND], (FIRST, SECOND), all_read=True)
    row, left = read.first()
    assert (row, left.rows, left.seq, left.all_read) == (FIRST, (SECOND,), 2, True)
    assert left.put_back(row) == read
    assert read.without(1) == left


def test_two_streams_become_one_that_goes_on_where_the_later_did() -> None:
    backlog = UNREAD.read_on([FIRST], (FIRST,), all_read=True)
    fresh = Reading(seq=2).read_on([THIRD], (THIRD,), all_read=False)
    both = fresh.with_older(backlog)
    assert (both.rows, both.seq, both.all_read) == ((FIRST, THIRD), 3, False)


def test_all_streams_with_nothing_in_them_are_one_and_the_same() -> None:
    assert UNREAD.read_on([], (), all_read=True) is EMPTY


# --- Rows that wait for their moment ------------------------------------------------------------


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
    moments = waiting_for(*[NOON] * MOST_MOMENTS)
    assert moments.full
    assert not moments.first()[1].full


def test_of_what_was_forgotten_the_moment_is_known_until_it_is_read_again() -> None:
    moments = waiting_for(NOON + 1, NOON + 2).forget()
    assert moments.waiting == ()
    first, second = ((seq, a_due(seq=seq).message) for seq in (1, 2))
    assert moments.known == {first: NOON + 1, second: NOON + 2}
    moments = moments.recall({first, (2, "msg_other")})
    assert moments.known == {second: NOON + 2}
    assert moments.recall({second}) is NO_MOMENTS


def test_moments_of_rows_that_never_come_again_are_forgotten_in_the_end() -> None:
    moments = NO_MOMENTS
    for seq in range(10 * MOST_MOMENTS):
        moments = moments.add(a_due(seq=seq), NOON).forget()
        assert len(moments.known) <= MOST_MOMENTS + 1
    assert NO_MOMENTS.forget() is NO_MOMENTS


# --- The bytes of all rows ----------------------------------------------------------------------


def test_what_came_and_left_is_in_memory_no_more() -> None:
    count = PayloadBytes()
    count.add(10)
    count.add(5)
    count.remove(10)
    assert count.bytes == 5
