"""Decides what an answer means and what the outcome of its delivery is. Only this file decides.

- `judge` reads an answer: what it says about the message, about the endpoint, and about when to
  retry. `core.blame` decides whose failure it is: the message's or the lane's.
- `rule` decides the outcome of the delivery. If the failure is the message's own or not known yet,
  the attempt counts and the delivery's policy decides. If it is the endpoint's or the pace's, the
  delivery keeps its place and its attempts, and only its age can end it.

All functions are pure: values go in, values come out.
"""

from enum import StrEnum
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from tarry.core.blame import SLOWED_RETRIES, Whose
from tarry.core.decide import decide
from tarry.core.outcome import FINAL, Again, Done, Failure, GiveUp, Kind, Why
from tarry.core.pace import Phase
from tarry.core.policy import Policy, Statuses
from tarry.core.progress import Progress
from tarry.core.retry_after import parse_date, parse_rate_limit, parse_retry_after
from tarry.service.model.delivery import Reason, State
from tarry.service.model.lane import Due
from tarry.service.wire.exchange import Answer

# --- What the answer means ----------------------------------------------------------------------

REFUSING = frozenset({401, 403, 404, 405})
"""Statuses that a misconfigured endpoint may return too: final only if it accepts other messages.
"""
_GONE = 410
_TOO_MANY = 429
_UNAVAILABLE = 503
_TIMEOUTS = frozenset({408, 504})
_OK, _MULTIPLE, _BAD = 200, 300, 400
_SERVER = 500
HOLD_SPREAD = 0.1
"""At most this share of a wait that the endpoint asked for is added to it by chance."""


class Verdict(StrEnum):
    """What an answer means for the delivery and its endpoint."""

    ACCEPTED = "accepted"
    UNFIT = "unfit"  # the endpoint will never accept this message
    ABORTED = "aborted"  # the receiver does not want this message any more
    GONE = "gone"  # the endpoint does not want any message any more
    REFUSED = "refused"  # the endpoint refuses this message, or every message for now
    HELD = "held"  # too many requests: retry later
    FAILED = "failed"


ACCEPTED, HELD = Verdict.ACCEPTED, Verdict.HELD
"""Plain names for code that runs with every delivery: looking up a member takes time."""


class Judgement(Struct, frozen=True):
    """A verdict; for a failure also its kind, and the wait that the endpoint `asked` for.

    `unreachable` is set if no connection could be made, which concerns all endpoints of the origin.
    If the endpoint is to receive nothing for that wait, `held_until` says until when.
    """

    verdict: Verdict
    kind: Kind | None = None
    asked: float | None = None
    unreachable: bool = False
    held_until: float | None = None

    @property
    def endpoint_works(self) -> bool:
        """Whether the endpoint works, whether it accepted this message or not."""
        return self.verdict in _ALIVE

    @property
    def concerns_endpoint_alone(self) -> bool:
        """Whether the answer is about this endpoint only: the origin may well serve the others."""
        return self.verdict in _PRIVATE


_ALIVE = frozenset({Verdict.ACCEPTED, Verdict.UNFIT, Verdict.ABORTED})
_PRIVATE = frozenset({Verdict.REFUSED, Verdict.GONE})
_ACCEPTED = Judgement(Verdict.ACCEPTED)


def judge(answer: Answer, policy: Policy, *, now: float, wall: float, draw: float) -> Judgement:
    """Return what this answer means under a policy's statuses.

    `wall` is the wall clock's time, by which dates in the answer are read. The worker's own time,
    `now`, does not follow when that clock is set.
    """
    status = answer.status
    if answer.failure is not None or status is None:
        kind = answer.failure or Kind.PROTOCOL
        return Judgement(Verdict.FAILED, kind, unreachable=answer.unreachable)
    if answer.headers:
        headers = dict(answer.headers)
        wish = headers.get("webhook-delivery", "").strip().lower()
        if wish == "disable":
            return Judgement(Verdict.GONE, Kind.PERMANENT)
        if wish == "abort-message":
            return Judgement(Verdict.ABORTED, Kind.PERMANENT)
        if not _OK <= status < _MULTIPLE:
            asked = _asked(headers, status, policy, wall)
            until = None if asked is None else now + asked * (1 + HOLD_SPREAD * draw)
            return _failed(status, policy, asked, until)
    return _ACCEPTED if _OK <= status < _MULTIPLE else _failed(status, policy)


def _failed(
    status: int, policy: Policy, asked: float | None = None, held_until: float | None = None
) -> Judgement:
    """Judge a response whose status is not a success."""
    if status == _GONE and status not in policy.statuses.retry:
        return Judgement(Verdict.GONE, Kind.PERMANENT)
    if not _retried(status, policy.statuses):
        verdict = Verdict.REFUSED if status in REFUSING else Verdict.UNFIT
        return Judgement(verdict, Kind.PERMANENT)
    if status == _TOO_MANY:
        return Judgement(Verdict.HELD, Kind.THROTTLED, asked, held_until=held_until)
    throttled = status == _UNAVAILABLE and asked is not None
    kind = Kind.TIMEOUT if status in _TIMEOUTS else Kind.TRANSIENT
    return Judgement(Verdict.FAILED, Kind.THROTTLED if throttled else kind, asked)


def _retried(status: int, statuses: Statuses) -> bool:
    """Return whether a status other than success may be retried. A redirection is a failure."""
    if status in statuses.retry:
        return True
    return status not in statuses.never and not _BAD <= status < _SERVER


def _asked(headers: dict[str, str], status: int, policy: Policy, wall: float) -> float | None:
    """Return the wait that the endpoint asked for, as far as the policy honours it.

    A long wait is cut, and never a reason to stop. If the answer has a `date`, times in it are
    taken as those of the endpoint's own clock.
    """
    date = parse_date(headers.get("date"), now=wall)
    there = wall if date is None else date
    asked = parse_retry_after(headers.get("retry-after"), now=there)
    if asked is None and status == _TOO_MANY:
        asked = parse_rate_limit(headers, now=there)
    if asked is None or not policy.retry_after.honour:
        return None
    return min(asked, policy.retry_after.at_most)


# --- The outcome of the delivery ----------------------------------------------------------------


class Fault(Struct, frozen=True):
    """Whose failure it is, and the state of the lane.

    `phase` is that of its gate. `slowed` failures of this delivery were put down to the lane's
    pace.
    """

    whose: Whose
    phase: Phase
    slowed: int = 0


class Ruling(Struct, frozen=True):
    """The outcome of a delivery. With a `pause` it stays ready and waits for these seconds."""

    state: State
    reason: Reason
    attempts: int
    counted: bool = True
    due_at: float | None = None
    memory: float | None = None
    pause: float | None = None
    decision: str = ""


_ENDINGS = {
    Verdict.ACCEPTED: (State.DELIVERED, Reason.DELIVERED),
    Verdict.UNFIT: (State.FAILED, Reason.REFUSED),
    Verdict.ABORTED: (State.FAILED, Reason.ABORTED),
    Verdict.GONE: (State.FAILED, Reason.GONE),
}


def rule_end(due: Due, judgement: Judgement) -> Ruling | None:
    """Return how an answer ends a delivery, whosever failure it is; None if it does not."""
    ending = _ENDINGS.get(judgement.verdict)
    if ending is None:
        return None
    state, reason = ending
    return Ruling(state, reason, due.attempts + 1, decision=state)


def rule_resent(judgement: Judgement) -> Reason:
    """Return why a delivery ended whose only attempt was a resend."""
    _, reason = _ENDINGS.get(judgement.verdict, (State.FAILED, Reason.EXHAUSTED))
    return reason


def rule(  # noqa: PLR0913  a delivery, an answer, with the time and the draw as arguments
    due: Due,
    judgement: Judgement,
    fault: Fault,
    policy: Policy,
    *,
    started_at: float,
    now: float,
    draw: float,
) -> Ruling:
    """Return the outcome of a delivery whose attempt got this judgement, which does not end it.

    `started_at` is when it was accepted, plus the time for which its endpoint was parked.
    """
    verdict, whose = judgement.verdict, fault.whose
    if verdict is Verdict.HELD:
        return _throttled(due, judgement, fault, draw)
    if whose is Whose.ENDPOINT:
        return _kept_ready(due, Reason.LANE_OPEN, "kept until the endpoint is back")
    if whose is Whose.PACE:
        pause, _ = SLOWED_RETRIES.wait(fault.slowed + 1, None, draw)
        return _kept_ready(due, Reason.PACE, "kept while the endpoint recovers", pause)
    if whose is Whose.MESSAGE and verdict is Verdict.REFUSED:
        return Ruling(
            State.FAILED, Reason.REFUSED, due.attempts + 1, decision="refused permanently"
        )
    return _own_failure(due, judgement, policy, started_at=started_at, now=now, draw=draw)


def _kept_ready(due: Due, reason: Reason, decision: str, pause: float | None = None) -> Ruling:
    """Rule that a delivery stays ready, without counting the attempt."""
    return Ruling(
        State.READY,
        reason,
        due.attempts,
        counted=False,
        memory=due.memory,
        pause=pause,
        decision=decision,
    )


def _throttled(due: Due, judgement: Judgement, fault: Fault, draw: float) -> Ruling:
    """Keep a delivery that was throttled; its lane is held if the endpoint asked for a wait."""
    if not judgement.asked:  # the lane is not held, but this delivery must not be retried at once
        pause, _ = SLOWED_RETRIES.wait(fault.slowed + 1, None, draw)
        return _kept_ready(
            due, Reason.PACE, "kept because the endpoint got too many requests", pause
        )
    held = _kept_ready(due, Reason.RETRY_AFTER, "kept because the endpoint asked to wait")
    if fault.phase is not Phase.CLOSED:
        return held
    # The lane knows its hold. The delivery carries it too, so that `explain` can name the time.
    return replace(held, state=State.WAITING, due_at=judgement.held_until)


def _own_failure(  # noqa: PLR0913  as above
    due: Due,
    judgement: Judgement,
    policy: Policy,
    *,
    started_at: float,
    now: float,
    draw: float,
) -> Ruling:
    """Count a failed attempt, and decide by the policy whether and when it is retried."""
    attempts = due.attempts + 1
    # The endpoint's owner may fix a blocked address or a missing page: such failures are retried.
    kind = Kind.TRANSIENT if judgement.kind is None or judgement.kind in FINAL else judgement.kind
    progress = Progress(attempts, started_at, due.memory)
    decision = decide(policy, progress, Failure(kind, judgement.asked), now=now, draw=lambda: draw)
    match decision:
        case Again(delay, memory):
            reason = Reason.BACKOFF if judgement.asked is None else Reason.RETRY_AFTER
            text = f"retry in {delay:.3f} s"
            return Ruling(
                State.WAITING, reason, attempts, due_at=now + delay, memory=memory, decision=text
            )
        case GiveUp(why):
            reason = Reason.AGED if why is Why.WITHIN else Reason.EXHAUSTED
            return Ruling(State.FAILED, reason, attempts, decision=f"given up: {why}")
        case Done():
            raise AssertionError("a failure was decided to be done")
        case _:
            assert_never(decision)
