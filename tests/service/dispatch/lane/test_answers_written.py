"""What a lane does with a delivery whose outcome was written, or was not accepted by the store."""

from typing import Any

import pytest
from msgspec.structs import replace

from tarry.core.pace import Phase
from tarry.service.dispatch.lane.answers import take_settlement
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.delivery import Reason, State
from tarry.service.model.lane import Due
from tarry.service.wire.exchange import Answer
from tarry.testing.samples import a_due, delivered, failed, postponed, put_back
from tarry.testing.virtual_service import OK, status
from tests.service.dispatch.lane.hand_moved import LanePlace
from tests.service.dispatch.origins.place import PACED

FAILS = status(500)


def a_lane(**values: Any) -> tuple[LanePlace, Lane]:  # noqa: ANN401  the lane's
    place = LanePlace()
    lane = place.lane(place.level("app_a"), waiting=5, **values)
    place.read(lane)
    return place, lane


def write(
    place: LanePlace, lane: Lane, due: Due, made: Settlement | Resent, *, done: bool = True
) -> None:
    """Report the outcome of a delivery that was busy as written, or as not accepted."""
    if not due.resend:
        lane.backlog.buffer.is_busy(due.seq)
    unsettled = lane.unsettled
    lane.begin_outcome()
    take_settlement(lane, due, made, done=done, now=place.now)
    assert lane.unsettled == unsettled


@pytest.mark.parametrize(
    ("made", "counted"),
    [(delivered(a_due(seq=1)), (1, 0)), (failed(a_due(seq=1)), (0, 1))],
    ids=["delivered", "failed"],
)
def test_a_delivery_that_ended_is_counted_and_does_not_wait_any_more(
    made: Settlement, counted: tuple[int, int]
) -> None:
    place, lane = a_lane()
    write(place, lane, a_due(seq=1), made)
    counters = place.context.counters
    assert (counters.delivered, counters.failed) == counted
    assert (lane.waiting(), lane.backlog.buffer.drained()) == (4, True)


def test_an_outcome_that_the_store_does_not_accept_has_the_delivery_and_the_lease_looked_at() -> (
    None
):
    place, lane = a_lane()
    write(place, lane, a_due(seq=1), delivered(a_due(seq=1)), done=False)
    assert place.context.counters.stale == 1
    assert place.signals.renew.is_set()
    assert not place.work.changes
    assert lane.waiting() == 5
    place.read(lane)
    assert lane.backlog.buffer.turn_back(Phase.CLOSED)  # it is read again


def test_the_outcomes_of_a_lane_that_has_left_change_nothing_there() -> None:
    place, lane = a_lane()
    lane.leave()
    for done in (True, False):
        write(place, lane, a_due(seq=1), delivered(a_due(seq=1)), done=done)
    assert (place.context.counters.stale, place.context.counters.delivered) == (1, 0)
    assert not place.signals.renew.is_set()
    assert (lane.waiting(), place.work.changes) == (5, {})


@pytest.mark.parametrize("done", [True, False])
def test_after_a_resend_the_lane_is_loaded_again_and_has_no_other_delivery_less(
    *, done: bool
) -> None:
    place, lane = a_lane()
    due = a_due(seq=0, lane=lane.number, resend="r1")
    pending = place.send(lane, resend="r1")
    pending.done(OK)
    ((_, _, made),) = place.work.take_finished(10)
    lane.wrote()
    write(place, lane, due, made, done=done)
    assert list(place.work.to_load) == [lane.number]
    assert lane.waiting() == 5
    assert place.context.counters.delivered == 0


def test_a_retry_waits_in_the_store_for_its_due_time() -> None:
    place, lane = a_lane()
    due_at = place.now + 30
    write(place, lane, a_due(seq=1), postponed(a_due(seq=1), due_at))
    buffer = lane.backlog.buffer
    assert (buffer.next_due_at, buffer.next_at()) == (due_at, due_at)
    assert 1 not in buffer.busy
    assert not buffer.drained()
    assert not buffer.turn_back(Phase.CLOSED)  # it need not be read before it is due


@pytest.mark.parametrize(("at", "waits"), [(None, 0.0), (30.0, 30.0)])
def test_the_head_of_an_ordered_lane_waits_in_memory_for_its_due_time(
    at: float | None, waits: float
) -> None:
    place, lane = a_lane(fifo=True)
    due = a_due(seq=1, tries=2, attempts=1)
    made = put_back(due) if at is None else postponed(due, place.now + at)
    write(place, lane, due, made)
    buffer = lane.backlog.buffer
    assert buffer.next_at() == place.now + waits
    row = buffer.next(place.now + waits, Phase.CLOSED)
    assert row is not None
    assert (row.seq, row.tries, row.attempts, row.memory) == (1, 3, made.attempts, made.memory)


@pytest.mark.parametrize("fifo", [True, False])
def test_a_delivery_that_is_ready_and_not_in_memory_is_read_again(*, fifo: bool) -> None:
    place, lane = a_lane(fifo=fifo)
    turn = lane.backlog.buffer.turn
    due = a_due(seq=1, payload=None if fifo else b"{}")
    write(place, lane, due, put_back(due))
    buffer = lane.backlog.buffer
    assert (1 in buffer.busy, buffer.next_at()) == (False, None)
    if not fifo:
        place.read(lane)
        assert buffer.turn_back(Phase.CLOSED)
    assert buffer.turn > turn


@pytest.mark.parametrize(("answer", "presses"), [(FAILS, True), (OK, False)])
def test_a_pace_goes_on_while_a_delivery_that_failed_at_it_is_to_be_sent_again(
    answer: Answer,
    presses: bool,  # noqa: FBT001  a parameter
) -> None:
    place, lane = a_lane(pace=PACED)
    lane.backlog.marked(5)
    place.read(lane)
    pending = place.send(lane)
    pending.done(answer)
    place.read(lane)
    assert bool(lane.backlog.pressing(0)) is presses  # while its outcome is being written
    ((_, due, made),) = place.work.take_finished(10)
    take_settlement(lane, due, made, done=True, now=place.now)
    next_at = lane.backlog.buffer.next_at()
    assert (next_at is not None and place.now < next_at <= place.now + 1) is presses


def test_a_lane_at_work_reads_on_for_what_was_added_meanwhile_and_one_asleep_is_woken() -> None:
    place, lane = a_lane()
    place.send(lane)  # another one is in flight
    write(place, lane, a_due(seq=1), delivered(a_due(seq=1)))
    assert not lane.backlog.buffer.ready_read()
    place.read(lane)
    lane.backlog.fall_asleep()
    write(place, lane, a_due(seq=2), delivered(a_due(seq=2)))
    assert lane.backlog.buffer.ready_read()


def test_failures_are_saved_with_a_delivery_that_failed_for_good() -> None:
    place, lane = a_lane()
    place.send(lane).done(FAILS)
    place.outcomes()
    place.work.take_changes()
    write(place, lane, a_due(seq=1), failed(a_due(seq=1)))
    known = place.work.changes[lane.number].known
    assert known is not None
    assert known.failures == 1


def test_a_delivery_that_failed_for_good_is_told_to_the_owner_of_its_endpoint() -> None:
    place, lane = a_lane()
    made = failed(a_due(seq=1), reason=Reason.EXHAUSTED, state=State.FAILED)
    write(place, lane, a_due(seq=1), made)
    (notice,) = place.work.changes[lane.number].notices
    assert (notice.kind, notice.facts["message"]) == ("message.attempt.exhausted", "msg_sample")


@pytest.mark.parametrize(
    ("code", "moved", "state"),
    [
        (404, False, State.WAITING),
        (410, False, State.FAILED),
        (410, True, State.WAITING),
        (422, True, State.FAILED),
        (200, True, State.DELIVERED),
    ],
)
def test_an_endpoint_s_new_url_is_asked_for_what_the_old_one_did_not_want(
    code: int,
    moved: bool,  # noqa: FBT001  a parameter
    state: State,
) -> None:
    place, lane = a_lane()
    pending = place.send(lane)
    if moved:
        lane.endpoint = replace(lane.endpoint, url=f"{lane.endpoint.url}/v2")
    pending.done(status(code))
    ((_, _, made),) = place.work.take_finished(10)
    assert isinstance(made, Settlement)
    assert (made.state, made.epoch, made.seq) == (state, 1, pending.due.seq)


def test_what_is_refused_again_although_the_endpoint_takes_others_is_refused_for_good() -> None:
    place, lane = a_lane()
    place.send(lane, seq=1).done(status(404))
    place.now += 1
    place.send(lane).done(OK)
    place.now += 1
    place.outcomes()
    place.send(lane, seq=1, tries=1, attempts=1).done(status(404))
    (made,) = place.outcomes()
    assert isinstance(made, Settlement)
    assert (made.state, made.reason) == (State.FAILED, Reason.REFUSED)


def test_an_answer_lets_the_next_delivery_of_its_lane_go_before_the_outcome_is_written() -> None:
    place, lane = a_lane(concurrency=1)
    pending = place.send(lane)
    lane.backlog.buffer.rewind()
    place.read(lane, place.row(lane))
    lane.pump()
    assert place.outbox.requests == []
    pending.done(OK)
    assert len(place.outbox.requests) == 1
