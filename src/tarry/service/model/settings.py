"""Default limits of the dispatcher, and the default policy of deliveries."""

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
"""Nine attempts over some 35 hours; during an outage, a delivery waits up to five days."""


class Parking(Struct, frozen=True, kw_only=True):
    """When a failing endpoint is parked: after `after` seconds without a success.

    There must be at least `failures` failures over at least `over` seconds, so that one bad
    minute parks no endpoint. Its owner is warned at each share of the time in `warn`.
    """

    after: float = 5 * DAY
    failures: int = 5
    over: float = 12 * HOUR
    warn: tuple[float, ...] = (0.5, 0.75, 0.9)


class Limits(Struct, frozen=True, kw_only=True):
    """Limits of one dispatcher, and the times of its leases."""

    in_flight: int = 1000
    lane_in_flight: int = 256
    buffered_bytes: int = 4 * 1024 * 1024
    """Bytes of payloads in memory that wait to be sent."""
    unsettled: int = 2000
    """How many attempts may have ended without being saved, in addition to `in_flight`. Both
    numbers together are the places for attempts. An application starts no attempt while it holds as
    many places as are free, so one application alone gets half of them."""
    lease: float = 10.0
    margin: float = 2.0
    """Seconds before the end of a lease in which no more requests are sent."""
    grace: float = 30.0
    """How long a stopping dispatcher waits for requests in flight."""
    look: float = 1.0
    """How often to ask the store for woken lanes, in case a nudge was lost."""
    watch: float = 15.0
    """How often the watchdog looks for forgotten lanes."""
    keep_up: float = 60.0
    """How often ages, warnings and retention are checked."""
    connect_timeout: float = 5.0
