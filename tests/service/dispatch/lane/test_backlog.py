"""What waits in a lane: how many, and whether there is more to read than is in memory."""

from msgspec.structs import replace

from tarry.core.pace import Phase
from tarry.service.dispatch.buffer.rows import PayloadBytes
from tarry.service.dispatch.lane.backlog import Backlog
from tarry.service.model.lane import Fetched, LaneRow, Stream
from tarry.testing.samples import NOON, an_application, an_endpoint


def a_backlog(added: int, ended: int = 0) -> tuple[Backlog, LaneRow]:
    application = an_application()
    endpoint = an_endpoint(application, lane=7)
    row = LaneRow(application=application, endpoint=endpoint, added=added, ended=ended)
    return Backlog(row, PayloadBytes()), row


def test_those_wait_that_were_added_and_neither_ended_nor_are_on_their_way() -> None:
    backlog, _ = a_backlog(added=10, ended=3)
    assert backlog.waiting(0) == 7
    assert backlog.waiting(2) == 5
    backlog.count_ended()
    backlog.count_ended(2)
    assert backlog.waiting(0) == 4
    backlog.all_ended()
    assert backlog.waiting(0) == 0


def test_there_are_never_fewer_than_none() -> None:
    backlog, _ = a_backlog(added=1, ended=1)
    assert backlog.waiting(1) == 0


def test_the_store_says_how_many_were_added_and_an_older_answer_takes_none_back() -> None:
    backlog, _ = a_backlog(added=5)
    backlog.ask()
    backlog.fetched(8)
    backlog.fetched(6)
    assert (backlog.asking, backlog.waiting(0)) == (False, 8)


def test_a_change_takes_over_the_counts_and_wakes_it() -> None:
    backlog, row = a_backlog(added=5)
    backlog.fall_asleep()
    turn = backlog.buffer.rewinds
    backlog.reload(replace(row, added=7, ended=6))
    assert (backlog.waiting(0), backlog.asleep) == (1, False)
    assert backlog.buffer.rewinds > turn, "all is read again"


def test_what_waits_for_times_of_its_own_presses_nobody() -> None:
    backlog, row = a_backlog(added=5)
    assert backlog.pressing(0) == 5, "nothing is read yet"
    for want in backlog.buffer.wants(8, NOON, Phase.CLOSED):
        backlog.buffer.take(want, [], cut=False, fetched=Fetched([], {}, {}, {}))
    backlog.buffer.note_due_at(NOON + 60)
    assert backlog.pressing(0) == 0
    backlog.mark_fresh()
    assert backlog.pressing(0) == 5
    backlog.set_mark(None)
    backlog.ask()
    assert backlog.pressing(0) == 5
    assert row.lane == backlog.buffer.lane


def test_with_a_mark_what_is_added_from_then_on_is_read_apart() -> None:
    backlog, _ = a_backlog(added=5)
    backlog.mark_fresh()
    backlog.set_mark(20)
    assert not backlog.marks_fresh, "once is enough"
    wants = [
        want for want in backlog.buffer.wants(8, NOON, Phase.PACED) if want.stream is Stream.READY
    ]
    assert [(want.after, want.before) for want in wants] == [(0, 21), (20, None)]
