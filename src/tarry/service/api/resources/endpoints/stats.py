"""Operations that count an endpoint's messages and attempts."""

import math

from msgspec import Struct

from tarry.service.api.http.operation import Group
from tarry.service.api.http.problem import BadRequest
from tarry.service.api.http.times import Instant, seconds
from tarry.service.api.resources.call import Call
from tarry.service.model.delivery import LIVE, State

PATH = "/app/{app_id}/endpoint/{endpoint_id}"
DAY, HOUR = 86_400.0, 3600.0
LONGEST_PERIOD = 28 * DAY
CLOCK_SLACK = 300.0
"""Seconds by which the clocks of client and server may differ."""

group = Group("Endpoint", "v1.endpoint")


class StatsQuery(Struct, kw_only=True):
    """The period to count; by default the last four weeks."""

    since: Instant | None = None
    until: Instant | None = None


class StatsOut(Struct, kw_only=True):
    """The number of the endpoint's messages in the period, by status."""

    success: int
    pending: int
    sending: int
    fail: int
    canceled: int


class AttemptStatsOut(Struct, kw_only=True):
    """The number of attempts in the period, by result."""

    success: int
    fail: int
    canceled: int


@group.get(PATH + "/stats", fails=(400,))
async def get_stats(call: Call, query: StatsQuery) -> StatsOut:
    """Count an endpoint's messages by status.

    A message is `pending` before its first attempt, and `sending` between attempts. A message with
    `deliverAt` counts at that time; without `until`, future ones are counted too.
    """
    since, until = span(query, call.now)
    if query.until is None:
        until = math.inf
    endpoint = await call.endpoint(await call.application())
    counts = await call.hooks.store.count_deliveries(endpoint, since=since, until=until)

    def count(*states: State, tried: tuple[bool, ...] = (False, True)) -> int:
        return sum(counts.get((state, was_tried), 0) for state in states for was_tried in tried)

    return StatsOut(
        success=count(State.DELIVERED),
        pending=count(*LIVE, tried=(False,)),
        sending=count(*LIVE, tried=(True,)),
        fail=count(State.FAILED),
        canceled=count(State.CANCELLED, State.DISCARDED),
    )


@group.get(PATH + "/attempt-stats", fails=(400,))
async def get_attempt_stats(call: Call, query: StatsQuery) -> AttemptStatsOut:
    """Count the attempts to an endpoint, in whole hours."""
    since, until = span(query, call.now)
    endpoint = await call.endpoint(await call.application())
    passed, failed = await call.hooks.store.count_attempts(
        endpoint, since=since // HOUR * HOUR, until=-(-until // HOUR) * HOUR
    )
    return AttemptStatsOut(success=passed, fail=failed, canceled=0)


def span(query: StatsQuery, now: float) -> tuple[float, float]:
    """Return the period of a query; BadRequest if it is too long or in the future."""
    end = seconds(query.until)
    until = now if end is None else end
    if until > now + CLOCK_SLACK:
        raise BadRequest("invalid_range", "`until` is in the future")
    start = seconds(query.since)
    since = until - LONGEST_PERIOD if start is None else start
    if until - since > LONGEST_PERIOD + CLOCK_SLACK:
        raise BadRequest("invalid_range", "`since` is more than 28 days before `until`")
    return since, until
