"""How the dispatcher works unless told otherwise, and the policy that deliveries follow."""

from msgspec import Struct

from tarry.core.backoff import Schedule
from tarry.core.jitter import Percent
from tarry.core.policy import Policy, RetryAfter, Statuses

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0

DELIVERY = Policy(
    name="delivery",
    backoff=Schedule([10, 30, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, 2 * HOUR, 8 * HOUR, DAY]),
    jitter=Percent(0.2),
    attempts=9,
    within=5 * DAY,
    attempt_timeout=15.0,
    retry_after=RetryAfter(at_most=HOUR),
    statuses=Statuses(never=(400, 401, 403, 404, 405, 410, 413, 422)),
)
"""Nine attempts over some 35 hours; while its lane is gated a delivery waits up to five days."""


class Parking(Struct, frozen=True, kw_only=True):
    """When an endpoint that takes nothing is parked: no success for `after` seconds.

    There have to be `failures` at least, over `over` seconds at least: one bad minute parks
    nobody. Its owner is warned at each share of the time in `warn`.
    """

    after: float = 5 * DAY
    failures: int = 5
    over: float = 12 * HOUR
    warn: tuple[float, ...] = (0.5, 0.75, 0.9)


class Limits(Struct, frozen=True, kw_only=True):
    """What one dispatcher does at a time, and how long its hold on a shard lasts."""

    in_flight: int = 1000
    lane_in_flight: int = 256
    buffered_bytes: int = 4 * 1024 * 1024
    """Payloads in memory that wait to be sent."""
    unsettled: int = 2000
    """Attempts that were made and could not be written down yet: then no more are made."""
    lease: float = 10.0
    margin: float = 2.0
    """Seconds before a lease ends in which nothing is sent any more."""
    grace: float = 30.0
    """How long a dispatcher that is told to stop waits for what is on its way."""
    look: float = 1.0
    """How often the store is asked what woke, should a nudge have been missed."""
    watch: float = 15.0
    """How often the watchdog looks for lanes that were forgotten."""
    keep_up: float = 60.0
    """How often ages, warnings and retention are seen to."""
    connect_timeout: float = 5.0
