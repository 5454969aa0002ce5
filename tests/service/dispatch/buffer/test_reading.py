"""How far a stream was read: the rows at hand, the place behind them, and whether that is all."""

from tarry.service.dispatch.buffer.reading import EMPTY, UNREAD, Reading
from tarry.service.model.lane import Stream
from tarry.testing.samples import NOON, a_due

FIRST, SECOND, THIRD = (a_due(seq=seq, due_at=NOON + seq) for seq in (1, 2, 3))


def test_it_goes_on_behind_what_was_found_also_if_that_was_not_kept() -> None:
    read = UNREAD.on([FIRST, SECOND], (FIRST,), all_read=False)
    assert read.rows == (FIRST,)
    want = read.want(7, Stream.WAITING, 5)
    assert (want.lane, want.limit, want.due_after, want.after) == (7, 5, NOON + 2, 2)
    more = read.on([THIRD], (THIRD,), all_read=True)
    assert (more.rows, more.seq) == ((FIRST, THIRD), 3)


def test_its_place_stays_if_nothing_was_found() -> None:
    read = UNREAD.on([FIRST], (FIRST,), all_read=False).on([], (), all_read=True)
    assert (read.rows, read.seq, read.all_read) == ((FIRST,), 1, True)


def test_it_wants_more_if_there_is_room_and_may_be_more() -> None:
    read = UNREAD.on([FIRST, SECOND], (FIRST, SECOND), all_read=False)
    assert read.wants(3)
    assert not read.wants(2)
    ended = read.on([], (), all_read=True)
    assert not ended.wants(3)
    assert ended.again().wants(3)
    assert read.again() is read


def test_rows_are_taken_from_the_front_and_come_back_there() -> None:
    read = UNREAD.on([FIRST, SECOND], (FIRST, SECOND), all_read=True)
    row, left = read.first()
    assert (row, left.rows, left.seq, left.all_read) == (FIRST, (SECOND,), 2, True)
    assert left.back(row) == read
    assert read.without(1) == left


def test_two_streams_become_one_that_goes_on_where_the_later_did() -> None:
    backlog = UNREAD.on([FIRST], (FIRST,), all_read=True)
    fresh = Reading(seq=2).on([THIRD], (THIRD,), all_read=False)
    both = fresh.behind(backlog)
    assert (both.rows, both.seq, both.all_read) == ((FIRST, THIRD), 3, False)


def test_all_streams_with_nothing_in_them_are_one_and_the_same() -> None:
    assert UNREAD.on([], (), all_read=True) is EMPTY
