"""How a lane sends: it looks for a delivery that may go, signs it, and sends it.

A delivery goes when the gate is free, the lane's own limits allow it, a row is at hand, the
application's rate admits it, and the process has slots for it. Each of these that stops a lane also
makes sure that it is woken later: by a timer, an answer, the reader of rows, or the store.
"""

import logging
import math

from tarry.core.outcome import Kind
from tarry.core.pace import CLOSED, OPEN, PACED
from tarry.service.dispatch.lane import phases
from tarry.service.dispatch.lane.allowance import RETRY_PAUSE
from tarry.service.dispatch.lane.attempt import PendingAttempt, settlement, signed_request
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.limits.gate import RULE, Gate
from tarry.service.dispatch.outcomes.judge import Judgement, Ruling, Verdict
from tarry.service.failpoints import hit
from tarry.service.model import ids
from tarry.service.model.attempt import Resent
from tarry.service.model.delivery import Reason
from tarry.service.model.lane import Due, Stream
from tarry.service.model.words import state_of
from tarry.service.wire.exchange import Answer

log = logging.getLogger("tarry.service")

BURST = 32
"""How many deliveries a lane sends at once before it is another lane's turn."""
AT_HAND = 64
"""How many rows are fetched together for one lane: enough until the next rows arrive."""
SLEEP_DELAY = 0.1
"""Seconds to wait for requests in flight before the lane asks to sleep."""


def pump(lane: Lane) -> None:
    """Send what may be sent now, or queue for a turn at a shared gate."""
    pump_at(lane, lane.context.now())


def pump_at(lane: Lane, now: float) -> None:
    """Do the same as `pump`, for a caller that has just read the clock."""
    if not lane.is_at_work:
        return
    gates = lane.gates
    if gates.own.pace.held_until and gates.own.pace.held_until <= now:
        gates.own.hold(0.0)
        phases.start_pace(lane, now)  # deliveries that came since must not go all at once
    gate = gates.current  # it stays the same in this function: only answers and ticks change it
    if gate.phase is PACED:  # read again the rows that were left behind, before later ones
        lane.backlog.buffer.rewind_if_needed(PACED)
    if gate is not gates.own:
        if _prepare_rows(lane, gate, now):
            gates.group.gate_level.queue(lane)
        return
    for _ in range(BURST):
        if not _send_next(lane, gate, now):
            return
    lane.context.later(0.0, lane.pump)


def take_turn(lane: Lane) -> None:
    """Send one delivery, and queue again: it is the lane's turn at a shared gate."""
    if not lane.is_at_work:
        return
    gate = lane.gates.current
    if gate is lane.gates.own:  # it has left the shared gate since
        pump(lane)
        return
    if gate.phase is PACED:
        lane.backlog.buffer.rewind_if_needed(PACED)
    if _send_next(lane, gate, lane.context.now()):
        lane.context.later(0.0, lane.pump)


def _send_next(lane: Lane, gate: Gate, now: float) -> bool:
    """Send the next delivery; return False if there is none, or it may not be sent yet."""
    free_at = next_send_at(lane, gate, now)
    if free_at > now:
        lane.context.alarms.set(lane, free_at)
        return False
    if not _prepare_rows(lane, gate, now) or not _take_slots(lane, now):
        return False
    due = lane.backlog.buffer.next(now, gate.phase)
    if due is None:
        _give_slots_back(lane)
        _look_ahead(lane, gate, now)
        return False
    _send(lane, due, gate, now)
    return True


def _take_slots(lane: Lane, now: float) -> bool:
    """Take the slots that one more attempt needs; if there is none, the lane is pumped later."""
    if now >= lane.held.until:
        lane.held.delay()
        return False
    context = lane.context
    if not lane.tenant_rate.admits(lane, now) or not context.unwritten.take(lane):
        return False
    if not context.slots.take(lane):
        context.unwritten.give_back(lane)
        return False
    return True


def _give_slots_back(lane: Lane) -> None:
    """Give back what an attempt needs: it is not made."""
    lane.context.slots.give_back(lane)
    lane.context.unwritten.give_back(lane)


def next_send_at(lane: Lane, gate: Gate, now: float) -> float:
    """Return when the lane may send next by this gate; infinity if an answer must come first."""
    allowance, fifo = lane.allowance, lane.endpoint.fifo
    together = allowance.most_in_flight(gate.phase)
    if allowance.in_flight >= together or (fifo and lane.unsettled):
        return math.inf
    shared = gate is not lane.gates.own
    if shared and gate.phase is PACED and lane.hangs(now):
        return math.inf
    return max(
        gate.free_at(now, lane.context.limits.lane_in_flight if shared else together),
        lane.gates.own.pace.held_until,
        allowance.free_at(now, gate.phase, together, fifo=fifo),
    )


def _prepare_rows(lane: Lane, gate: Gate, now: float) -> bool:
    """Return whether a row is at hand; ask for more rows before they run out."""
    backlog = lane.backlog
    at_hand = backlog.buffer.at_hand(now)
    if not backlog.asking and _runs_low(lane, gate, at_hand, now):
        lane.ask_for_rows()
    if at_hand or backlog.buffer.has_ripe_or_probe(now, gate.phase):
        return True
    if not backlog.asking:
        _look_ahead(lane, gate, now)
    return False


def _runs_low(lane: Lane, gate: Gate, at_hand: int, now: float) -> bool:
    """Return whether few rows are at hand and the store may have more that can go now.

    A lane that asked in vain would ask again at once.
    """
    buffer, phase, most = lane.backlog.buffer, gate.phase, room(lane, gate)
    few = at_hand <= most // 2
    if phase is PACED:
        few = few or buffer.ready_runs_low(most // 4)
    if not few or (at_hand and lane.context.is_full()):
        return False
    return bool(buffer.wants(most, now, phase))


def room(lane: Lane, gate: Gate) -> int:
    """Return how many rows it makes sense to have at hand while the lane uses this gate."""
    phase, allowance = gate.phase, lane.allowance
    if phase is OPEN:
        return 1  # for a probe: thousands of lanes may wait for the time of theirs
    if phase is PACED:
        return max(8, min(allowance.most, int(gate.pace.rate / 4)))
    slots = lane.context.slots.room(lane)
    if not slots:
        return 1  # its turn may be far away, and thousands of lanes wait with it
    most = min(allowance.most, 2 * allowance.trust)
    return max(2, min(most - allowance.in_flight, slots, AT_HAND))


def _look_ahead(lane: Lane, gate: Gate, now: float) -> None:
    """Read on, set an alarm for the next row that is due, or sleep: no row is at hand."""
    backlog, buffer = lane.backlog, lane.backlog.buffer
    if buffer.rewind_if_needed(gate.phase) or buffer.wants(room(lane, gate), now, gate.phase):
        lane.ask_for_rows()
        return
    look_at = max(buffer.next_at(), now + RULE.tick)
    busy = lane.allowance.in_flight
    patient_until = lane.allowance.sent_at + SLEEP_DELAY if busy else -math.inf
    if not buffer.all_ready_read():
        pass  # the head of an ordered lane holds up the rows at hand: no more are needed
    elif buffer.drained() or (not backlog.asleep and now >= patient_until):
        lane.work.let_rest(lane)
    elif not backlog.asleep:
        look_at = min(look_at, patient_until)
    lane.context.alarms.set(lane, look_at)


def _send(lane: Lane, due: Due, gate: Gate, now: float) -> None:
    """Send a delivery, unless its payload is gone or the retry budget has no room for it."""
    if due.payload is None and not due.unopened:
        _give_slots_back(lane)
        _end_without_payload(lane, due, now)
        return
    retry = due.attempts > 0 and due.stream is Stream.WAITING
    if retry and gate.phase is CLOSED and not lane.allowance.spend_retry(now):
        _give_slots_back(lane)
        lane.backlog.buffer.put_off(due, now + RETRY_PAUSE)
        return
    _start_attempt(lane, due, due.payload or b"", gate, now)


def _end_without_payload(lane: Lane, due: Due, now: float) -> None:
    """End a delivery whose payload is not kept any more."""
    reason = Reason.EXPUNGED if due.sealed_with is None else Reason.ERASED
    if not due.resend:
        ruling = Ruling(state_of(reason), reason, due.attempts)
        lane.finish(due, settlement(due, ruling, None, epoch=lane.epoch, now=now))
        return
    pending = _pending_attempt(lane, due, lane.gates.own, 0, now)
    answer = Answer(0.0, detail=reason)
    judgement = Judgement(Verdict.UNFIT, Kind.REFUSED)
    attempt = lane.context.id(ids.ATTEMPT, now)
    made = pending.attempt(answer, judgement, None, id=attempt, now=now, draw=0.0)
    lane.finish(due, Resent(lane.number, due.resend, made, lane.epoch, reason))


def _start_attempt(lane: Lane, due: Due, payload: bytes, gate: Gate, now: float) -> None:
    """Count the attempt at the gate and send its signed request; the answer comes later."""
    context, config = lane.context, lane.config
    probe = gate.phase is OPEN
    context.counters.count_sent(probe=probe)
    # Only probes need the number of waiting deliveries: counting a large origin takes time.
    whole = lane if gate is lane.gates.own else lane.gates.group.gate_level
    epoch = gate.sent(now, max(1, whole.waiting()) if probe else 1)
    lane.allowance.sent(now)
    lane.tenant_rate.sent(now)
    pending = _pending_attempt(lane, due, gate, epoch, now)
    if config.target is None:
        context.later(0.0, lambda: pending.done(config.refused))
        return
    if due.unopened:
        unopened = Answer(0.0, failure=Kind.REFUSED, detail="the payload cannot be opened")
        context.later(0.0, lambda: pending.done(unopened))
        return
    try:
        request = signed_request(
            config,
            config.target,
            due,
            payload,
            wall=context.wall(now),
            connect_timeout=context.limits.connect_timeout,
        )
    except Exception as error:
        log.exception("message %r cannot be signed", due.message)
        unsigned = Answer(0.0, failure=Kind.REFUSED, detail=f"it cannot be signed: {error}")
        context.later(0.0, lambda: pending.done(unsigned))
        return
    hit("send.before")
    context.sender.send(request, pending.done)
    hit("send.begun")


def _pending_attempt(lane: Lane, due: Due, gate: Gate, epoch: int, now: float) -> PendingAttempt:
    """Return what is known about an attempt when its request is sent."""
    origin = lane.gates.group.gate_level
    return PendingAttempt(lane, due, gate, origin, epoch, now, lane.config, lane.endpoint.url)
