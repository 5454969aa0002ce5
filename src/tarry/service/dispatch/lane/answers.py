"""What a lane does with an answer.

The answer is judged, reported to the gate, the origin and the endpoint's record, and decided on.
The outcome is handed in to be written.
"""

from msgspec.structs import replace

from tarry.core.pace import Phase
from tarry.service.dispatch.lane import phases, sending
from tarry.service.dispatch.lane.lane import Lane
from tarry.service.dispatch.lane.pending_attempt import PendingAttempt, settlement
from tarry.service.dispatch.limits.gate import RULE, Gate
from tarry.service.dispatch.outcomes.judge import Judgement, Verdict, judge
from tarry.service.dispatch.outcomes.ruling import Fault, Ruling, hold_until, rule, rule_resent
from tarry.service.failpoints import hit
from tarry.service.model import ids
from tarry.service.model.attempt import Resent
from tarry.service.model.delivery import ENDED
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Due
from tarry.service.wire.exchange import Answer

NO_PACE = -1
"""The number of no pace: an answer with it only says that the endpoint answers."""


def take_answer(lane: Lane, pending: PendingAttempt, answer: Answer) -> None:
    """Take in the answer to an attempt, and send what may go now."""
    hit("send.answered")
    context, due = lane.context, pending.due
    now = context.now()
    judgement = judge(answer, pending.config.policy, now=now)
    context.slots.give_back(lane)
    lane.allowance.ended(now - pending.sent_at)
    attempt, draw = context.id(ids.ATTEMPT, now), context.draw()
    held_until = hold_until(judgement, now=now, draw=draw)
    lane.begin_outcome()
    _report(lane, pending, judgement, held_until, now)
    if due.resend:
        made = pending.attempt(answer, judgement, None, id=attempt, now=now, draw=0.0)
        why = rule_resent(judgement)
        lane.hand_in(due, Resent(lane.number, due.resend, made, lane.epoch, why))
    else:
        ruling = _ruling(lane, pending, judgement, held_until, now=now, draw=draw)
        made = pending.attempt(answer, judgement, ruling, id=attempt, now=now, draw=draw)
        outcome = settlement(due, ruling, made, epoch=lane.epoch, now=now)
        lane.hand_in(_to_keep(lane, due, ruling), outcome)
    context.slots.serve()
    sending.pump_at(lane, now)


def _to_keep(lane: Lane, due: Due, ruling: Ruling) -> Due:
    """Return what to keep until the outcome is written: the payload only if it goes from memory."""
    again = ruling.pause is not None or (lane.endpoint.fifo and ruling.state not in ENDED)
    return due if again else replace(due, payload=None)


# --- What becomes of the delivery ---------------------------------------------------------------


def _ruling(  # noqa: PLR0913  an answer, and time and chance as arguments
    lane: Lane,
    pending: PendingAttempt,
    judgement: Judgement,
    held_until: float | None,
    *,
    now: float,
    draw: float,
) -> Ruling:
    """Decide what becomes of the delivery, and remember it if it has not ended."""
    blame, phase = lane.blame, lane.gates.phase
    if judgement.private and pending.url != lane.endpoint.url:
        # The old place does not want it any more; where the endpoint is by now was not asked.
        judgement = replace(judgement, verdict=Verdict.FAILED)
    due, verdict = blame.refunded(pending.due), judgement.verdict
    accepted_at = lane.record.accepted_at
    whose = blame.whose(due, verdict, phase=phase, accepted_at=accepted_at, now=now)
    ruling = rule(
        due,
        judgement,
        Fault(whose, phase, blame.slowed(due), held_until),
        pending.config.policy,
        started_at=now - lane.endpoint.age(due.accepted_at, lane.context.earlier(now)),
        now=now,
        draw=lambda: draw,
    )
    blame.remember(due, verdict, ruling, now)
    return ruling


# --- What the answer says about the endpoint ----------------------------------------------------


def _report(
    lane: Lane,
    pending: PendingAttempt,
    judgement: Judgement,
    held_until: float | None,
    now: float,
) -> None:
    """Tell the gate, the origin and the endpoint's record about an answer."""
    gates, gate, group = lane.gates, pending.gate, lane.gates.group
    if pending.url != lane.endpoint.url:  # it says nothing about where the endpoint is by now
        gate.lost()
        group.serve_all()
        return
    if not judgement.unreachable:
        group.reached()
    if judgement.verdict is Verdict.GONE:
        _disable(lane, gate, judgement, now)
        return
    failures = _failures(lane, pending, judgement, now)
    epoch = _epoch(lane, pending, judgement, now)
    _record(lane, pending, judgement, failures, now)
    if judgement.verdict is Verdict.HELD:
        _hold(lane, held_until, now)
    if gate is not gates.current and gate is not gates.shared:
        gate.lost()  # the lane goes by another gate since
        group.serve_all()
        return
    _tell_gate(lane, pending, judgement, failures, epoch=epoch, now=now)
    if gate is gates.own:
        if judgement.alive or failures:
            _own_gate_answered(lane, judgement, now)
    elif failures is None:
        group.leader.serve()
    else:
        group.leader.answered(lane, judgement, now)
        _go_apart_if_alone(lane, judgement, now)


def _epoch(lane: Lane, pending: PendingAttempt, judgement: Judgement, now: float) -> int:
    """Return the pace that an answer speaks for: none if a failure would not have counted either.

    Otherwise retries that pass would hide how many first attempts fail.
    """
    if not judgement.alive:
        return pending.epoch
    ignored = lane.blame.ignores(pending.due, accepted_at=lane.record.accepted_at, now=now)
    return NO_PACE if ignored else pending.epoch


def _tell_gate(  # noqa: PLR0913  all that an answer says to a gate
    lane: Lane,
    pending: PendingAttempt,
    judgement: Judgement,
    failures: int | None,
    *,
    epoch: int,
    now: float,
) -> None:
    """Tell the gate by which the attempt went."""
    gate, group = pending.gate, lane.gates.group
    own = gate is lane.gates.own
    spared = not own and group.leader.spares(lane)
    pending.gate.answered(
        passed=judgement.alive,
        failures=0 if spared else failures or 0,
        epoch=epoch,
        took=now - pending.sent_at,
        asked=judgement.asked if own or group.leader is group else None,
        now=now,
    )


def _disable(lane: Lane, gate: Gate, judgement: Judgement, now: float) -> None:
    """Disable the endpoint: it wants nothing any more."""
    gate.lost()
    lane.stand(Standing.DISABLED, "the receiver said so", now)
    leader = lane.gates.group.leader
    if gate is leader.gate:  # the others wait for this answer
        leader.refused(lane)
        leader.answered(lane, judgement, now)
    elif gate is not lane.gates.own:
        lane.gates.group.serve_all()


def _record(
    lane: Lane, pending: PendingAttempt, judgement: Judgement, failures: int | None, now: float
) -> None:
    """Remember how the endpoint does, by all but a delivery's own failures."""
    if judgement.verdict is Verdict.TAKEN:
        lane.write(lane.record.taken(lane.gates.own.pace, now))
    if judgement.alive:
        lane.blame.succeeded(pending.due)
        if pending.gate.phase is Phase.CLOSED:
            lane.gates.group.add_success(lane.allowance.failing)
        lane.allowance.passed()
    elif failures is not None:
        lane.allowance.failed(now, by_chance=lane.gates.own.fails_by_chance)
        lane.record.failed(now)
        lane.look_after(now)


def _failures(lane: Lane, pending: PendingAttempt, judgement: Judgement, now: float) -> int | None:
    """Return how many failures the gate counts; None if it learns nothing of the endpoint."""
    if judgement.alive:
        return 0
    gate, leader = pending.gate, lane.gates.group.leader
    failures = lane.blame.failed(
        pending.due,
        judgement.verdict,
        phase=gate.phase,
        shared=gate is not lane.gates.own,
        in_a_row=lane.allowance.failing,
        accepted_at=lane.record.accepted_at,
        now=now,
    )
    refused = judgement.verdict is Verdict.REFUSED and failures is not None
    if refused and gate is leader.gate:
        leader.refused(lane)  # what it means, others' answers have to tell
    return failures


def _own_gate_answered(lane: Lane, judgement: Judgement, now: float) -> None:
    """Go on after an answer to the lane's own gate."""
    gate, leader = lane.gates.own, lane.gates.group.leader
    if not leader.shared:
        seen = judgement.unreachable
        leader.saw(lane, passed=judgement.alive, unreachable=seen, now=now)
    completes_row = lane.allowance.failing == RULE.failures
    if completes_row:
        gate.assume(lane.gates.group.history)
    if gate.phase is Phase.OPEN or completes_row:
        lane.tick(now)  # what becomes of this one depends on it
    if gate.phase is not Phase.OPEN and not judgement.alive:
        lane.work.tick(lane)


def _go_apart_if_alone(lane: Lane, judgement: Judgement, now: float) -> None:
    """Leave the others of the origin to their pace if this lane is refused or fails every time.

    A failure may be the pace's, unless the lane failed before others passed and did not pass since.
    """
    gates, leader = lane.gates, lane.gates.group.leader
    if gates.current is gates.own or leader.gate.phase is not Phase.PACED:
        return
    refused = judgement.verdict is Verdict.REFUSED
    if refused and not leader.refuses(lane) and lane.blame.refusals >= RULE.failures:
        phases.go_apart(lane, now)
    failing_since = lane.record.failing_since
    down = judgement.verdict is Verdict.FAILED and failing_since < leader.gate.pace.begun
    if down and lane.blame.failures >= RULE.failures:
        phases.go_apart(lane, now, failing_since)


def _hold(lane: Lane, until: float | None, now: float) -> None:
    """Send nothing for as long as the endpoint asked for, and then at a pace: it was too many."""
    if until is not None:
        lane.gates.group.held(lane, until, now)
        if until > lane.gates.own.pace.held_until:
            lane.gates.own.hold(until)
            lane.save(now)  # whoever owns the lane next has to wait as well
    phases.replay(lane, now)
