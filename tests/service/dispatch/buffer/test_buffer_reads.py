"""What a lane asks its store for, and what it keeps of the answers."""

import pytest

from tarry.core.pace import Phase
from tarry.service.dispatch.buffer.buffer import Buffer
from tarry.service.dispatch.buffer.rows import MOST_MOMENTS, PayloadBytes
from tarry.service.model.lane import Due, Fetched, Stream, Want
from tarry.testing.samples import NOON, a_due


@pytest.fixture
def buffer() -> Buffer:
    return Buffer(1, PayloadBytes(), fifo=False)


def rows(*seqs: int, stream: Stream = Stream.READY, due_at: float | None = None) -> list[Due]:
    return [a_due(seq=seq, stream=stream, due_at=due_at) for seq in seqs]


def wants(
    buffer: Buffer, *streams: Stream, room: int = 8, phase: Phase = Phase.CLOSED
) -> list[Want]:
    """What it asks for of some streams."""
    return [want for want in buffer.wants(room, NOON, phase) if want.stream in streams]


def take(
    buffer: Buffer, want: Want, found: list[Due], *, cut: bool = False, added: int = 0
) -> None:
    buffer.take(want, found, cut=cut, fetched=Fetched([], {}, {1: added}, {}))


def test_the_read_position_moves_only_when_the_ready_rows_were_read_to_the_end(
    buffer: Buffer,
) -> None:
    (ready,) = wants(buffer, Stream.READY)
    take(buffer, ready, rows(1, 2), cut=True, added=9)
    assert buffer.read_to == 0
    (due,) = wants(buffer, Stream.WAITING)
    take(buffer, due, [], added=9)
    assert buffer.read_to == 0, "this fetch did not look for ready rows"
    (on,) = wants(buffer, Stream.READY)
    take(buffer, on, rows(3), added=9)
    assert buffer.read_to == 9
    buffer.rewind()
    assert buffer.read_to == 0


def test_the_backlog_alone_does_not_move_the_read_position(buffer: Buffer) -> None:
    buffer.set_fresh_after(added=20)
    backlog, fresh = wants(buffer, Stream.READY)
    take(buffer, backlog, rows(1), added=22)
    assert buffer.read_to == 0
    take(buffer, fresh, rows(21, 22), added=22)
    assert buffer.read_to == 22


def test_at_first_it_asks_for_all_but_what_is_not_due(buffer: Buffer) -> None:
    asked = [want.stream for want in buffer.wants(8, NOON, Phase.CLOSED)]
    assert asked == [Stream.RESEND, Stream.READY, Stream.WAITING]
    assert not buffer.all_read()


def test_it_is_all_read_when_each_brought_less_than_it_asked_for(buffer: Buffer) -> None:
    for want in buffer.wants(8, NOON, Phase.CLOSED):
        assert not buffer.all_read()
        take(buffer, want, [])
    assert buffer.all_read()
    assert buffer.wants(8, NOON, Phase.CLOSED) == []
    buffer.read_on()
    assert [want.stream for want in buffer.wants(8, NOON, Phase.CLOSED)] == [Stream.READY]


@pytest.mark.parametrize("cut", [False, True])
def test_what_was_cut_short_is_read_on_from_there(buffer: Buffer, cut: bool) -> None:  # noqa: FBT001  a parameter
    (want,) = wants(buffer, Stream.READY)
    take(buffer, want, rows(1, 2), cut=cut)
    assert [again.after for again in wants(buffer, Stream.READY)] == ([2] if cut else [])


def test_after_an_outage_it_asks_for_the_backlog_and_for_what_is_fresh(buffer: Buffer) -> None:
    buffer.set_fresh_after(added=20)
    backlog, fresh = wants(buffer, Stream.READY)
    assert (backlog.after, backlog.before) == (0, 21)
    assert (fresh.after, fresh.before) == (20, None)
    take(buffer, fresh, rows(21), cut=True)
    take(buffer, backlog, [])
    (one,) = wants(buffer, Stream.READY)
    assert (one.after, one.before) == (21, None)


def test_it_asks_for_what_is_not_due_only_if_a_probe_has_nothing_else(buffer: Buffer) -> None:
    (want,) = wants(buffer, Stream.READY)
    assert not wants(buffer, Stream.EARLY, phase=Phase.OPEN)
    take(buffer, want, [])
    assert wants(buffer, Stream.EARLY, phase=Phase.OPEN)
    assert not wants(buffer, Stream.EARLY)


def test_it_asks_for_a_retry_at_the_very_instant_when_that_is_due(buffer: Buffer) -> None:
    for want in buffer.wants(8, NOON, Phase.CLOSED):
        take(buffer, want, [])
    buffer.note_due_at(NOON + 10)
    assert buffer.wants(8, NOON + 9.9, Phase.CLOSED) == []
    asked = [want.stream for want in buffer.wants(8, NOON + 10, Phase.CLOSED)]
    assert asked == [Stream.WAITING]


def test_an_ordered_lane_asks_once_for_the_head_that_waits() -> None:
    buffer = Buffer(1, PayloadBytes(), fifo=True)
    (early,) = wants(buffer, Stream.EARLY)
    take(buffer, early, rows(1, stream=Stream.EARLY, due_at=NOON + 10))
    assert not wants(buffer, Stream.EARLY)


def test_resends_behind_many_that_are_known_are_not_asked_for_over_and_over(buffer: Buffer) -> None:
    (want,) = wants(buffer, Stream.RESEND)
    first = [a_due(stream=Stream.RESEND, seq=0, resend=f"r{n}") for n in range(want.limit)]
    take(buffer, want, first)
    (again,) = wants(buffer, Stream.RESEND)
    take(buffer, again, first)
    assert wants(buffer, Stream.RESEND) == []
    buffer.forget_rows()  # as when one of them is settled
    assert wants(buffer, Stream.RESEND) == [want]


@pytest.mark.parametrize("heard", [(10,), (10, 20), (20, 10)])
def test_what_is_heard_of_while_the_store_is_asked_is_not_forgotten(
    buffer: Buffer, heard: tuple[float, ...]
) -> None:
    (want,) = wants(buffer, Stream.WAITING)
    for seconds in heard:
        buffer.note_due_at(NOON + seconds)
    take(buffer, want, [])
    assert buffer.next_due_at == NOON + 10


def test_payloads_are_accounted_for_as_long_as_they_are_in_memory() -> None:
    buffered = PayloadBytes()
    buffer = Buffer(1, buffered, fifo=False)
    (want,) = wants(buffer, Stream.READY)
    found = rows(1, 2)
    take(buffer, want, found)
    buffer.send_at(a_due(seq=3), NOON + 1)
    assert buffered.bytes == 3 * len(found[0].payload or b"")
    buffer.forget_rows()
    assert buffered.bytes == 0


def test_more_than_can_wait_for_a_moment_is_found_again_by_a_rewind(buffer: Buffer) -> None:
    for seq in range(1, MOST_MOMENTS + 11):
        buffer.mark_busy(a_due(seq=seq))
        buffer.send_at(a_due(seq=seq), NOON + 1)
    assert list(buffer.busy) == list(range(1, MOST_MOMENTS + 1))
