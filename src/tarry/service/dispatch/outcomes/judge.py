"""What an answer says: about the message, about the endpoint, and about when to come back.

Pure: an answer goes in, a judgement comes out. Whose failure it is, the delivery's own or the
lane's, is for `settle` to say, which knows how the lane stands.
"""

from enum import StrEnum

from msgspec import Struct

from tarry.core.outcome import Kind
from tarry.core.policy import Policy, Statuses
from tarry.core.retry_after import parse_date, parse_rate_limit, parse_retry_after
from tarry.service.wire.exchange import Answer

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
