"""What an answer says, and what becomes of its delivery: the one place where the service decides.

- `judge` reads an answer: what it says about the message, about the endpoint, and about when to
  come back. Whose failure it is, the message's or the lane's, `core.blame` decides.
- `rule` decides what becomes of the delivery. If the failure is the message's own or not known yet,
  the attempt counts and the delivery's policy decides. If it is the endpoint's or the pace's, the
  delivery keeps its place and its attempts, and only its age can end it.

All of it is pure: values go in, values come out.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from tarry.core.blame import SOON, Whose
from tarry.core.decide import decide
from tarry.core.outcome import FINAL, Again, Done, Failure, GiveUp, Kind, Why
from tarry.core.pace import Phase
from tarry.core.policy import Policy, Statuses
from tarry.core.progress import Progress
from tarry.core.retry_after import parse_date, parse_rate_limit, parse_retry_after
from tarry.service.model.delivery import Reason, State
from tarry.service.model.lane import Due
from tarry.service.wire.exchange import Answer

# --- What the answer says -----------------------------------------------------------------------

REFUSING = frozenset({401, 403, 404, 405})
"""What an endpoint also says that is misconfigured: final only if it takes other deliveries."""
_GONE = 410
_TOO_MANY = 429
_UNAVAILABLE = 503
_TIMEOUTS = frozenset({408, 504})
_OK, _MULTIPLE, _BAD = 200, 300, 400
_SERVER = 500


class Verdict(StrEnum):
    """What an answer says."""

    TAKEN = "taken"
    UNFIT = "unfit"  # this message will never do
    ABORTED = "aborted"  # the receiver does not want this message any more
    GONE = "gone"  # the endpoint does not want any message any more
    REFUSED = "refused"  # not this one, or none at all just now
    HELD = "held"  # too many: come back later
    FAILED = "failed"


TAKEN, HELD = Verdict.TAKEN, Verdict.HELD
"""Plain names for what runs with every delivery: looking up a member takes its time."""


class Judgement(Struct, frozen=True):
    """A verdict; of a failure its kind, and how long the endpoint asks to be left alone.

    `unreachable` is set if no connection could be made: the same for all endpoints of the origin.
    """

    verdict: Verdict
    kind: Kind | None = None
    asked: float | None = None
    unreachable: bool = False

    @property
    def alive(self) -> bool:
        """Whether the endpoint does its work, whatever it thinks of this message."""
        return self.verdict in _ALIVE

    @property
    def private(self) -> bool:
        """Whether it is about this endpoint, said by somebody who may well serve the others."""
        return self.verdict in _PRIVATE


_ALIVE = frozenset({Verdict.TAKEN, Verdict.UNFIT, Verdict.ABORTED})
_PRIVATE = frozenset({Verdict.REFUSED, Verdict.GONE})
_TAKEN = Judgement(Verdict.TAKEN)


def judge(answer: Answer, policy: Policy, *, now: float) -> Judgement:
    """What this answer says, under a policy's statuses. `now` is the wall clock."""
    status = answer.status
    if answer.failure is not None or status is None:
        kind = answer.failure or Kind.PROTOCOL
        return Judgement(Verdict.FAILED, kind, unreachable=answer.unreachable)
    if answer.headers:
        said = dict(answer.headers)
        told = said.get("webhook-delivery", "").strip().lower()
        if told == "disable":
            return Judgement(Verdict.GONE, Kind.PERMANENT)
        if told == "abort-message":
            return Judgement(Verdict.ABORTED, Kind.PERMANENT)
        if not _OK <= status < _MULTIPLE:
            return _failed(status, policy, _asked(said, status, policy, now))
    return _TAKEN if _OK <= status < _MULTIPLE else _failed(status, policy, None)


def _failed(status: int, policy: Policy, asked: float | None) -> Judgement:
    if status == _GONE and status not in policy.statuses.retry:
        return Judgement(Verdict.GONE, Kind.PERMANENT)
    if not _retried(status, policy.statuses):
        verdict = Verdict.REFUSED if status in REFUSING else Verdict.UNFIT
        return Judgement(verdict, Kind.PERMANENT)
    if status == _TOO_MANY:
        return Judgement(Verdict.HELD, Kind.THROTTLED, asked)
    throttled = status == _UNAVAILABLE and asked is not None
    kind = Kind.TIMEOUT if status in _TIMEOUTS else Kind.TRANSIENT
    return Judgement(Verdict.FAILED, Kind.THROTTLED if throttled else kind, asked)


def _retried(status: int, statuses: Statuses) -> bool:
    """Whether a status that is no success may be tried again; a redirection is a failure too."""
    if status in statuses.retry:
        return True
    return status not in statuses.never and not _BAD <= status < _SERVER


def _asked(said: dict[str, str], status: int, policy: Policy, now: float) -> float | None:
    """The wait the endpoint asked for, as far as the policy goes along: never a reason to stop.

    A date is one of the endpoint's own clock, if it says what time it is there.
    """
    there = parse_date(said.get("date"), now=now)
    there = now if there is None else there
    asked = parse_retry_after(said.get("retry-after"), now=there)
    if asked is None and status == _TOO_MANY:
        asked = parse_rate_limit(said, now=there)
    if asked is None or not policy.retry_after.honour:
        return None
    return min(asked, policy.retry_after.at_most)


# --- What becomes of the delivery ---------------------------------------------------------------

HOLD_SPREAD = 0.1
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
    return now + judgement.asked * (1 + HOLD_SPREAD * draw)


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
