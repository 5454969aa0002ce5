"""What a lane does when the gate that it uses changes its phase.

This is its own gate, or the gate that it shares with others of its origin while all of them fail.
"""

import logging

from tarry.core.pace import Phase
from tarry.service.dispatch.lane.attempt import settlement
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.outcomes.judge import Ruling
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import ENABLED
from tarry.service.model.lane import Due, Stream

log = logging.getLogger("tarry.service")


def tick(lane: Lane, now: float) -> bool:
    """Evaluate the answers; return whether to call this again at the next tick."""
    gate = lane.gates.own
    if lane.has_left:
        return False
    if lane.endpoint.standing is not ENABLED and gate.phase is Phase.PACED:
        gate.close()  # once the endpoint is enabled, its deliveries are sent at a pace again
        _gate_moved(lane, now, failed=False)
        return False
    if lane.gates.current is gate:
        paced = gate.phase is Phase.PACED
        waiting = lane.backlog.pressing(lane.in_flight) if paced else lane.waiting()
        if gate.step(now, waiting):
            _gate_moved(lane, now)
        elif gate.phase is Phase.OPEN:
            lane.save(now)  # a probe failed: `explain` reads the time of the next one
    lane.pump()
    return gate.needs_tick(now)


def _gate_moved(lane: Lane, now: float, *, failed: bool = True) -> None:
    """Save and enter the new phase of its own gate; `failed` says that the endpoint failed."""
    gate = lane.gates.own
    log.info("the lane of %s is %s; %d wait", lane.endpoint.id, gate.phase, lane.waiting())
    if lane.gates.uses_own_gate and gate.phase is Phase.PACED:  # it uses the shared gate again
        lane.gates.use_shared_gate()
        gate.close()
    lane.save(now)
    _enter_phase(lane, lane.gates.phase, now, failed=failed)
    if gate.phase is Phase.PACED:
        lane.work.tick(lane)


def _enter_phase(lane: Lane, phase: Phase, now: float, *, failed: bool = True) -> None:
    """Enter a phase of the gate that the lane uses."""
    lane.blame.phase_changed(phase, failed=failed)
    refund(lane, now)
    if phase is Phase.OPEN:
        lane.backlog.buffer.forget_rows()  # rows are read when they can be sent: it may take days
        lane.backlog.mark_fresh()  # new deliveries must not wait behind the whole backlog
    if phase is Phase.PACED:
        lane.allowance.expect_answers()
        lane.backlog.mark_fresh()
        lane.ask_for_rows()
    lane.pump()


def share_gate(lane: Lane, now: float) -> None:
    """Use the gate of the origin, which is in trouble."""
    lane.join_origin(now)
    _enter_phase(lane, lane.gates.shared.phase, now)


def origin_changed(lane: Lane, phase: Phase, now: float) -> None:
    """React to a new phase of the origin's gate."""
    if not lane.gates.uses_own_gate:
        _enter_phase(lane, phase, now)
    elif phase is Phase.OPEN:  # the origin is in trouble again: the lane shares its gate
        share_gate(lane, now)
    else:
        lane.gates.use_shared_gate()


def open_alone(
    lane: Lane, now: float, capacity: float | None = None, since: float | None = None
) -> None:
    """Open the lane's own gate: the trouble is this lane's, not its origin's."""
    if lane.gates.own.phase is not Phase.OPEN:  # it may have used its own gate, which is open then
        lane.gates.own.open(now, max(1, lane.waiting()), capacity, since)
    _gate_moved(lane, now)


def use_own_gate(lane: Lane, now: float, since: float | None = None) -> None:
    """Open the lane's own gate and use it, while the other lanes share the origin's gate.

    The outage starts now, or at the earlier time `since`.
    """
    lane.gates.use_own_gate()
    open_alone(lane, now, since=since)


def probe(lane: Lane, now: float) -> None:
    """Send a probe at once: a user asks whether the endpoint is back.

    The gate may be closed, since a few failures do not open it. Then it is opened: otherwise each
    delivery would wait for its own due time.
    """
    unknown = lane.allowance.failures_in_a_row or not lane.allowance.was_used
    if lane.gates.phase is Phase.CLOSED and unknown and lane.waiting():
        open_alone(lane, now)
    lane.gates.current.bring_probe_forward(now)


def release(lane: Lane, now: float) -> None:
    """Use the lane's own gate again, although deliveries may wait."""
    if lane.gates.uses_own_gate:
        lane.gates.use_shared_gate()
        return
    pace_backlog(lane, now)
    if lane.gates.own.phase is Phase.CLOSED:
        _enter_phase(lane, Phase.CLOSED, now)


def pace_backlog(lane: Lane, now: float) -> None:
    """Send the backlog at a pace, since many deliveries wait at once, and fresh ones before it."""
    if lane.waiting() > 1:
        start_pace(lane, now)


def pace_replay(lane: Lane, now: float) -> None:
    """Send the backlog at a pace: a replay adds to it just now."""
    if lane.is_at_work:
        pace_backlog(lane, now)


def start_pace(lane: Lane, now: float) -> None:
    """Send at a pace from now on, until nothing waits."""
    own = lane.gates.own
    if own.phase is Phase.CLOSED and lane.gates.current is own:
        own.ramp(now, lane.allowance.failures_in_a_row)
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
        lane.backlog.buffer.give_back(due)
        lane.finish(due, settlement(due, ruling, None, epoch=lane.epoch, now=now))
