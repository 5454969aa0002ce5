"""What a lane asks its store for, and what it keeps of the answers."""

import pytest

from tarry.core.pace import Phase
from tarry.service.dispatch.buffer.intake import Buffered, Intake
from tarry.service.dispatch.buffer.moments import MOST
from tarry.service.model.lane import Due, Fetched, Stream, Want
from tarry.testing.samples import NOON, a_due


@pytest.fixture
def intake() -> Intake:
    return Intake(1, Buffered(), fifo=False)


def rows(*seqs: int, stream: Stream = Stream.READY, due_at: float | None = None) -> list[Due]:
    return [a_due(seq=seq, stream=stream, due_at=due_at) for seq in seqs]


def wants(
    intake: Intake, *buffer: Stream, room: int = 8, phase: Phase = Phase.CLOSED
) -> list[Want]:
    """What it asks for of some buffer."""
    return [want for want in intake.wants(room, NOON, phase) if want.stream in buffer]


def take(
    intake: Intake, want: Want, found: list[Due], *, cut: bool = False, added: int = 0
) -> None:
    intake.take(want, found, now=NOON, cut=cut, fetched=Fetched([], {}, {1: added}, {}))


def test_the_read_position_moves_only_when_the_ready_rows_were_read_to_the_end(
    intake: Intake,
) -> None:
    (ready,) = wants(intake, Stream.READY)
    take(intake, ready, rows(1, 2), cut=True, added=9)
    assert intake.read_to == 0
    (due,) = wants(intake, Stream.WAITING)
    take(intake, due, [], added=9)
    assert intake.read_to == 0, "this fetch did not look for ready rows"
    (on,) = wants(intake, Stream.READY)
    take(intake, on, rows(3), added=9)
    assert intake.read_to == 9
    intake.rewind()
    assert intake.read_to == 0


def test_the_backlog_alone_does_not_move_the_read_position(intake: Intake) -> None:
    intake.came_back(added=20)
    backlog, fresh = wants(intake, Stream.READY)
    take(intake, backlog, rows(1), added=22)
    assert intake.read_to == 0
    take(intake, fresh, rows(21, 22), added=22)
    assert intake.read_to == 22


def test_at_first_it_asks_for_all_but_what_is_not_due(intake: Intake) -> None:
    asked = [want.stream for want in intake.wants(8, NOON, Phase.CLOSED)]
    assert asked == [Stream.RESEND, Stream.READY, Stream.WAITING]
    assert not intake.all_read()


def test_it_is_all_read_when_each_brought_less_than_it_asked_for(intake: Intake) -> None:
    for want in intake.wants(8, NOON, Phase.CLOSED):
        assert not intake.all_read()
        take(intake, want, [])
    assert intake.all_read()
    assert intake.wants(8, NOON, Phase.CLOSED) == []
    intake.read_on()
    assert [want.stream for want in intake.wants(8, NOON, Phase.CLOSED)] == [Stream.READY]


@pytest.mark.parametrize("cut", [False, True])
def test_what_was_cut_short_is_read_on_from_there(intake: Intake, cut: bool) -> None:  # noqa: FBT001  a parameter
    (want,) = wants(intake, Stream.READY)
    take(intake, want, rows(1, 2), cut=cut)
    assert [again.after for again in wants(intake, Stream.READY)] == ([2] if cut else [])


def test_after_an_outage_it_asks_for_the_backlog_and_for_what_is_fresh(intake: Intake) -> None:
    intake.came_back(added=20)
    backlog, fresh = wants(intake, Stream.READY)
    assert (backlog.after, backlog.before) == (0, 21)
    assert (fresh.after, fresh.before) == (20, None)
    take(intake, fresh, rows(21), cut=True)
    take(intake, backlog, [])
    (one,) = wants(intake, Stream.READY)
    assert (one.after, one.before) == (21, None)


def test_it_asks_for_what_is_not_due_only_if_a_probe_has_nothing_else(intake: Intake) -> None:
    (want,) = wants(intake, Stream.READY)
    assert not wants(intake, Stream.EARLY, phase=Phase.OPEN)
    take(intake, want, [])
    assert wants(intake, Stream.EARLY, phase=Phase.OPEN)
    assert not wants(intake, Stream.EARLY)


def test_resends_behind_many_that_are_known_are_not_asked_for_over_and_over(intake: Intake) -> None:
    (want,) = wants(intake, Stream.RESEND)
    first = [a_due(stream=Stream.RESEND, seq=0, resend=f"r{n}") for n in range(want.limit)]
    take(intake, want, first)
    (again,) = wants(intake, Stream.RESEND)
    take(intake, again, first)
    assert wants(intake, Stream.RESEND) == []
    intake.changed()  # as when one of them is settled
    assert wants(intake, Stream.RESEND) == [want]


def test_what_is_heard_of_while_the_store_is_asked_is_not_forgotten(intake: Intake) -> None:
    (want,) = wants(intake, Stream.WAITING)
    intake.due_at(NOON + 10)
    take(intake, want, [])
    assert intake.next_due_at == NOON + 10


def test_payloads_are_accounted_for_as_long_as_they_are_in_memory() -> None:
    buffered = Buffered()
    intake = Intake(1, buffered, fifo=False)
    (want,) = wants(intake, Stream.READY)
    found = rows(1, 2)
    take(intake, want, found)
    intake.later(a_due(seq=3), NOON + 1)
    assert buffered.bytes == 3 * len(found[0].payload or b"")
    intake.changed()
    assert buffered.bytes == 0


def test_more_than_can_wait_for_a_moment_is_found_again_by_a_rewind(intake: Intake) -> None:
    for seq in range(1, MOST + 11):
        intake.is_busy(seq)
        intake.later(a_due(seq=seq), NOON + 1)
    assert list(intake.busy) == list(range(1, MOST + 1))
