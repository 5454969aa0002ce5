"""What a lane does when the gate that it goes by moves from one phase to another.

That is its own gate, or the one that it shares with others of its origin while all of them fail.
"""

import logging

from tarry.core.pace import Phase
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.lane.pending_attempt import settlement
from tarry.service.dispatch.outcomes.judge import Ruling
from tarry.service.model.delivery import Reason, State
from tarry.service.model.lane import Due, Stream

log = logging.getLogger("tarry.service")


def tick(lane: Lane, now: float) -> bool:
    """Look at the answers; return whether to look again soon."""
    gate = lane.gates.own
    if lane.gates.current is gate:
        paced = gate.phase is Phase.PACED
        waiting = lane.backlog.pressing(lane.in_flight) if paced else lane.waiting()
        if gate.step(now, waiting):
            _gate_moved(lane, now)
        elif gate.phase is Phase.OPEN:
            lane.save(now)  # a probe failed: who asks is told when the next one goes
    lane.pump()
    return gate.ticks(now)


def _gate_moved(lane: Lane, now: float, *, failed: bool = True) -> None:
    """Take in that its own gate is in another phase, maybe because the endpoint failed."""
    gate = lane.gates.own
    log.info("the lane of %s is %s; %d wait", lane.endpoint.id, gate.phase, lane.waiting())
    if lane.gates.is_apart and gate.phase is Phase.PACED:  # from now on it goes with the others
        lane.gates.come_back()
        gate.close()
    lane.save(now)
    _enter(lane, lane.gates.phase, now, failed=failed)
    if gate.phase is Phase.PACED:
        lane.work.tick(lane)


def _enter(lane: Lane, phase: Phase, now: float, *, failed: bool = True) -> None:
    """Begin a phase of the gate that the lane goes by."""
    lane.blame.turned(phase, failed=failed)
    refund(lane, now)
    if phase is Phase.OPEN:
        lane.backlog.buffer.changed()  # read again when they can be sent: it may take days
        lane.backlog.mark_fresh()  # what comes from now on must not wait for all of them
    if phase is Phase.PACED:
        lane.backlog.mark_fresh()
        lane.ask_for_rows()
    lane.pump()


def shared(lane: Lane, now: float) -> None:
    """Take in that its origin is in trouble: go by the gate of that."""
    lane.join_origin(now)
    _enter(lane, lane.gates.shared.phase, now)


def origin_turned(lane: Lane, phase: Phase, now: float) -> None:
    """Take in that the gate of its origin is in another phase."""
    if not lane.gates.is_apart:
        _enter(lane, phase, now)
    elif phase is Phase.OPEN:  # only trouble is news to a lane that goes apart
        shared(lane, now)
    else:
        lane.gates.come_back()


def alone(
    lane: Lane, now: float, capacity: float | None = None, since: float | None = None
) -> None:
    """Open its own gate: the trouble is its own, and not its origin's."""
    lane.gates.own.open(now, max(1, lane.waiting()), capacity, since)
    _gate_moved(lane, now)


def go_apart(lane: Lane, now: float, since: float | None = None) -> None:
    """Go by its own gate, and open it, while its origin goes by another.

    It is down since now, or since the earlier time that is given.
    """
    lane.gates.go_apart()
    alone(lane, now, since=since)


def probe(lane: Lane, now: float) -> None:
    """Send a probe at once: somebody asks whether the endpoint is back.

    A few failures are not enough to open a gate, and each delivery would wait for its own time.
    """
    unknown = lane.allowance.failing or not lane.allowance.was_used
    if lane.gates.phase is Phase.CLOSED and unknown and lane.waiting():
        alone(lane, now)
    lane.gates.current.hurry(now)


def released(lane: Lane, now: float) -> None:
    """Take in that its origin leaves the pace to it again, although something may wait."""
    if lane.gates.is_apart:
        lane.gates.come_back()
        return
    replay(lane, now)
    if lane.gates.own.phase is Phase.CLOSED:
        _enter(lane, Phase.CLOSED, now)


def replay(lane: Lane, now: float) -> None:
    """Send what waits at a pace, and fresh messages before it: much waits at once."""
    own = lane.gates.own
    if own.phase is Phase.CLOSED and lane.gates.current is own and lane.waiting() > 1:
        own.ramp(now)
        _gate_moved(lane, now, failed=False)


def refund(lane: Lane, now: float) -> None:
    """Give deliveries back the attempts that failed because the lane was about to open."""
    for seq, charge in lane.blame.take_refunds(lane.backlog.buffer.busy):
        due = Due(
            lane=lane.number,
            seq=seq,
            stream=Stream.READY,
            message=charge.message,
            event_type="",
            payload=None,
            accepted_at=now,
            tries=charge.tries,
        )
        ruling = Ruling(State.READY, Reason.LANE_OPEN, charge.attempts, counted=False)
        lane.backlog.buffer.give_back(seq)
        lane.finish(due, settlement(due, ruling, None, epoch=lane.epoch, now=now))
