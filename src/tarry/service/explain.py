"""Explain why a delivery waits or how it ended, as a reason and in sentences.

A delivery's row has its own reason to wait. The lane's reasons are in the lane's row and, while
several endpoints of an origin fail together, in the origin's record. So nothing is written into a
million rows when an endpoint goes down.
"""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tarry.core.pace import Phase
from tarry.errors import PolicyError, TarryError
from tarry.service.dispatch.lane.allowance import RETRY_RULE
from tarry.service.model.attempt import Attempt
from tarry.service.model.delivery import ENDED, Delivery, Reason, State
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import LaneRow
from tarry.service.model.message import Message
from tarry.service.model.origin import group_name
from tarry.service.model.policy import read_policy
from tarry.service.model.waits import WAITS, End, Holder
from tarry.service.model.words import sentence
from tarry.service.wire.egress import origin_of
from tarry.service.wire.exchange import TIMEOUT

SENDING_TIME = 1.0
"""A delivery is sent within this many seconds of its due time, if nothing else delays it."""
OVERDUE = 30.0
"""A delivery without a reason to wait is overdue if its endpoint was sent nothing for this many
seconds, and for as long as one request may take."""
IN_LINE = 5.0
"""A delivery without a reason to wait is behind other requests if it waits for longer than this."""

_STANDINGS = {
    Standing.PAUSED: Reason.PAUSED,
    Standing.DISABLED: Reason.DISABLED,
    Standing.PARKED: Reason.DISABLED,
    Standing.DELETED: Reason.DISCARDED,
}


class Explanation(Struct, frozen=True, kw_only=True):
    """Why a delivery waits or how it ended, its next attempt if known, and sentences.

    An `overdue` delivery should have been sent: no worker is running, or tarry has a defect.
    """

    state: State
    reason: Reason
    next_at: float | None = None
    overdue: bool = False
    sentences: tuple[str, ...] = ()


class PaceScope(StrEnum):
    """Whether a lane's phase comes from its own endpoint, or from several at its origin."""

    ENDPOINT = "endpoint"
    APPLICATION = "application"  # several endpoints of its application at its origin
    ORIGIN = "origin"  # endpoints of several applications there, or no server answers there


class _Pace(Struct, frozen=True):
    """The fields of a pacer's state that are used here."""

    phase: Phase = Phase.CLOSED
    rate: float | None = None
    probe_at: float | None = None
    capacity: float | None = None
    down_since: float | None = None
    held_until: float = 0.0

    def comes_first(self, at: float | None) -> float | None:
        """Return when something planned for `at` is sent: not before the endpoint's Retry-After."""
        return at if at is None else max(at, self.held_until)


def explain(  # noqa: PLR0913  a delivery, with what is stored about it and its endpoint
    delivery: Delivery,
    row: LaneRow,
    attempts: list[Attempt],
    *,
    now: float,
    origins: Sequence[bytes] = (),
    attempted_at: float | None = None,
    tenant: bool = False,
) -> Explanation:
    """Explain a delivery from stored data; `origins` are the records of `origins_of` its lane.

    `attempted_at` is when the endpoint's last attempt ended, None if there was none. For a
    `tenant`, a failure of the whole origin looks like one of the endpoint, without its pace.
    """
    past = (*map(_attempt_sentence, attempts), *_given_back(delivery, attempts))
    if delivery.state in ENDED:
        ending = sentence(delivery.state, delivery.reason)
        return Explanation(state=delivery.state, reason=delivery.reason, sentences=(ending, *past))
    scope, pace = _controlling_pace(row, origins)
    reason, goes_at = _reason_and_end(delivery, row, pace, now)
    is_held, since = _is_held(reason), _eligible_since(delivery)
    quiet = now - max(since, attempted_at or 0.0)
    overdue = not is_held and quiet >= OVERDUE + _timeout(row)
    is_in_line = not (is_held or overdue) and now - since >= IN_LINE
    return Explanation(
        state=delivery.state,
        reason=reason,
        next_at=goes_at,
        overdue=overdue,
        sentences=(
            _wait_sentence(
                reason, goes_at, row, scope, _visible_pace(pace, scope, row, tenant=tenant)
            ),
            *([_WHOLE] if _is_of_all(reason, scope) and not tenant else []),
            *([_OVERDUE.format(quiet)] if overdue else []),
            *([_in_line(attempted_at)] if is_in_line else []),
            *past,
        ),
    )


def never_meant(message: Message, endpoint: Endpoint) -> str:
    """Return why a message has no delivery to an endpoint, judging by its present settings."""
    if endpoint.created_at > message.accepted_at:
        return "the endpoint was created after the message was sent; replay-missing sends it there"
    if endpoint.event_types is not None and message.event_type not in endpoint.event_types:
        return f"the endpoint only accepts the event types {', '.join(endpoint.event_types)}"
    if not endpoint.wants(message.event_type, message.channels):
        return f"the endpoint only accepts the channels {', '.join(endpoint.channels or ())}"
    return (
        "the endpoint did not accept its event type or channels when the message was sent, or the"
        " message was sent to another endpoint only"
    )


def waits(
    delivery: Delivery, row: LaneRow, *, now: float, origins: Sequence[bytes] = ()
) -> tuple[Reason, float | None]:
    """Return why a live delivery waits, and the next attempt or probe, if that is known."""
    _, pace = _controlling_pace(row, origins)
    return _reason_and_end(delivery, row, pace, now)


def origins_of(row: LaneRow) -> list[str]:
    """Return the names of the records about failures that a lane shares with others.

    The first is for its whole origin, the second for its application there. They are made from
    its URL and not from its own record, which names an origin only once it has data about it.
    """
    try:
        origin = origin_of(row.endpoint.url)
    except TarryError:
        return []
    return [origin, group_name(origin, row.application.id)]


class Outlook(Struct, frozen=True, kw_only=True):
    """The state and forecast of a lane, as far as they are known.

    `scope` says whose failures set the phase. `rate` is the pace in deliveries a second, and
    `capacity` the rate that the endpoint was learned to accept. During an outage, `down_since`
    is its start and `probe_at` the next probe. `done_at` is when no delivery waits any more.
    """

    phase: Phase
    scope: PaceScope
    rate: float | None = None
    capacity: float | None = None
    down_since: float | None = None
    probe_at: float | None = None
    done_at: float | None = None


def outlook(
    row: LaneRow, *, now: float, origins: Sequence[bytes] = (), tenant: bool = False
) -> Outlook:
    """Return the state and forecast of a lane; `origins` are the records of `origins_of` it.

    A `tenant` does not learn that its whole origin is affected, nor its pace, its capacity and the
    start of its outage: these tell of the endpoints of other tenants there.
    """
    scope, pace = _controlling_pace(row, origins)
    down = pace.phase is Phase.OPEN
    speed = max(pace.rate or 0.0, pace.capacity or 0.0) if pace.phase is Phase.PACED else 0.0
    speed = min(speed, _rate(row))
    enabled = row.endpoint.standing is Standing.ENABLED
    foreseen = enabled and speed > 0 and row.waiting > 0 and scope is PaceScope.ENDPOINT
    pace = _visible_pace(pace, scope, row, tenant=tenant)
    if tenant and scope is PaceScope.ORIGIN:
        scope = PaceScope.ENDPOINT
    return Outlook(
        phase=pace.phase,
        scope=scope,
        rate=pace.rate if pace.phase is Phase.PACED else None,
        capacity=pace.capacity or _read(row.known.pace).capacity,
        down_since=pace.down_since if down else None,
        probe_at=pace.comes_first(pace.probe_at) if down and enabled else None,
        done_at=max(now, pace.held_until) + row.waiting / speed if foreseen else None,
    )


def _controlling_pace(row: LaneRow, origins: Sequence[bytes]) -> tuple[PaceScope, _Pace]:
    """Return the pace that controls a lane, and its scope.

    It is the pace of the whole origin while the origin fails or recovers, otherwise the pace of the
    lane's application there, otherwise the lane's own. While the origin recovers, an application
    that still fails or recovers there keeps its own pace.
    """
    own = _read(row.known.pace)
    whole, group = map(_read, origins or (b"", b""))
    group_uses_own_gate = whole.phase is Phase.PACED and group.phase is not Phase.CLOSED
    if not group_uses_own_gate and _is_shared(own, whole):
        return PaceScope.ORIGIN, _held(own, whole)
    if _is_shared(own, group):
        return PaceScope.APPLICATION, _held(own, group)
    return PaceScope.ENDPOINT, own


def _held(own: _Pace, shared: _Pace) -> _Pace:
    """Return a shared pace for a lane that may have its own Retry-After."""
    return replace(shared, held_until=max(own.held_until, shared.held_until))


def _is_shared(own: _Pace, others: _Pace) -> bool:
    """Return whether a lane follows a shared pace.

    A lane that follows a shared pace has closed its own gate. If its own gate is open, either the
    lane fails independently of the others, or another worker found them down and its record may be
    old.
    """
    return others.phase is not Phase.CLOSED and own.phase is not Phase.OPEN


def _read(pace: bytes) -> _Pace:
    return msgspec.json.decode(pace, type=_Pace) if pace else _Pace()


def _reason_and_end(
    delivery: Delivery, row: LaneRow, pace: _Pace, now: float
) -> tuple[Reason, float | None]:
    """Return why a live delivery waits, and until when if that is known."""
    if row.endpoint.standing is not Standing.ENABLED:
        return _STANDINGS[row.endpoint.standing], None
    if pace.phase is Phase.OPEN and not _is_for_later(delivery, pace):
        return Reason.LANE_OPEN, pace.comes_first(pace.probe_at)
    if pace.held_until > max(now, delivery.due_at or 0.0):
        return Reason.RETRY_AFTER, pace.held_until
    if delivery.state is State.WAITING and (delivery.due_at or 0.0) > now - SENDING_TIME:
        return delivery.reason, delivery.due_at
    if pace.phase is Phase.PACED:
        return (_owner_limit(row) if _goes_slower(row, pace) else Reason.PACE), None
    return _waits_in_healthy_lane(delivery, row, now), None


def _waits_in_healthy_lane(delivery: Delivery, row: LaneRow, now: float) -> Reason:
    """Return why a delivery waits that may be sent, in a lane that is neither down nor recovering.

    A delivery that its lane held keeps the lane's reason until its next attempt. That reason is
    over as soon as the lane is healthy. So is the due time of a delivery, once it has passed.
    """
    limit = _owner_limit(row)
    if limit is not Reason.NEW:
        return limit
    if delivery.state is State.WAITING:
        return Reason.BUDGET if _may_be_over_budget(delivery, row, now) else Reason.NEW
    return delivery.reason if WAITS[delivery.reason].holder is Holder.DELIVERY else Reason.NEW


def _may_be_over_budget(delivery: Delivery, row: LaneRow, now: float) -> bool:
    """Return whether the retry budget may still hold a delivery whose due time has passed.

    The budget is known to the lane's worker only. But it always allows some retries, so it holds a
    retry no longer than until all deliveries of the lane could have been retried.
    """
    longest = RETRY_RULE.window * (1 + row.waiting / RETRY_RULE.bootstrap)
    return delivery.attempts > 0 and now - (delivery.due_at or 0.0) <= longest


def _is_for_later(delivery: Delivery, pace: _Pace) -> bool:
    """Return whether the next probe is before a scheduled delivery's time, so cannot use it."""
    scheduled = delivery.state is State.WAITING and delivery.reason is Reason.SCHEDULED
    return scheduled and (delivery.due_at or 0.0) > (pace.comes_first(pace.probe_at) or 0.0)


def _goes_slower(row: LaneRow, pace: _Pace) -> bool:
    """Return whether an endpoint's own settings delay its deliveries more than its pace does."""
    return _owner_limit(row) is Reason.FIFO or _rate(row) < (pace.rate or math.inf)


def _rate(row: LaneRow) -> float:
    """Return the owner's limit of attempts a second, infinity for none."""
    rates = (row.endpoint.rate, row.application.rate)
    return min((rate for rate in rates if rate is not None), default=math.inf)


def _owner_limit(row: LaneRow) -> Reason:
    """Return the limit that its owner's settings put on a lane, NEW for none.

    The only delivery of an ordered endpoint does not wait for an earlier one.
    """
    if row.endpoint.fifo and row.waiting > 1:
        return Reason.FIFO
    if _rate(row) < math.inf:
        return Reason.RATE
    return Reason.CONCURRENCY if row.endpoint.concurrency else Reason.NEW


_FEWER = "the longer an outage lasts, the rarer the probes"
_SHARED_PACE = "Several endpoints of the application at this host are affected."
_WHOLE = "The whole host is affected, endpoints of other applications included."


def _visible_pace(pace: _Pace, scope: PaceScope, row: LaneRow, *, tenant: bool) -> _Pace:
    """Return what the reader may know of a pace: that of an origin tells of other tenants."""
    if not tenant or scope is not PaceScope.ORIGIN:
        return pace
    own = _read(row.known.pace)
    return replace(pace, rate=None, capacity=own.capacity, down_since=own.down_since)


def _is_of_all(reason: Reason, scope: PaceScope) -> bool:
    """Return whether a delivery waits because its whole origin fails or recovers."""
    return scope is PaceScope.ORIGIN and reason in {Reason.LANE_OPEN, Reason.PACE}


def _wait_sentence(
    reason: Reason, goes_at: float | None, row: LaneRow, scope: PaceScope, pace: _Pace
) -> str:
    """Return why a delivery waits, and until when; nothing in it is about other tenants."""
    parts = [sentence(State.WAITING, reason)]
    if reason in {Reason.LANE_OPEN, Reason.PACE}:
        parts += [_SHARED_PACE] if scope is PaceScope.APPLICATION else []
        speed = f" and sent at {pace.rate:.3g}/s" if reason is Reason.PACE and pace.rate else ""
        waiting = "1 delivery is" if row.waiting == 1 else f"{row.waiting} deliveries are"
        parts.append(f"{waiting} waiting{speed}.")
    if reason is Reason.LANE_OPEN and pace.down_since:
        parts.append(f"It is down since {_instant(pace.down_since)}: {_FEWER}.")
    if goes_at is not None:
        next_step = "probe" if reason is Reason.LANE_OPEN else "attempt"
        parts.append(f"Next {next_step} at {_instant(goes_at)}.")
    return " ".join(parts)


_OVERDUE = (
    "It is overdue: it has no reason to wait, but the endpoint was sent nothing for {:.0f} s."
    " Check that a worker is running: tarry doctor."
)


def _is_held(reason: Reason) -> bool:
    """Return whether a live delivery waits for anything but a worker that sends it."""
    return reason not in WAITS or WAITS[reason].end is not End.READ


def _timeout(row: LaneRow) -> float:
    """Return how long a request to an endpoint may take."""
    document = row.endpoint.policy or row.application.policy or row.policy
    try:
        return (document is not None and read_policy(document).attempt_timeout) or TIMEOUT
    except PolicyError:
        return TIMEOUT


def _eligible_since(delivery: Delivery) -> float:
    """Return since when a delivery may be sent, as far as it is up to the delivery."""
    return max(delivery.accepted_at, delivery.due_at or 0.0)


def _in_line(attempted_at: float | None) -> str:
    """Return what a delivery waits for that nothing holds, but that did not arrive at once."""
    last = "none has ended so far"
    if attempted_at is not None:
        last = f"the last ended at {_instant(attempted_at)}"
    return (
        "It is in flight, or is sent when a request before it ends: an endpoint gets a limited"
        f" number at a time, and {last}."
    )


_OTHERS = "An outage of the endpoint, a recovery or a replay gave back the others."


def _given_back(delivery: Delivery, attempts: Sequence[Attempt]) -> tuple[str, ...]:
    """Return a sentence if fewer attempts count for the policy than were counted when made."""
    if sum(attempt.counted for attempt in attempts) <= delivery.attempts:
        return ()
    return (f"Attempts that still count: {delivery.attempts}. {_OTHERS}",)


def _attempt_sentence(attempt: Attempt) -> str:
    """Return a sentence about an attempt: response, whether it counted, and what followed."""
    response = attempt.status or attempt.kind or "no response"
    detail = f" ({attempt.detail})" if attempt.detail else ""
    counted = "counted" if attempt.counted else "not counted"
    consequence = attempt.decision or attempt.trigger
    at = _instant(attempt.at)
    return f"Attempt {attempt.number} at {at}: {response}{detail}; {counted}; {consequence}."


def _instant(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
