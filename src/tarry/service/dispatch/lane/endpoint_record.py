"""The endpoint's record: what a lane saves of it, when its owner is notified, when it is parked."""

import math
from collections.abc import Callable

from msgspec.structs import replace

from tarry.core.pace import Pace
from tarry.service.dispatch.clock import LONG_AGO
from tarry.service.dispatch.limits.gate import write_pace
from tarry.service.model.attempt import Settlement
from tarry.service.model.delivery import DELIVERED, FAILED, WAITING, Reason
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import Change, Known, LaneRow, Notice
from tarry.service.model.settings import Parking

SAVED_EVERY = 30.0
"""How often the record of a healthy endpoint is saved, in seconds. The saved time of its last
success, which users see, lags behind the real one by at most this."""
NOTIFIED = frozenset({Reason.EXHAUSTED, Reason.AGED, Reason.REFUSED, Reason.ABORTED})
"""The reasons of failed deliveries for which the endpoint's owner gets a notice each."""
TROUBLED = 4
"""Attempts after which the owner gets a notice that a delivery fails, or succeeded after all."""

Note = Callable[[str, str, str, float, dict[str, str | float | None]], Notice]
"""Creates a notice from an application, its endpoint, a kind, a time and facts."""


class EndpointRecord:
    """Holds what is known of one endpoint. Its methods return the change to save, if any."""

    __slots__ = ("_epoch", "_lane", "_note", "_parking", "_recorded_at", "accepted_at", "known")

    def __init__(self, row: LaneRow, parking: Parking, note: Note, *, epoch: int) -> None:
        self.known = row.known
        accepted_at = row.known.accepted_at
        self.accepted_at = LONG_AGO if accepted_at is None else accepted_at
        self._lane = row.lane
        self._epoch = epoch
        self._parking = parking
        self._note = note
        self._recorded_at = self.accepted_at

    @property
    def is_healthy(self) -> bool:
        """Whether no attempt failed since the endpoint accepted a delivery, or ever."""
        return not self.known.failures

    @property
    def failing_since(self) -> float:
        """When the endpoint first failed after its last success; infinity if it did not."""
        since = self.known.failing_since
        return math.inf if since is None else since

    def accepted(self, pace: Pace, now: float) -> Change | None:
        """Record a delivery that the endpoint accepted."""
        self.accepted_at = now
        if self.known.failures:
            self.known = after_success(self.known, now)
            return self.save(pace, now)
        # It counts from the last save, not from when the lane was loaded: lanes may rest soon.
        return self.save(pace, now) if now - self._recorded_at > SAVED_EVERY else None

    def failed(self, now: float) -> None:
        """Record a failed attempt."""
        self.known = after_failure(self.known, now)

    def warn_or_park(self, endpoint: Endpoint, pace: Pace, now: float) -> Change | None:
        """Return the change that warns the owner, or parks the endpoint, once it is time."""
        if endpoint.standing is not Standing.ENABLED:
            return None
        if self.known.warned >= 1:  # it was parked, and its owner has enabled it since
            self.known = without_failures(self.known)
        stage = parking_stage(self.known, self._parking, now=now)
        if stage <= self.known.warned:
            return None
        self.known = replace(self.known, warned=stage)
        facts: dict[str, str | float | None] = {"since": self.known.failing_since}
        if stage >= 1:
            facts["why"] = "nothing was taken for too long"
            return self.change_standing(endpoint, Standing.PARKED, pace, now, facts)
        facts["share"] = stage
        notice = self._note(endpoint.application, endpoint.id, "endpoint.failing", now, facts)
        return replace(self.save(pace, now), notices=(notice,))

    def change_standing(
        self,
        endpoint: Endpoint,
        standing: Standing,
        pace: Pace,
        now: float,
        facts: dict[str, str | float | None],
    ) -> Change:
        """Return the change that gives the endpoint a new standing and notifies its owner."""
        kind = "endpoint.paused" if standing is Standing.PAUSED else "endpoint.disabled"
        notice = self._note(endpoint.application, endpoint.id, kind, now, facts)
        return replace(self.save(pace, now), standing=standing, notices=(notice,))

    def notice_of_delivery(
        self, endpoint: Endpoint, message: str, made: Settlement, now: float
    ) -> Change | None:
        """Return the notice to the owner that a delivery failed, keeps failing, or recovered."""
        kind = notice_kind(made)
        if kind is None:
            return None
        facts: dict[str, str | float | None] = {"message": message, "reason": made.reason}
        if (last := made.attempt) is not None:
            facts |= {"attempt": last.id, "status": last.status, "attempted_at": last.at}
        notice = self._note(endpoint.application, endpoint.id, kind, now, facts)
        return Change(lane=self._lane, epoch=self._epoch, at=now, notices=(notice,))

    def save(self, pace: Pace, now: float) -> Change:
        """Return the change that saves what is known now."""
        self._recorded_at = self.accepted_at
        accepted_at = None if self.accepted_at == LONG_AGO else self.accepted_at
        known = replace(self.known, pace=write_pace(pace), accepted_at=accepted_at)
        return Change(lane=self._lane, epoch=self._epoch, at=now, known=known)

    def set_origin(self, origin: str) -> bool:
        """Set the origin; return whether it is another one, whose failures start from zero."""
        if self.known.origin == origin:
            return False
        self.known = replace(without_failures(self.known), origin=origin)
        return True


def notice_kind(made: Settlement) -> str | None:
    """Return the kind of notice that a settlement causes, if any."""
    if made.state is FAILED:
        return "message.attempt.exhausted" if made.reason in NOTIFIED else None
    if made.attempt is None or not made.attempt.counted:
        return None
    if made.state is WAITING and made.attempts == TROUBLED:
        return "message.attempt.failing"
    if made.state is DELIVERED and made.attempts > TROUBLED:
        return "message.attempt.recovered"
    return None


def with_standing(endpoint: Endpoint, change: Change) -> Endpoint:
    """Return the endpoint with its standing after a change."""
    return endpoint if change.standing is None else endpoint.stand(change.standing, change.at)


def joined(old: Change | None, new: Change) -> Change:
    """Join two changes of one lane: the later one overrides, and all notices are kept.

    A change under an earlier lease is dropped: it may not be written any more.
    """
    if old is None or old.epoch != new.epoch:
        return new
    return replace(
        new,
        known=new.known or old.known,
        standing=new.standing or old.standing,
        by=new.by or old.by,
        notices=(*old.notices, *new.notices),
    )


# --- How long the endpoint has failed -----------------------------------------------------------


def after_success(known: Known, now: float) -> Known:
    """Return what is known after a success, which clears all failures."""
    return replace(without_failures(known), accepted_at=now)


def without_failures(known: Known) -> Known:
    """Return what is known, without any failures."""
    return replace(known, failing_since=None, failures=0, warned=0.0)


def after_failure(known: Known, now: float) -> Known:
    """Return what is known after a failure of any kind that is the endpoint's."""
    since = now if known.failing_since is None else known.failing_since
    return replace(known, failing_since=since, failures=known.failures + 1)


def parking_stage(known: Known, rule: Parking, *, now: float) -> float:
    """Return how far the endpoint is on the way to being parked: 0, a warning's share, or 1."""
    if known.failing_since is None or known.failures < rule.failures:
        return 0.0
    lasted = now - known.failing_since
    if lasted >= max(rule.after, rule.over):
        return 1.0
    passed = [share for share in rule.warn if lasted >= share * rule.after and lasted >= rule.over]
    return max(passed, default=0.0)
