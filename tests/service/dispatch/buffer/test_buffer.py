"""The rows of a lane in memory: each is handed out once, in order, and none is forgotten."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tarry.core.pace import Phase
from tarry.service.dispatch.buffer.buffer import Buffer
from tarry.service.dispatch.buffer.rows import MOST_MOMENTS, PayloadBytes
from tarry.service.model.lane import Due, Fetched, Stream, Want
from tarry.testing.samples import NOON, a_due


def a_row(seq: int, stream: Stream = Stream.READY, **values: object) -> Due:
    return a_due(seq=seq, stream=stream, payload=b"0123456789", accepted_at=NOON, **values)


class Source:
    """What a store would hold of the lane, and answer."""

    def __init__(self) -> None:
        self.ready: dict[int, Due] = {}
        self.waiting: dict[int, Due] = {}
        self.resends: dict[str, Due] = {}

    def feed(self, buffer: Buffer, now: float, phase: Phase, room: int = 8) -> bool:
        """Answer what is wanted; whether anything was."""
        wants = buffer.wants(room, now, phase)
        buffer.remember_busy()
        for want in wants:
            rows = self._rows(want, now)
            due = (row.due_at for row in self.waiting.values() if (row.due_at or 0.0) > now)
            next_due_at = min((at for at in due if at is not None), default=None)
            added = {1: max([*self.ready, *self.waiting], default=0)}
            next_due = {} if next_due_at is None else {1: next_due_at}
            fetched = Fetched([], next_due, added, {})
            buffer.take(want, rows[: want.limit], cut=False, fetched=fetched)
        return bool(wants)

    def _rows(self, want: Want, now: float) -> list[Due]:
        match want.stream:
            case Stream.READY:
                rows = sorted(self.ready.values(), key=lambda row: row.seq)
                behind = (row for row in rows if row.seq > want.after)
                return [row for row in behind if want.before is None or row.seq < want.before]
            case Stream.RESEND:
                return [self.resends[key] for key in sorted(self.resends)]
            case _:
                rows = sorted(self.waiting.values(), key=lambda row: (row.due_at, row.seq))
                place = (want.due_after, want.after)
                behind = (row for row in rows if ((row.due_at or 0.0), row.seq) > place)
                early = want.stream is Stream.EARLY
                return [row for row in behind if early or (row.due_at or 0.0) <= now]


def a_lane(ready: int = 0, *, fifo: bool = False) -> tuple[Buffer, Source, PayloadBytes]:
    buffered, source = PayloadBytes(), Source()
    source.ready = {seq: a_row(seq) for seq in range(1, ready + 1)}
    return Buffer(1, buffered, fifo=fifo), source, buffered


def taken(buffer: Buffer, phase: Phase = Phase.CLOSED, now: float = NOON) -> list[int]:
    """All that can be had without another question."""
    rows = []
    while (row := buffer.next(now, phase)) is not None:
        rows.append(row.seq)
    return rows


def test_rows_come_in_order_and_memory_is_accounted_for() -> None:
    buffer, source, buffered = a_lane(20)
    source.feed(buffer, NOON, Phase.CLOSED)
    assert buffered.bytes == 80
    assert buffer.at_hand(NOON) == 8
    assert taken(buffer) == list(range(1, 9))
    assert buffered.bytes == 0
    source.feed(buffer, NOON, Phase.CLOSED)
    assert taken(buffer) == list(range(9, 17))


def asked(buffer: Buffer, phase: Phase) -> list[tuple[Stream, int, int, int | None]]:
    """What a lane asks for to have eight rows: streams, limits, and between which numbers."""
    wants = buffer.wants(8, NOON, phase)
    return [(want.stream, want.limit, want.after, want.before) for want in wants]


def test_a_lane_asks_for_as_many_rows_as_it_has_room_for_and_for_some_resends() -> None:
    buffer, source, _ = a_lane(20)
    resends, due = (Stream.RESEND, 16, 0, None), (Stream.WAITING, 8, 0, None)
    assert asked(buffer, Phase.CLOSED) == [resends, (Stream.READY, 8, 0, None), due]
    buffer.set_fresh_after(added=5)
    backlog, fresh = (Stream.READY, 8, 0, 6), (Stream.READY, 8, 5, None)
    assert asked(buffer, Phase.PACED) == [resends, backlog, fresh, due]
    assert asked(buffer, Phase.OPEN) == [resends, backlog, due]  # the other one for the next probe
    source.feed(buffer, NOON, Phase.PACED)
    assert asked(buffer, Phase.PACED) == []
    ordered, *_ = a_lane(fifo=True)
    assert (Stream.EARLY, 16, 0, None) in asked(ordered, Phase.CLOSED)


def test_a_probe_asks_for_a_row_that_is_not_due_only_if_there_is_no_other() -> None:
    buffer, source, _ = a_lane(1)
    early = (Stream.EARLY, 8, 0, None)
    assert early not in asked(buffer, Phase.OPEN)
    source.feed(buffer, NOON, Phase.OPEN)
    assert early not in asked(buffer, Phase.OPEN)
    assert taken(buffer, Phase.OPEN) == [1]
    assert asked(buffer, Phase.OPEN) == [early]
    assert asked(buffer, Phase.CLOSED) == []


def test_new_deliveries_go_before_the_backlog_while_the_lane_is_closed() -> None:
    buffer, source, _ = a_lane(6)
    buffer.set_fresh_after(added=4)
    source.feed(buffer, NOON, Phase.PACED, room=2)
    assert taken(buffer) == [5, 6, 1, 2]


def test_the_head_of_an_ordered_lane_that_waits_may_go_as_a_probe() -> None:
    buffer, source, _ = a_lane(2, fifo=True)
    source.feed(buffer, NOON, Phase.CLOSED)
    head = buffer.next(NOON, Phase.CLOSED)
    assert head is not None
    buffer.send_at(head, NOON + 30)
    assert not buffer.has_ripe_or_probe(NOON, Phase.CLOSED)
    assert buffer.next(NOON, Phase.CLOSED) is None
    assert buffer.has_ripe_or_probe(NOON, Phase.OPEN)
    assert buffer.next(NOON, Phase.OPEN) == head


def test_what_is_on_its_way_is_not_had_again_by_a_rewind() -> None:
    buffer, source, _ = a_lane(4)
    source.feed(buffer, NOON, Phase.CLOSED)
    assert taken(buffer) == [1, 2, 3, 4]
    buffer.rewind()
    source.feed(buffer, NOON, Phase.CLOSED)
    assert taken(buffer) == []
    buffer.leave_behind(a_row(2))
    assert buffer.rewind_if_needed(Phase.CLOSED)
    source.feed(buffer, NOON, Phase.CLOSED)
    assert taken(buffer) == [2]


def test_a_message_with_the_number_of_one_that_a_failover_lost_goes_at_once() -> None:
    buffer, source, _ = a_lane(1)
    source.feed(buffer, NOON, Phase.CLOSED)
    lost = buffer.next(NOON, Phase.CLOSED)
    assert lost is not None
    source.ready = {1: replace(lost, message="msg_new")}
    buffer.forget_rows()
    source.feed(buffer, NOON, Phase.CLOSED)
    new = buffer.next(NOON, Phase.CLOSED)
    assert new is not None
    assert new.message == "msg_new"
    for forget in (buffer.done, buffer.leave_behind):
        forget(lost)  # its outcome was refused
        buffer.rewind()
        source.feed(buffer, NOON, Phase.CLOSED)
        assert buffer.next(NOON, Phase.CLOSED) is None, "the new one is on its way"
    buffer.done(new)
    assert not buffer.busy


@pytest.mark.parametrize("stream", ["ready", "waiting", "resends"])
def test_a_lane_with_a_row_at_hand_is_neither_idle_nor_drained(stream: str) -> None:
    buffer, source, _ = a_lane()
    if stream == "resends":
        source.resends = {"r1": a_row(0, Stream.RESEND, resend="r1")}
    else:
        setattr(source, stream, {1: a_row(1, Stream(stream), due_at=NOON)})
    while source.feed(buffer, NOON, Phase.CLOSED):
        pass
    assert buffer.all_read()
    assert not buffer.idle()
    assert not buffer.drained()


def test_a_lane_is_drained_only_when_all_was_read_and_settled_and_nothing_is_due() -> None:
    buffer, source, _ = a_lane(1)
    assert not buffer.drained()
    source.feed(buffer, NOON, Phase.CLOSED)
    row = buffer.next(NOON, Phase.CLOSED)
    assert row is not None
    assert not buffer.drained()
    source.ready.clear()
    buffer.done(row)
    assert buffer.drained()
    buffer.note_due_at(NOON + 60)
    assert not buffer.drained()
    assert buffer.next_at() == NOON + 60


def test_a_lane_is_not_idle_while_one_is_settled_that_goes_again_in_a_moment() -> None:
    buffer, source, _ = a_lane(ready=1)
    source.feed(buffer, NOON, Phase.PACED)
    row = buffer.next(NOON, Phase.PACED)
    assert row is not None
    assert buffer.idle()  # nothing is left but what is on its way
    buffer.mark_again(row)
    assert not buffer.idle()
    buffer.done(row)
    assert buffer.idle()


def test_after_an_outage_fresh_rows_and_the_backlog_take_turns() -> None:
    buffer, source, _ = a_lane(30)
    buffer.set_fresh_after(added=20)
    source.feed(buffer, NOON, Phase.PACED, room=10)
    first = [buffer.next(NOON, Phase.PACED) for _ in range(8)]
    seqs = [row.seq for row in first if row is not None]
    assert sorted(seq for seq in seqs if seq <= 20) == [1, 2, 3, 4]
    assert sorted(seq for seq in seqs if seq > 20) == [21, 22, 23, 24]


def test_when_the_backlog_is_done_all_is_one_stream_again() -> None:
    buffer, source, _ = a_lane(30)
    buffer.set_fresh_after(added=20)
    got: list[int] = []
    for _ in range(20):
        source.feed(buffer, NOON, Phase.PACED, room=4)
        got += taken(buffer, Phase.PACED)
    assert sorted(got) == list(range(1, 31))
    source.ready[31] = a_row(31)
    buffer.read_on()
    source.feed(buffer, NOON, Phase.CLOSED)
    assert taken(buffer) == [31]


def test_an_ordered_lane_knows_nothing_of_fresh_and_backlog() -> None:
    buffer, source, _ = a_lane(6, fifo=True)
    buffer.set_fresh_after(added=3)
    source.feed(buffer, NOON, Phase.PACED)
    assert taken(buffer, Phase.PACED) == [1, 2, 3, 4, 5, 6]


def test_the_head_of_an_ordered_lane_holds_up_all_others_until_it_is_due() -> None:
    buffer, source, _ = a_lane(fifo=True)
    source.waiting = {1: a_row(1, Stream.EARLY, due_at=NOON + 30)}
    source.ready = {2: a_row(2), 3: a_row(3)}
    source.feed(buffer, NOON, Phase.CLOSED)
    assert buffer.next(NOON, Phase.CLOSED) is None
    assert buffer.at_hand(NOON) == 0
    assert buffer.next_at() == NOON + 30
    head = buffer.next(NOON + 30, Phase.CLOSED)
    assert head is not None
    assert head.seq == 1


def test_the_head_of_an_ordered_lane_goes_before_a_scheduled_one_that_is_due_as_well() -> None:
    buffer, _, buffered = a_lane(fifo=True)
    head = a_row(1, Stream.WAITING, due_at=NOON - 1, tries=1)
    scheduled = a_row(3, Stream.WAITING, due_at=NOON - 2)
    rows = {Stream.READY: [a_row(2)], Stream.WAITING: [scheduled, head], Stream.EARLY: [head]}
    wants = buffer.wants(8, NOON, Phase.CLOSED)
    buffer.remember_busy()
    for want in wants:
        found = rows.get(want.stream, [])
        buffer.take(want, found, cut=False, fetched=Fetched([], {}, {1: 3}, {}))
    assert taken(buffer) == [1, 2, 3]
    assert buffered.bytes == 0


def test_a_probe_of_an_open_lane_may_take_what_is_not_due_yet() -> None:
    buffer, source, _ = a_lane()
    source.waiting = {1: a_row(1, Stream.EARLY, due_at=NOON + 900)}
    while source.feed(buffer, NOON, Phase.OPEN) and not buffer.has_ripe_or_probe(NOON, Phase.OPEN):
        pass
    assert buffer.next(NOON, Phase.PACED) is None
    row = buffer.next(NOON, Phase.OPEN)
    assert row is not None
    assert row.seq == 1


def test_what_was_read_early_and_is_due_by_now_goes_once() -> None:
    buffer, source, buffered = a_lane()
    source.waiting = {1: a_row(1, Stream.EARLY, due_at=NOON + 5)}
    while source.feed(buffer, NOON, Phase.OPEN) and not buffer.has_ripe_or_probe(NOON, Phase.OPEN):
        pass
    source.feed(buffer, NOON + 10, Phase.OPEN)
    assert taken(buffer, Phase.OPEN, NOON + 10) == [1]
    assert buffered.bytes == 0


def test_a_change_by_others_forgets_also_what_waits_for_its_moment() -> None:
    buffer, source, buffered = a_lane(1)
    source.feed(buffer, NOON, Phase.PACED)
    row = buffer.next(NOON, Phase.PACED)
    assert row is not None
    buffer.send_at(row, NOON + 1)
    source.ready.clear()
    buffer.forget_rows()
    source.feed(buffer, NOON + 2, Phase.PACED)
    assert taken(buffer, Phase.PACED, NOON + 2) == []
    assert (buffer.busy, buffered.bytes) == ({}, 0)


def test_what_is_still_there_after_a_change_by_others_waits_for_its_moment_all_the_same() -> None:
    buffer, source, buffered = a_lane(2)
    source.feed(buffer, NOON, Phase.PACED)
    row = buffer.next(NOON, Phase.PACED)
    assert row is not None
    buffer.send_at(row, NOON + 1)
    buffer.forget_rows()
    source.feed(buffer, NOON, Phase.PACED)
    assert taken(buffer, Phase.PACED, NOON) == [2]
    assert taken(buffer, Phase.PACED, NOON + 1) == [1]
    assert buffered.bytes == 0


def test_a_time_that_the_store_had_does_not_count_when_it_is_ready_there() -> None:
    buffer, source, buffered = a_lane(2, fifo=True)
    source.feed(buffer, NOON, Phase.CLOSED)
    row = buffer.next(NOON, Phase.CLOSED)
    assert row is not None
    buffer.send_at(replace(row, due_at=NOON + 8), NOON + 8)
    buffer.forget_rows()  # somebody asked for it at once
    source.feed(buffer, NOON, Phase.CLOSED)
    assert taken(buffer, Phase.CLOSED, NOON) == [1, 2]
    assert buffered.bytes == 0


@pytest.mark.parametrize("fifo", [False, True])
def test_what_is_given_back_waits_for_no_moment_any_more(*, fifo: bool) -> None:
    buffer, source, buffered = a_lane(2, fifo=fifo)
    source.feed(buffer, NOON, Phase.CLOSED)
    row = buffer.next(NOON, Phase.CLOSED)
    assert row is not None
    buffer.send_at(replace(row, due_at=NOON + 8), NOON + 8)
    buffer.forget_rows()  # the lane has opened
    buffer.give_back(row)
    buffer.leave_behind(row)
    source.feed(buffer, NOON, Phase.PACED)
    assert taken(buffer, Phase.PACED, NOON) == [1, 2]
    assert buffered.bytes == 0


def test_retries_that_the_budget_has_no_room_for_hold_up_nobody_else() -> None:
    buffer, source, buffered = a_lane(1)
    source.waiting = {
        seq: a_row(seq, Stream.WAITING, due_at=NOON, attempts=1)
        for seq in range(2, MOST_MOMENTS + 10)
    }
    source.feed(buffer, NOON, Phase.CLOSED, room=1000)
    went = []
    while (row := buffer.next(NOON, Phase.CLOSED)) is not None:
        if row.attempts:
            buffer.put_off(row, NOON + 1)
        else:
            went.append(row.seq)
    assert went == [1]
    assert buffer.at_hand(NOON) == 0
    assert buffer.next_at() == NOON + 1
    assert buffered.bytes == 10 * (MOST_MOMENTS + 8)
    assert len(taken(buffer, now=NOON + 1)) == MOST_MOMENTS + 8
    assert buffered.bytes == 0


def probed(buffer: Buffer, source: Source, count: int) -> list[int]:
    """Which rows go as probes, one after the other, while none of them passes."""
    seqs = []
    for _ in range(count):
        buffer.read_on()
        while (row := buffer.next(NOON, Phase.OPEN)) is None:
            buffer.rewind_if_needed(Phase.OPEN)
            source.feed(buffer, NOON, Phase.OPEN, room=1)
        seqs.append(row.seq)
        buffer.leave_behind(row)
    return seqs


def test_what_was_not_tried_yet_has_every_second_probe() -> None:
    buffer, source, _ = a_lane(20)
    source.feed(buffer, NOON, Phase.CLOSED, room=100)
    for seq in taken(buffer):
        buffer.leave_behind(a_row(seq))
    buffer.set_fresh_after(20)
    source.ready |= {21: a_row(21), 22: a_row(22)}
    assert {21, 22} <= set(probed(buffer, source, 4))
    assert set(probed(buffer, source, 60)) == set(source.ready)
    source.ready |= {seq: a_row(seq) for seq in (23, 24, 25)}
    assert {23, 24, 25} <= set(probed(buffer, source, 6))


def test_retries_that_are_not_read_yet_are_looked_at_when_there_may_be_room_for_them() -> None:
    buffer, source, _ = a_lane()
    source.waiting = {
        seq: a_row(seq, Stream.WAITING, due_at=NOON, attempts=1)
        for seq in range(1, MOST_MOMENTS + 10)
    } | {MOST_MOMENTS + 10: a_row(MOST_MOMENTS + 10, Stream.WAITING, due_at=NOON + 300, attempts=1)}
    source.feed(buffer, NOON, Phase.CLOSED, room=1000)
    while (row := buffer.next(NOON, Phase.CLOSED)) is not None:
        buffer.put_off(row, NOON + 1)
    buffer.forget_rows()
    source.feed(buffer, NOON, Phase.CLOSED, room=1000)
    assert not buffer.all_read()
    assert buffer.all_ready_read()
    assert buffer.next_at() == NOON + 1


@pytest.mark.parametrize("told_late", [False, True])
def test_a_retry_that_was_read_while_its_outcome_was_being_written_is_read_again(
    told_late: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    buffer, source, _ = a_lane(2)
    source.waiting = {3: a_row(3, Stream.WAITING, due_at=NOON + 1)}
    source.feed(buffer, NOON, Phase.CLOSED)
    assert taken(buffer) == [1, 2]
    # Both fail, and the store knows already that they are due again.
    again = [a_row(seq, Stream.WAITING, due_at=NOON + seq / 2) for seq in (1, 2)]
    source.ready, source.waiting = {}, {**source.waiting, 1: again[0], 2: again[1]}
    (want,) = buffer.wants(8, NOON + 2, Phase.CLOSED)
    buffer.remember_busy()
    rows = [again[0], again[1], source.waiting[3]]
    fetched = Fetched(rows, {}, {1: 3}, {})
    if told_late:
        buffer.take(want, rows, cut=False, fetched=fetched)
    for row in again:
        buffer.done(row)
        buffer.note_due_at(row.due_at or 0.0)
    if not told_late:
        buffer.take(want, rows, cut=False, fetched=fetched)
    assert taken(buffer, now=NOON + 2) == [3]
    for _ in range(2):
        source.feed(buffer, NOON + 2, Phase.CLOSED)
        buffer.rewind_if_needed(Phase.CLOSED)
    assert taken(buffer, now=NOON + 2) == [1, 2]


def test_nothing_of_an_ordered_lane_goes_before_what_was_busy_when_it_was_read() -> None:
    buffer, source, _ = a_lane(3, fifo=True)
    buffer.mark_busy(a_row(1))
    wants = buffer.wants(2, NOON, Phase.OPEN)
    (want,) = [one for one in wants if one.stream is Stream.READY]
    buffer.remember_busy()
    turn = buffer.rewinds
    rows = [source.ready[1], source.ready[2]]
    buffer.take(want, rows, cut=False, fetched=Fetched(rows, {}, {1: 3}, {}))
    buffer.leave_behind(a_row(1))
    assert buffer.rewinds > turn  # what is asked for now is not taken any more
    source.feed(buffer, NOON, Phase.OPEN)
    assert taken(buffer, Phase.OPEN)[0] == 1


def test_a_resend_goes_before_all_and_once() -> None:
    buffer, source, _ = a_lane(2)
    source.resends = {"r1": a_row(0, Stream.RESEND, resend="r1")}
    source.feed(buffer, NOON, Phase.CLOSED)
    first = buffer.next(NOON, Phase.CLOSED)
    assert first is not None
    assert first.resend == "r1"
    buffer.rewind()
    source.feed(buffer, NOON, Phase.CLOSED)
    assert taken(buffer) == [1, 2]
    source.resends.clear()
    buffer.done(first)


@given(seed=st.integers(0, 10_000), fifo=st.booleans())
def test_whatever_happens_each_row_is_delivered_once_and_none_is_lost(
    seed: int, *, fifo: bool
) -> None:
    chance = random.Random(seed)
    buffer, source, buffered = a_lane(fifo=fifo)
    delivered: list[int] = []
    added, now = 0, NOON
    out: list[Due] = []
    for _ in range(300):
        now += chance.choice([0.0, 0.5, 3.0])
        phase = chance.choice(list(Phase))
        if added < 40 and chance.random() < 0.3:
            added += 1
            source.ready[added] = a_row(added)
            buffer.read_on()
        _disturbed(buffer, added, chance)
        source.feed(buffer, now, phase)
        if not (fifo and out):
            row = buffer.next(now, phase)
            if row is not None:
                assert row.seq not in {one.seq for one in out}
                out.append(row)
        if out and chance.random() < 0.6:
            _settled(buffer, source, out.pop(chance.randrange(len(out))), delivered, chance, now)
        buffer.rewind_if_needed(Phase.CLOSED)
    for row in out:
        _settled(buffer, source, row, delivered, None, now)
    for _ in range(200):
        now += 3.0
        source.feed(buffer, now, Phase.CLOSED)
        row = buffer.next(now, Phase.CLOSED)
        if row is not None:
            _settled(buffer, source, row, delivered, None, now)
        buffer.rewind_if_needed(Phase.CLOSED)
    assert sorted(delivered) == list(range(1, added + 1))
    if fifo:
        assert delivered == sorted(delivered)
    assert (buffer.busy, buffered.bytes) == ({}, 0)
    assert buffer.drained()


def _disturbed(buffer: Buffer, added: int, chance: random.Random) -> None:
    """Now and then, something makes the lane begin anew."""
    match chance.randint(0, 60):
        case 0:
            buffer.rewind()
        case 1:
            buffer.forget_rows()
        case 2:
            buffer.set_fresh_after(added)
        case _:
            pass


def _settled(  # noqa: PLR0913, PLR0917  a row, and all that it changes
    buffer: Buffer,
    source: Source,
    row: Due,
    delivered: list[int],
    chance: random.Random | None,
    now: float,
) -> None:
    """Write down what became of a row: delivered, ready still, or waiting for a time."""
    source.ready.pop(row.seq, None)
    source.waiting.pop(row.seq, None)
    what = "delivered" if chance is None else chance.choice(["delivered", "ready", "waiting"])
    if what == "delivered":
        delivered.append(row.seq)
        buffer.done(row)
    elif what == "ready":
        kept = source.ready[row.seq] = a_row(row.seq)
        if buffer.fifo:
            buffer.send_at(kept, now)
        else:
            buffer.leave_behind(row)
    else:
        kept = source.waiting[row.seq] = a_row(row.seq, Stream.WAITING, due_at=now + 2.0)
        if buffer.fifo:
            buffer.send_at(kept, now + 2.0)
        else:
            buffer.done(row)
            buffer.note_due_at(now + 2.0)


def test_in_a_backlog_one_that_goes_again_follows_upon_two_that_do_not() -> None:
    buffer, source, _ = a_lane(9)
    source.waiting = {
        seq: a_row(seq, Stream.WAITING, due_at=NOON, attempts=1) for seq in range(20, 24)
    }
    source.feed(buffer, NOON, Phase.PACED, room=100)
    rows = [buffer.next(NOON, Phase.PACED) for _ in range(13)]
    seqs = [row.seq for row in rows if row is not None]
    assert seqs == [1, 2, 20, 3, 4, 21, 5, 6, 22, 7, 8, 23, 9]


def test_new_ones_run_low_however_many_are_to_go_again() -> None:
    buffer, source, _ = a_lane(9)
    source.waiting = {
        seq: a_row(seq, Stream.WAITING, due_at=NOON, attempts=1) for seq in range(20, 50)
    }
    source.feed(buffer, NOON, Phase.PACED, room=6)
    assert not buffer.ready_runs_low(5)
    assert buffer.ready_runs_low(6)
    source.feed(buffer, NOON, Phase.PACED, room=100)
    assert not buffer.ready_runs_low(100), "all of them were read"


def test_at_a_pace_what_was_left_behind_does_not_wait_for_all_that_is_due() -> None:
    buffer, source, _ = a_lane(2)
    source.waiting = {
        seq: a_row(seq, Stream.WAITING, due_at=NOON, attempts=1) for seq in range(20, 50)
    }
    source.feed(buffer, NOON, Phase.PACED, room=10)
    first = buffer.next(NOON, Phase.PACED)
    assert first is not None
    buffer.leave_behind(first)
    assert not buffer.rewind_if_needed(Phase.PACED), "the second is at hand"
    assert taken(buffer, now=NOON)[0] == 2
    source.feed(buffer, NOON, Phase.PACED, room=10)
    assert buffer.at_hand(NOON) > 0
    assert not buffer.rewind_if_needed(Phase.CLOSED)
    assert buffer.rewind_if_needed(Phase.PACED)
    source.feed(buffer, NOON, Phase.PACED, room=10)
    again = buffer.next(NOON, Phase.PACED)
    assert again is not None
    assert again.seq == first.seq


def test_a_resend_that_is_settled_while_the_store_is_asked_is_not_sent_again() -> None:
    buffer, source, _ = a_lane()
    source.resends = {"r1": a_row(0, Stream.RESEND, resend="r1")}
    source.feed(buffer, NOON, Phase.CLOSED)
    resend = buffer.next(NOON, Phase.CLOSED)
    assert resend is not None
    buffer.rewind()
    wants = buffer.wants(8, NOON, Phase.CLOSED)
    buffer.remember_busy()
    buffer.done(resend)  # the store has looked before that
    for want in wants:
        rows = [resend] if want.stream is Stream.RESEND else []
        buffer.take(want, rows, cut=False, fetched=Fetched([], {}, {}, {}))
    assert buffer.next(NOON, Phase.CLOSED) is None


@pytest.mark.parametrize("waits", [False, True])
def test_fresh_rows_stay_apart_as_long_as_one_of_the_backlog_waits_for_its_moment(
    *, waits: bool
) -> None:
    buffer, source, _ = a_lane(4)
    source.feed(buffer, NOON, Phase.PACED, room=1)
    row = buffer.next(NOON, Phase.PACED)
    assert row is not None
    buffer.set_fresh_after(added=2)
    if waits:
        buffer.send_at(row, NOON + 5)
    source.feed(buffer, NOON, Phase.PACED)
    buffer.rewind()
    backlog, fresh = (Stream.READY, 8, 0, 3), (Stream.READY, 8, 2, None)
    apart = [one for one in asked(buffer, Phase.PACED) if one[0] is Stream.READY]
    assert apart == ([backlog, fresh] if waits else [(Stream.READY, 8, 0, None)])


def test_what_comes_after_a_backlog_that_failed_as_a_whole_is_fresh() -> None:
    buffer, source, _ = a_lane(5)
    source.feed(buffer, NOON, Phase.OPEN)
    for seq in taken(buffer, Phase.OPEN):
        buffer.leave_behind(a_row(seq))
    assert buffer.rewind_if_needed(Phase.OPEN)
    ready = [one for one in asked(buffer, Phase.PACED) if one[0] is Stream.READY]
    assert ready == [(Stream.READY, 8, 0, 6), (Stream.READY, 8, 5, None)]


def test_a_lane_that_has_read_a_row_before_it_is_due_is_not_idle() -> None:
    buffer, source, _ = a_lane()
    source.waiting = {1: a_row(1, Stream.EARLY, due_at=NOON + 60)}
    source.feed(buffer, NOON, Phase.OPEN)
    assert buffer.idle()
    source.feed(buffer, NOON, Phase.OPEN)
    assert not buffer.idle()  # it is read again when the lane is back


def test_a_row_at_hand_whose_attempts_are_given_back_does_not_go_as_it_was() -> None:
    buffer, source, buffered = a_lane(2)
    source.feed(buffer, NOON, Phase.CLOSED)
    buffer.give_back(a_row(1))
    source.feed(buffer, NOON, Phase.CLOSED)
    assert taken(buffer) == [2]
    assert buffered.bytes == 0


def test_the_order_of_a_lane_can_be_turned_on_and_off() -> None:
    buffer, *_ = a_lane()
    for fifo in (True, False):
        buffer.set_order(fifo=fifo)
        assert (Stream.EARLY in {stream for stream, *_ in asked(buffer, Phase.CLOSED)}) is fifo


def test_a_lane_that_becomes_ordered_hands_out_fresh_rows_behind_its_backlog() -> None:
    buffer, source, buffered = a_lane(6)
    buffer.set_fresh_after(added=4)
    source.feed(buffer, NOON, Phase.PACED, room=2)
    buffer.set_order(fifo=True)
    buffer.forget_rows()
    handed_out = []
    for _ in range(4):
        if buffer.at_hand(NOON) == 0:  # a lane asks for rows once it has none at hand
            source.feed(buffer, NOON, Phase.CLOSED, room=2)
        handed_out += taken(buffer)
    assert handed_out == [1, 2, 3, 4, 5, 6]
    assert (buffer.at_hand(NOON), buffered.bytes) == (0, 0)
