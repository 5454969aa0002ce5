"""How a lane handles the answer to an attempt, and later the confirmation that it was written.

The answer is judged, and reported to the gate, the origin and the endpoint's record. The outcome of
the delivery is decided and handed in to be written. Once it was written, the delivery has ended or
is sent again.
"""

from msgspec.structs import replace

from tarry.core.outcome import Kind
from tarry.core.pace import CLOSED, OPEN, Phase
from tarry.service.dispatch.lane import phases, sending
from tarry.service.dispatch.lane.attempt import PendingAttempt, settlement
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.limits.gate import RULE
from tarry.service.dispatch.origins.answers import (
    count_failure,
    count_refusal,
    evaluate_answer,
    spares,
)
from tarry.service.dispatch.outcomes.judge import (
    ACCEPTED,
    Fault,
    Judgement,
    Ruling,
    Verdict,
    judge,
    rule,
    rule_end,
    rule_resent,
)
from tarry.service.failpoints import hit
from tarry.service.model import ids
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.delivery import DELIVERED, ENDED, FAILED, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Due, Stream
from tarry.service.wire.exchange import Answer

NO_PACE = -1
"""An epoch that no pace has: an answer with it shows only that the endpoint answers."""
NO_OVERLOAD = 20
"""If this many attempts of a lane fail in a row while others of its origin pass, an overload of the
origin is ruled out: the failures are the lane's own."""


def take_answer(lane: Lane, pending: PendingAttempt, answer: Answer) -> None:
    """Process the answer to an attempt, then send the deliveries that may go now."""
    hit("send.answered")
    context, due = lane.context, pending.due
    now = context.now()
    attempt, draw = context.id(ids.ATTEMPT, now), context.draw()
    wall = context.wall(now)
    judgement = judge(answer, pending.config.policy, now=now, wall=wall, draw=draw)
    context.slots.give_back(lane)
    lane.allowance.ended(timed_out=answer.failure is Kind.TIMEOUT)
    lane.begin_outcome()
    _report(lane, pending, judgement, now)
    if due.resend:
        made = pending.attempt(answer, judgement, None, id=attempt, now=now, draw=0.0)
        why = rule_resent(judgement)
        lane.hand_in(due, Resent(lane.number, due.resend, made, lane.epoch, why))
    else:
        ruling = _ruling(lane, pending, judgement, now=now, draw=draw)
        made = pending.attempt(answer, judgement, ruling, id=attempt, now=now, draw=draw)
        outcome = settlement(due, ruling, made, epoch=lane.epoch, now=now)
        lane.hand_in(_to_keep(lane, due, ruling), outcome)
    context.slots.serve()
    sending.pump_at(lane, now)


def _to_keep(lane: Lane, due: Due, ruling: Ruling) -> Due:
    """Return the row to keep until the outcome is written.

    It keeps its payload only if it is sent again from memory.
    """
    again = ruling.pause is not None or (lane.endpoint.fifo and ruling.state not in ENDED)
    return due if again else replace(due, payload=None)


# --- The outcome of the delivery ----------------------------------------------------------------


def _ruling(
    lane: Lane, pending: PendingAttempt, judgement: Judgement, *, now: float, draw: float
) -> Ruling:
    """Decide what becomes of the delivery, and remember it if it has not ended."""
    if pending.url != lane.endpoint.url and judgement.concerns_endpoint_alone:
        # The old URL refused the message. The endpoint's new URL was not asked yet.
        judgement = replace(judgement, verdict=Verdict.FAILED)
    due = lane.blame.refunded(pending.due)
    ruling = rule_end(due, judgement)
    if ruling is None:
        ruling = rule(
            due,
            judgement,
            _fault(lane, due, judgement, now),
            pending.config.policy,
            started_at=now - lane.endpoint.age(due.accepted_at, lane.context.earlier(now)),
            now=now,
            draw=draw,
        )
    lane.blame.remember(due, judgement.verdict, ruling, now)
    if ruling.pause is not None:
        lane.backlog.buffer.mark_again(due)
    return ruling


def _fault(lane: Lane, due: Due, judgement: Judgement, now: float) -> Fault:
    """Return whose failure it is, and the state of the lane."""
    blame, phase, accepted_at = lane.blame, lane.gates.phase, lane.record.accepted_at
    whose = blame.whose(due, judgement.verdict, phase=phase, accepted_at=accepted_at, now=now)
    return Fault(whose, phase, blame.slowed(due))


# --- What the answer says about the endpoint ----------------------------------------------------


def _report(lane: Lane, pending: PendingAttempt, judgement: Judgement, now: float) -> None:
    """Report an answer to the gate, the origin and the endpoint's record."""
    if lane.has_left or pending.url != lane.endpoint.url:
        # The lane has another owner now, or the answer says nothing about the endpoint's new URL.
        _count_for_no_gate(pending)
    elif judgement.endpoint_works:
        _report_success(lane, pending, judgement, now)
    else:
        _report_failure(lane, pending, judgement, now)


def _report_success(lane: Lane, pending: PendingAttempt, judgement: Judgement, now: float) -> None:
    """Report that the endpoint works, whether it accepted this message or not."""
    gates, gate, level = lane.gates, pending.gate, lane.gates.group.gate_level
    epoch = _epoch(lane, pending, now)
    if judgement.verdict is ACCEPTED:
        lane.write(lane.record.accepted(gates.own.pace, now))
    lane.blame.succeeded(pending.due, pending.sent_at)
    if gate.phase is CLOSED:
        gates.group.add_success(lane.allowance.failures_in_a_row)
    took = now - pending.sent_at
    lane.allowance.passed(took)
    is_alone = gate is gates.own and not level.shared
    if not is_alone:
        gates.group.reached()
        if _has_left(lane, pending):
            if gates.current is level.gate and level.gate.phase is OPEN:
                # It was sent before the lanes shared a gate. Was that opened by bad luck?
                level.gate.passed_without_send(NO_PACE, took, now)
                evaluate_answer(level, lane, judgement, now)
            return
    gate.answered(passed=True, failures=0, epoch=epoch, took=took, asked=None, now=now)
    if is_alone:
        level.passed(now)
    elif gate is not gates.own:
        evaluate_answer(level, lane, judgement, now)
        return
    if gate.phase is OPEN:
        lane.tick(now)  # the ruling on this delivery depends on the gate's phase


def _epoch(lane: Lane, pending: PendingAttempt, now: float) -> int:
    """Return the epoch of the pace that a success counts for.

    It counts for none if a failure would not have counted either. Otherwise retries that pass would
    hide how many first attempts fail.
    """
    ignored = lane.blame.ignores(pending.due, accepted_at=lane.record.accepted_at, now=now)
    return NO_PACE if ignored else pending.epoch


def _report_failure(lane: Lane, pending: PendingAttempt, judgement: Judgement, now: float) -> None:
    """Report that the endpoint failed, or refused this message."""
    gates, gate, group = lane.gates, pending.gate, lane.gates.group
    if not judgement.unreachable:
        group.reached()
    if judgement.verdict is Verdict.GONE:
        _disable(lane, pending, judgement, now)
        return
    failures = _failures(lane, pending, judgement, now)
    if failures is not None:  # the failure is not the message's own
        lane.allowance.failed(now, by_chance=gates.own.fails_by_chance)
        lane.record.failed(now)
        lane.warn_or_park(now)
    if judgement.verdict is Verdict.HELD:
        _hold(lane, pending, judgement.held_until, now)
    if _has_left(lane, pending):
        return
    _report_to_gate(lane, pending, judgement, failures, now)
    if gate is gates.own:
        if failures:
            _own_gate_failed(lane, judgement, now)
    elif failures is None:
        group.gate_level.serve()
    else:
        evaluate_answer(group.gate_level, lane, judgement, now)
        _use_own_gate_if_alone(lane, judgement, now)


def _has_left(lane: Lane, pending: PendingAttempt) -> bool:
    """Return whether the lane has left the gate since; then the gate does not count the answer."""
    gates, gate = lane.gates, pending.gate
    if gate is gates.current or gate is gates.shared:
        return False
    _count_for_no_gate(pending)
    return True


def _count_for_no_gate(pending: PendingAttempt) -> None:
    """Count an answer for no gate, and let the lanes go on that waited for it."""
    pending.gate.lost()
    pending.origin.serve()


def _report_to_gate(
    lane: Lane,
    pending: PendingAttempt,
    judgement: Judgement,
    failures: int | None,
    now: float,
) -> None:
    """Report to the gate through which the attempt was sent how many failures to count."""
    gate, group = pending.gate, lane.gates.group
    own = gate is lane.gates.own
    spared = not own and spares(group.gate_level, lane)
    gate.answered(
        passed=False,
        failures=0 if spared else failures or 0,
        epoch=pending.epoch,
        took=now - pending.sent_at,
        asked=judgement.asked if own or group.gate_level is group else None,
        now=now,
    )


def _disable(lane: Lane, pending: PendingAttempt, judgement: Judgement, now: float) -> None:
    """Disable the endpoint: it does not want any more messages."""
    lane.set_standing(Standing.DISABLED, "the receiver said so", now)
    level = lane.gates.group.gate_level
    if pending.gate is level.gate:  # the other lanes of the origin wait for this answer
        pending.gate.lost()
        count_refusal(level, lane)
        evaluate_answer(level, lane, judgement, now)
    else:
        _count_for_no_gate(pending)


def _failures(lane: Lane, pending: PendingAttempt, judgement: Judgement, now: float) -> int | None:
    """Return how many failures the gate counts; None if they say nothing about the endpoint."""
    gate, level = pending.gate, lane.gates.group.gate_level
    failures = lane.blame.failed(
        pending.due,
        judgement.verdict,
        phase=gate.phase,
        shared=gate is not lane.gates.own,
        in_a_row=lane.allowance.failures_in_a_row,
        accepted_at=lane.record.accepted_at,
        now=now,
    )
    refused = judgement.verdict is Verdict.REFUSED and failures is not None
    if refused and gate is level.gate:
        count_refusal(level, lane)  # the answers to other lanes show what this refusal means
    return failures


def _own_gate_failed(lane: Lane, judgement: Judgement, now: float) -> None:
    """Follow up on a failure at the lane's own gate: it or the origin's may open.

    After the end of the lease, the failure says nothing about the origin. This worker may have been
    suspended until all its requests timed out, and another one may have the lane.
    """
    gate, level = lane.gates.own, lane.gates.group.gate_level
    if not level.shared and now < lane.held.until:
        count_failure(level, lane, unreachable=judgement.unreachable, now=now)
    completes_row = lane.allowance.failures_in_a_row == RULE.failures
    # An endpoint refuses nothing by chance, and does not fail by chance if it does not answer.
    may_be_chance = not (lane.blame.refusals or lane.allowance.is_unanswered)
    if (completes_row or gate.phase is OPEN) and may_be_chance:
        gate.assume(lane.gates.group.history)
    if gate.phase is OPEN or completes_row:
        lane.tick(now)  # the ruling on this delivery depends on the gate's phase
    if gate.phase is not OPEN:
        lane.work.tick(lane)


def _use_own_gate_if_alone(lane: Lane, judgement: Judgement, now: float) -> None:
    """Have the lane leave its origin's paced gate if all its attempts fail, or all are refused.

    A failure may be due to the pace. `RULE.failures` are enough if the lane failed before the pace
    began and did not pass since. Otherwise, or if the endpoint asks for fewer requests, it takes
    `NO_OVERLOAD` failures: an overload would have let one of these attempts pass.
    """
    gates, level = lane.gates, lane.gates.group.gate_level
    if gates.current is gates.own or level.gate.phase is not Phase.PACED:
        return
    refused = judgement.verdict is Verdict.REFUSED
    if refused and not level.evidence.refuses(lane.number) and lane.blame.refusals >= RULE.failures:
        phases.use_own_gate(lane, now)
    failing_since = lane.record.failing_since
    failed_before = judgement.verdict is Verdict.FAILED and failing_since < level.gate.pace.begun
    enough = RULE.failures if failed_before else NO_OVERLOAD
    down = lane.blame.failures >= enough and not refused
    if down and level.evidence.has_passed_since(failing_since):
        phases.use_own_gate(lane, now, failing_since)


def _hold(lane: Lane, pending: PendingAttempt, until: float | None, now: float) -> None:
    """Send nothing for as long as the endpoint asked, and then at a pace: it was overloaded.

    If it had a pace already, that is lowered.
    """
    if until is not None:
        group = lane.gates.group
        if (
            pending.gate is lane.gates.own or group.gate_level is group
        ):  # not for other applications
            pending.gate.slow_down(pending.epoch, until - now, now)
        lane.gates.group.held(lane, until, now)
        if until > lane.gates.own.pace.held_until:
            lane.gates.own.hold(until)
            lane.save(now)  # the next owner of the lane has to wait as well
    phases.pace_backlog(lane, now)


# --- After the outcome was written --------------------------------------------------------------


def take_settlement(
    lane: Lane, due: Due, made: Settlement | Resent, *, done: bool, now: float
) -> None:
    """Go on after an outcome was written, or was rejected because the delivery had changed."""
    lane.count_written()
    if not done:
        lane.context.counters.count_stale()
    if lane.has_left:
        return
    buffer = lane.backlog.buffer
    if isinstance(made, Resent):
        buffer.done(due)
        lane.work.load([lane.number])  # the resend may have created the delivery
    elif not done:
        lane.work.check_leases()
        buffer.leave_behind(due)
    elif made.state in ENDED:
        _end_delivery(lane, due, made, now)
    else:
        _send_again(lane, due, made, now)
    if not lane.backlog.asleep and (lane.in_flight or lane.gates.phase is OPEN):
        buffer.read_on()
    if done and isinstance(made, Settlement):
        lane.write(lane.record.notice_of_delivery(lane.endpoint, due.message, made, now))
    phases.refund(lane, now)


def _end_delivery(lane: Lane, due: Due, made: Settlement, now: float) -> None:
    """Count a delivery that ended. In an ordered lane, a failure may pause the endpoint."""
    lane.backlog.count_ended()
    lane.backlog.buffer.done(due)
    if made.state is DELIVERED:
        lane.context.counters.count_delivered()
    elif made.state is FAILED:
        lane.context.counters.count_failed()
        if lane.allowance.failures_in_a_row:  # save them: the lane may soon be at rest
            lane.save(now)
        if lane.endpoint.fifo and lane.endpoint.blocking:
            why = f"its first delivery failed: {made.reason}"
            lane.set_standing(Standing.PAUSED, why, now)


def _send_again(lane: Lane, due: Due, made: Settlement, now: float) -> None:
    """Have a delivery sent again: from memory, or when it is read from the store."""
    buffer, at = lane.backlog.buffer, made.due_at
    if not buffer.fifo and made.state is State.WAITING and at is not None:
        buffer.done(due)
        buffer.note_due_at(at)
        return
    pause = lane.blame.pause(due)
    if due.payload is None or not (buffer.fifo or pause is not None):
        buffer.leave_behind(due)
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
    buffer.send_at(row, now + (pause or 0.0) if at is None else at)
