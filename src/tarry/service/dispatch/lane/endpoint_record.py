"""The endpoint's record: what a lane writes down, when its owner hears of it, when it is parked."""

import math
from collections.abc import Callable

from msgspec.structs import replace

from tarry.core.pace import Pace
from tarry.service.dispatch.clock import LONG_AGO
from tarry.service.dispatch.limits import pace_text
from tarry.service.model.attempt import Settlement
from tarry.service.model.delivery import DELIVERED, FAILED, WAITING, Reason
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import Change, Known, LaneRow, Notice
from tarry.service.model.settings import Parking

SAVED_EVERY = 30.0
"""How often what is known of a healthy endpoint is written down, in seconds: the last success on
record, of which people are told, is at most so much older than the last one."""
TOLD = frozenset({Reason.EXHAUSTED, Reason.AGED, Reason.REFUSED, Reason.ABORTED})
"""The endings that an endpoint's owner is told of one by one."""
TROUBLED = 4
"""Attempts after which the owner hears that a delivery fails, and that it succeeded after all."""

Note = Callable[[str, str, str, float, dict[str, str | float | None]], Notice]
"""Makes a notice of an application's endpoint: kind, time and facts."""


class EndpointRecord:
    """What is known of one endpoint. A method gives the change to write down, if there is one."""

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
    def is_well(self) -> bool:
        """Whether nothing failed since the endpoint took something, or ever."""
        return not self.known.failures

    @property
    def failing_since(self) -> float:
        """When the endpoint first failed since it took something; infinity if it did not."""
        since = self.known.failing_since
        return math.inf if since is None else since

    def taken(self, pace: Pace, now: float) -> Change | None:
        """A delivery was taken."""
        self.accepted_at = now
        if self.known.failures:
            self.known = after_success(self.known, now)
            return self.saved(pace, now)
        # By what is on record, not by when this lane was taken up: it may be at rest in a moment.
        return self.saved(pace, now) if now - self._recorded_at > SAVED_EVERY else None

    def failed(self, now: float) -> None:
        """An attempt failed."""
        self.known = after_failure(self.known, now)

    def due(self, endpoint: Endpoint, pace: Pace, now: float) -> Change | None:
        """A warning to the owner, or the parking, once it is time for it."""
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
            return self.stood(endpoint, Standing.PARKED, pace, now, facts)
        facts["share"] = stage
        notice = self._note(endpoint.application, endpoint.id, "endpoint.failing", now, facts)
        return replace(self.saved(pace, now), notices=(notice,))

    def stood(
        self,
        endpoint: Endpoint,
        standing: Standing,
        pace: Pace,
        now: float,
        facts: dict[str, str | float | None],
    ) -> Change:
        """The endpoint stands otherwise from now on, and its owner is told."""
        kind = "endpoint.paused" if standing is Standing.PAUSED else "endpoint.disabled"
        notice = self._note(endpoint.application, endpoint.id, kind, now, facts)
        return replace(self.saved(pace, now), standing=standing, notices=(notice,))

    def of_delivery(
        self, endpoint: Endpoint, message: str, made: Settlement, now: float
    ) -> Change | None:
        """What the owner hears of a delivery: it came to nothing, or is about to, or did not."""
        kind = news_of(made)
        if kind is None:
            return None
        facts: dict[str, str | float | None] = {"message": message, "reason": made.reason}
        if (last := made.attempt) is not None:
            facts |= {"attempt": last.id, "status": last.status, "attempted_at": last.at}
        notice = self._note(endpoint.application, endpoint.id, kind, now, facts)
        return Change(lane=self._lane, epoch=self._epoch, at=now, notices=(notice,))

    def saved(self, pace: Pace, now: float) -> Change:
        """What is known now."""
        self._recorded_at = self.accepted_at
        accepted_at = None if self.accepted_at == LONG_AGO else self.accepted_at
        known = replace(self.known, pace=pace_text.write(pace), accepted_at=accepted_at)
        return Change(lane=self._lane, epoch=self._epoch, at=now, known=known)

    def moved(self, origin: str) -> bool:
        """Take up another origin: what was learned of the old one is forgotten. Whether it is."""
        if self.known.origin == origin:
            return False
        self.known = replace(without_failures(self.known), origin=origin)
        return True


def news_of(made: Settlement) -> str | None:
    """The kind of news that a settlement is, if it is any."""
    if made.state is FAILED:
        return "message.attempt.exhausted" if made.reason in TOLD else None
    if made.attempt is None or not made.attempt.counted:
        return None
    if made.state is WAITING and made.attempts == TROUBLED:
        return "message.attempt.failing"
    if made.state is DELIVERED and made.attempts > TROUBLED:
        return "message.attempt.recovered"
    return None


def stands(endpoint: Endpoint, change: Change) -> Endpoint:
    """The endpoint as it stands after a change."""
    return endpoint if change.standing is None else endpoint.stand(change.standing, change.at)


def joined(old: Change | None, new: Change) -> Change:
    """Join two changes of one lane: the later counts, and no notice is lost.

    A change of an earlier lease is dropped: it may not be written any more.
    """
    if old is None or old.epoch != new.epoch:
        return new
    return replace(
        new,
        known=new.known or old.known,
        standing=new.standing or old.standing,
        notices=(*old.notices, *new.notices),
    )


# --- How long the endpoint has taken nothing ----------------------------------------------------


def after_success(known: Known, now: float) -> Known:
    """Return what is known after a success, which clears all failures."""
    return replace(without_failures(known), accepted_at=now)


def without_failures(known: Known) -> Known:
    """Return what is known with no failure on record."""
    return replace(known, failing_since=None, failures=0, warned=0.0)


def after_failure(known: Known, now: float) -> Known:
    """Return what is known after a failure, of whatever kind, that is the endpoint's."""
    since = now if known.failing_since is None else known.failing_since
    return replace(known, failing_since=since, failures=known.failures + 1)


def parking_stage(known: Known, rule: Parking, *, now: float) -> float:
    """Return the last stage passed on the way to being parked: 0, a warning's share, or 1."""
    if known.failing_since is None or known.failures < rule.failures:
        return 0.0
    lasted = now - known.failing_since
    if lasted >= max(rule.after, rule.over):
        return 1.0
    passed = [share for share in rule.warn if lasted >= share * rule.after and lasted >= rule.over]
    return max(passed, default=0.0)
