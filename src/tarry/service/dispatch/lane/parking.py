"""How long an endpoint has taken nothing: when its owner is warned, and when it is parked.

One success clears it. Pure: what is known goes in, what is known now comes out.
"""

from msgspec.structs import replace

from tarry.service.model.lane import Known
from tarry.service.model.settings import Parking


def taken(known: Known, now: float) -> Known:
    """After a success."""
    return replace(begun_anew(known), accepted_at=now)


def begun_anew(known: Known) -> Known:
    """With no failure on record."""
    return replace(known, failing_since=None, failures=0, warned=0.0)


def failed(known: Known, now: float) -> Known:
    """After a failure of whatever kind that is the endpoint's."""
    since = now if known.failing_since is None else known.failing_since
    return replace(known, failing_since=since, failures=known.failures + 1)


def stage(known: Known, rule: Parking, *, now: float) -> float:
    """How far on the way to being parked, as the last stage passed: 0, a warning's share, or 1."""
    if known.failing_since is None or known.failures < rule.failures:
        return 0.0
    lasted = now - known.failing_since
    if lasted >= max(rule.after, rule.over):
        return 1.0
    passed = [share for share in rule.warn if lasted >= share * rule.after and lasted >= rule.over]
    return max(passed, default=0.0)
