"""What becomes of a delivery after an attempt: the one place where the service decides.

Whose failure it is, `core.blame` has decided. If it is the message's own or not known yet, the
attempt counts and the delivery's policy decides. If it is the endpoint's or the pace's, the
delivery keeps its place and its attempts, and only its age can end it. Pure.
"""

from collections.abc import Callable
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from tarry.core.blame import SOON, Whose
from tarry.core.decide import decide
from tarry.core.outcome import FINAL, Again, Done, Failure, GiveUp, Kind, Why
from tarry.core.pace import Phase
from tarry.core.policy import Policy
from tarry.core.progress import Progress
from tarry.service.dispatch.outcomes.judge import HELD, Judgement, Verdict
from tarry.service.model.delivery import Reason, State
from tarry.service.model.lane import Due

SPREAD = 0.1
"""At most this share of a wait that the endpoint asked for is added to it by chance."""


class Fault(Struct, frozen=True):
    """Whose failure it is, and how the lane stands.

    `phase` is that of its gate. `slowed` failures of this delivery were put down to the lane's
    pace. The endpoint asked to be left alone until `held_until`.
    """

    whose: Whose
    phase: Phase
    slowed: int = 0
    held_until: float | None = None


class Ruling(Struct, frozen=True):
    """What becomes of a delivery. With a `pause` it stays ready and waits for these seconds."""

    state: State
    reason: Reason
    attempts: int
    counted: bool = True
    due_at: float | None = None
    memory: float | None = None
    pause: float | None = None
    decision: str = ""


_ENDINGS = {
    Verdict.TAKEN: (State.DELIVERED, Reason.DELIVERED),
    Verdict.UNFIT: (State.FAILED, Reason.REFUSED),
    Verdict.ABORTED: (State.FAILED, Reason.ABORTED),
    Verdict.GONE: (State.FAILED, Reason.GONE),
}


def rule_end(due: Due, judgement: Judgement) -> Ruling | None:
    """Return how an answer ends a delivery, whoever else has failed; None if it does not."""
    ending = _ENDINGS.get(judgement.verdict)
    if ending is None:
        return None
    state, reason = ending
    return Ruling(state, reason, due.attempts + 1, decision=state)


def rule_resent(judgement: Judgement) -> Reason:
    """Return why a delivery ended whose only attempt was a resend."""
    _, reason = _ENDINGS.get(judgement.verdict, (State.FAILED, Reason.EXHAUSTED))
    return reason


def hold_until(judgement: Judgement, *, now: float, draw: float) -> float | None:
    """Return until when the endpoint asked to be left alone, and a little longer by chance."""
    if judgement.verdict is not HELD or judgement.asked is None:
        return None
    return now + judgement.asked * (1 + SPREAD * draw)


def rule(  # noqa: PLR0913  a delivery, an answer, and time and chance as arguments
    due: Due,
    judgement: Judgement,
    fault: Fault,
    policy: Policy,
    *,
    started_at: float,
    now: float,
    draw: Callable[[], float],
) -> Ruling:
    """Return what becomes of a delivery whose attempt was answered so, `now`.

    `started_at` is when it was accepted, later by the time it spent parked.
    """
    verdict, whose = judgement.verdict, fault.whose
    if (ruling := rule_end(due, judgement)) is not None:
        return ruling
    if verdict is Verdict.HELD:
        return _held(due, judgement, fault, draw)
    if whose is Whose.ENDPOINT:
        return _kept(due, Reason.LANE_OPEN, "the lane's failure: open")
    if whose is Whose.PACE:
        pause, _ = SOON.wait(fault.slowed + 1, None, draw())
        return _kept(due, Reason.PACE, "the lane's failure: paced", pause)
    if whose is Whose.MESSAGE and verdict is Verdict.REFUSED:
        return Ruling(State.FAILED, Reason.REFUSED, due.attempts + 1, decision="refused for good")
    return _own(due, judgement, policy, started_at=started_at, now=now, draw=draw)


def _kept(due: Due, reason: Reason, decision: str, pause: float | None = None) -> Ruling:
    return Ruling(
        State.READY,
        reason,
        due.attempts,
        counted=False,
        memory=due.memory,
        pause=pause,
        decision=decision,
    )


def _held(due: Due, judgement: Judgement, fault: Fault, draw: Callable[[], float]) -> Ruling:
    """Keep a delivery that was throttled; its lane is held if the endpoint said until when."""
    decision = "the lane's failure: held"
    if not judgement.asked:  # nothing is held, but this delivery must not be retried at once
        pause, _ = SOON.wait(fault.slowed + 1, None, draw())
        return _kept(due, Reason.PACE, decision, pause)
    held = _kept(due, Reason.RETRY_AFTER, decision)
    if fault.phase is not Phase.CLOSED:
        return held
    # The lane knows its hold. The delivery carries it too, so that `explain` can name the time.
    return replace(held, state=State.WAITING, due_at=fault.held_until)


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
