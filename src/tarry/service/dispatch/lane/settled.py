"""What a lane does once an outcome was written: the delivery has ended, or goes again."""

from msgspec.structs import replace

from tarry.core.pace import OPEN
from tarry.service.dispatch.lane import phases
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.delivery import DELIVERED, ENDED, FAILED, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Due, Stream


def take_settlement(
    lane: Lane, due: Due, made: Settlement | Resent, *, done: bool, now: float
) -> None:
    """Take in that an outcome was written, or was not because something else had happened."""
    lane.wrote()
    if not done:
        lane.context.counters.count_stale()
    if lane.left:
        return
    buffer = lane.backlog.buffer
    if isinstance(made, Resent):
        buffer.done(due)
        lane.work.load([lane.number])  # there may be a delivery of it only now
    elif not done:
        lane.work.check_leases()
        buffer.behind(due.seq)
    elif made.state in ENDED:
        _end(lane, due, made, now)
    else:
        _go_again(lane, due, made, now)
    if not lane.backlog.asleep and (lane.in_flight or lane.gates.phase is OPEN):
        buffer.read_on()
    if done and isinstance(made, Settlement):
        lane.write(lane.record.of_delivery(lane.endpoint, due.message, made, now))
    phases.refund(lane, now)


def _end(lane: Lane, due: Due, made: Settlement, now: float) -> None:
    """Count a delivery that ended; in an ordered lane a failure may stop all others."""
    lane.backlog.end()
    lane.backlog.buffer.done(due)
    if made.state is DELIVERED:
        lane.context.counters.count_delivered()
    elif made.state is FAILED:
        lane.context.counters.count_failed()
        if lane.allowance.failing:  # the lane may be at rest in a moment: the next is one more
            lane.save(now)
        if lane.endpoint.fifo and lane.endpoint.blocking:
            why = f"its first delivery failed: {made.reason}"
            lane.stand(Standing.PAUSED, why, now)


def _go_again(lane: Lane, due: Due, made: Settlement, now: float) -> None:
    """Have a delivery sent again: from memory, or when it is read from the store."""
    buffer, at = lane.backlog.buffer, made.due_at
    if not buffer.fifo and made.state is State.WAITING and at is not None:
        buffer.done(due)
        buffer.due_at(at)
        return
    pause = lane.blame.pause(due)
    if due.payload is None or not (buffer.fifo or pause is not None):
        buffer.behind(due.seq)
        return
    tried = made.attempt is not None
    row = replace(
        due,
        tries=due.tries + tried,
        attempts=made.attempts,
        memory=made.memory,
        due_at=at,
        stream=Stream.READY,
    )
    buffer.later(row, now + (pause or 0.0) if at is None else at)
