"""What becomes of a delivery after an attempt: the one place where the service decides.

Two kinds of failure. The delivery's own, because the endpoint takes others: its policy decides,
and the attempt counts. The lane's, because the endpoint is down, overloaded or refuses everything:
the delivery keeps its place and its attempts, and only its age can end it. Pure.
"""

from collections.abc import Callable
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from tarry.core.backoff import Exponential
from tarry.core.decide import decide
from tarry.core.jitter import Equal
from tarry.core.outcome import FINAL, Again, Done, Failure, GiveUp, Kind, Why
from tarry.core.pace import Phase
from tarry.core.policy import Policy
from tarry.core.progress import Progress
from tarry.service.dispatch.outcomes.judge import Judgement, Verdict
from tarry.service.model.delivery import Reason, State
from tarry.service.model.lane import Due

MOMENT = Policy(backoff=Exponential(base=0.25, cap=2), jitter=Equal(), attempts=None, within=None)
"""When a delivery goes again that failed while its lane was finding its pace, or was too many."""
SPREAD = 0.1
"""What is added by chance to a wait that was asked for, at most, as a share of it."""
MOMENTS = 3
"""How often that is put down to the pace before it is the delivery's own failure."""


class Lay(Struct, frozen=True):
    """How the lane lay when the answer came.

    `proven`: it has taken another delivery since it first refused this one, or since this one
    failed. `moments`: how often this one failed while the lane was finding its pace.
    """

    phase: Phase
    proven: bool = False
    moments: int = 0


class Ruling(Struct, frozen=True):
    """What becomes of a delivery. With `moment` it stays ready, but not before so many seconds."""

    state: State
    reason: Reason
    attempts: int
    counted: bool = True
    due_at: float | None = None
    memory: float | None = None
    moment: float | None = None
    decision: str = ""


_ENDINGS = {
    Verdict.TAKEN: (State.DELIVERED, Reason.DELIVERED),
    Verdict.UNFIT: (State.FAILED, Reason.REFUSED),
    Verdict.ABORTED: (State.FAILED, Reason.ABORTED),
    Verdict.GONE: (State.FAILED, Reason.GONE),
}


def rule_resent(judgement: Judgement) -> Reason:
    """How a delivery ended of which a resend was the only attempt."""
    _, reason = _ENDINGS.get(judgement.verdict, (State.FAILED, Reason.EXHAUSTED))
    return reason


def rule(  # noqa: PLR0913  a delivery, an answer, and time and chance as arguments
    due: Due,
    judgement: Judgement,
    lay: Lay,
    policy: Policy,
    *,
    started_at: float,
    now: float,
    draw: Callable[[], float],
) -> Ruling:
    """What becomes of a delivery whose attempt was answered so, `now`.

    `started_at` is when it was accepted, later by the time it spent parked.
    """
    verdict = judgement.verdict
    if verdict in _ENDINGS:
        state, reason = _ENDINGS[verdict]
        return Ruling(state, reason, due.attempts + 1, decision=state)
    if verdict is Verdict.REFUSED and lay.proven and lay.phase is not Phase.OPEN:
        return Ruling(State.FAILED, Reason.REFUSED, due.attempts + 1, decision="refused for good")
    if verdict is Verdict.HELD:
        return _held(due, judgement.asked, lay, now=now, draw=draw)
    if lay.phase is Phase.OPEN:
        return _kept(due, Reason.LANE_OPEN, "the lane's failure: open")
    own = lay.proven or lay.moments >= MOMENTS
    if lay.phase is Phase.PACED and verdict is Verdict.FAILED and not own:
        moment, _ = MOMENT.wait(lay.moments + 1, None, draw())
        return _kept(due, Reason.PACE, "the lane's failure: paced", moment)
    return _own(due, judgement, policy, started_at=started_at, now=now, draw=draw)


def _kept(due: Due, reason: Reason, decision: str, moment: float | None = None) -> Ruling:
    return Ruling(
        State.READY,
        reason,
        due.attempts,
        counted=False,
        memory=due.memory,
        moment=moment,
        decision=decision,
    )


def _held(
    due: Due, asked: float | None, lay: Lay, *, now: float, draw: Callable[[], float]
) -> Ruling:
    """One that was too many; the lane is held if the endpoint said until when."""
    said = "the lane's failure: held"
    if not asked:  # nothing is held, but this one must not go again at once
        moment, _ = MOMENT.wait(lay.moments + 1, None, draw())
        return _kept(due, Reason.PACE, said, moment)
    held = _kept(due, Reason.RETRY_AFTER, said)
    if lay.phase is not Phase.CLOSED:
        return held
    # The lane is held, and knows; but who asks when this one goes is told by the delivery itself.
    until = now + asked * (1 + SPREAD * draw())
    return replace(held, state=State.WAITING, due_at=until)


def _own(  # noqa: PLR0913  as above
    due: Due,
    judgement: Judgement,
    policy: Policy,
    *,
    started_at: float,
    now: float,
    draw: Callable[[], float],
) -> Ruling:
    attempts = due.attempts + 1
    # An address that is refused, or a page not found, may be mended by the endpoint's owner.
    kind = Kind.TRANSIENT if judgement.kind is None or judgement.kind in FINAL else judgement.kind
    progress = Progress(attempts, started_at, due.memory)
    decision = decide(policy, progress, Failure(kind, judgement.asked), now=now, draw=draw)
    match decision:
        case Again(delay, memory):
            reason = Reason.BACKOFF if judgement.asked is None else Reason.RETRY_AFTER
            said = f"again in {delay:.3f} s"
            return Ruling(
                State.WAITING, reason, attempts, due_at=now + delay, memory=memory, decision=said
            )
        case GiveUp(why):
            reason = Reason.AGED if why is Why.WITHIN else Reason.EXHAUSTED
            return Ruling(State.FAILED, reason, attempts, decision=f"given up: {why}")
        case Done():
            raise AssertionError("a failure was decided to be done")
        case _:
            assert_never(decision)
