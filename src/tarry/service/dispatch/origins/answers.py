"""How an origin handles answers: they may open its gate, or make a group use its own gate.

A success drops all evidence: see `Origin.passed`.
"""

from tarry.core.pace import OPEN, PACED
from tarry.service.dispatch.limits.gate import Gate
from tarry.service.dispatch.origins.member import Member
from tarry.service.dispatch.origins.origin import Origin
from tarry.service.dispatch.outcomes.judge import Judgement

# --- At a lane's own gate -----------------------------------------------------------------------


def count_failure(group: Origin, lane: Member, *, unreachable: bool, now: float) -> None:
    """Count a failure of a lane of this group that uses its own gate."""
    if group.whole is not None:
        _count_at(group.whole, lane, lane.gate, unreachable=unreachable, now=now)
    if len(group.lanes) > 1 and group.gate_level is group:
        _count_at(group, lane, lane.gate, unreachable=unreachable, now=now)


def _count_at(origin: Origin, lane: Member, gate: Gate, *, unreachable: bool, now: float) -> None:
    """Count a failure of a lane that uses another `gate`, and open this one if it is down.

    A gate that was open before another lane passed is no evidence, and a failure by chance is none
    either.
    """
    evidence = origin.evidence
    known = gate.phase is OPEN and gate.pace.down_since <= evidence.passed_at
    if origin.shared or ((known or gate.fails_by_chance) and not unreachable):
        return
    evidence.add_failure(lane, unreachable=unreachable, now=now)
    if not origin.open_whole(now) and evidence.is_down(now):
        origin.open(now)


# --- At the shared gate -------------------------------------------------------------------------


def evaluate_answer(origin: Origin, lane: Member, judgement: Judgement, now: float) -> None:
    """Evaluate an answer that the gate of this origin has counted."""
    evidence, group = origin.evidence, origin.group_of(lane)
    before = evidence.failures
    if judgement.endpoint_works:
        group.passed(now)
        evidence.forget_refusal(lane.number)
    elif not judgement.concerns_endpoint_alone:
        evidence.drop_refusals()
        _failed(origin, group, lane, unreachable=judgement.unreachable, now=now)
    elif evidence.refuses(lane.number):
        _failed(origin, group, lane, unreachable=False, now=now)
        _refused_all(origin, group, now)
    if origin.gate.phase is OPEN:
        origin.probe_again(now, refused=judgement.concerns_endpoint_alone, before=before)
        origin.tick(now)
    origin.serve()


def _failed(origin: Origin, group: Origin, lane: Member, *, unreachable: bool, now: float) -> None:
    """Count a failure at this gate for both levels."""
    origin.evidence.add_failure(lane, unreachable=unreachable, now=now)
    if origin is not group:
        group.evidence.add_failure(lane, unreachable=unreachable, now=now)
        if origin.gate.phase is PACED:
            row = origin.gate.row_beyond_chance(now, besides=group.evidence.failures.count)
            if group.evidence.fails_alone(origin.evidence.passed_at, row):
                origin.let_group_use_own_gate(group, now)
    elif group.whole is not None:
        _count_at(group.whole, lane, group.gate, unreachable=unreachable, now=now)
    elif group.gate.phase is OPEN:
        group.open_whole(now)


def _refused_all(origin: Origin, group: Origin, now: float) -> None:
    """Open a paced gate at once if all are refused: a slower pace does not help."""
    if origin.gate.phase is not PACED:
        return
    if origin.evidence.is_down(now):
        origin.open(now)
    elif origin is not group and group.evidence.is_down(now):
        origin.let_group_use_own_gate(group, now)


def count_refusal(origin: Origin, lane: Member) -> None:
    """Count a refusal of a lane at this gate, until an attempt passes."""
    if lane.number in origin.evidence.refused_alone and origin.gate.phase is PACED:
        return  # others passed after an earlier refusal of this lane
    origin.evidence.add_refusal(lane.number)


def spares(origin: Origin, lane: Member) -> bool:
    """Return whether a failure of this lane is no evidence against the pace of this gate.

    This applies to an application that has only failed since before the gate came back.
    """
    group = origin.group_of(lane)
    return origin is not group and group.evidence.fails_since_before(origin.gate.pace.begun)
