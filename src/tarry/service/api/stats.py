"""How an endpoint has done, in numbers."""

import math

from msgspec import Struct

from tarry.service.api.call import Call
from tarry.service.api.operation import Group
from tarry.service.api.problem import BadRequest
from tarry.service.api.times import Instant, seconds
from tarry.service.model.delivery import LIVE, State

WAY = "/app/{app_id}/endpoint/{endpoint_id}"
DAY, HOUR = 86_400.0, 3600.0
LONGEST = 28 * DAY
SLACK = 300.0
"""Seconds by which clocks may differ."""

group = Group("Endpoint", "v1.endpoint")


class StatsQuery(Struct, kw_only=True):
    """From when until when; the last four weeks if nothing is told."""

    since: Instant | None = None
    until: Instant | None = None


class StatsOut(Struct, kw_only=True):
    """How many messages of that time stand how with an endpoint."""

    success: int
    pending: int
    sending: int
    fail: int
    canceled: int


class AttemptStatsOut(Struct, kw_only=True):
    """How many attempts of that time came out how."""

    success: int
    fail: int
    canceled: int


@group.get(WAY + "/stats", fails=(400,))
async def get_stats(call: Call, query: StatsQuery) -> StatsOut:
    """Count an endpoint's messages by how they stand.

    A message is `pending` before its first attempt, and `sending` between attempts. One with a
    `deliverAt` is of that time: without `until` those to come are counted too.
    """
    since, until = span(query, call.now)
    if query.until is None:
        until = math.inf
    endpoint = await call.endpoint(await call.application())
    found = await call.hooks.store.count_deliveries(endpoint, since=since, until=until)

    def count(*states: State, tried: tuple[bool, ...] = (False, True)) -> int:
        return sum(found.get((state, was), 0) for state in states for was in tried)

    return StatsOut(
        success=count(State.DELIVERED),
        pending=count(*LIVE, tried=(False,)),
        sending=count(*LIVE, tried=(True,)),
        fail=count(State.FAILED),
        canceled=count(State.CANCELLED, State.DISCARDED),
    )


@group.get(WAY + "/attempt-stats", fails=(400,))
async def get_attempt_stats(call: Call, query: StatsQuery) -> AttemptStatsOut:
    """Count the attempts made at an endpoint, in whole hours."""
    since, until = span(query, call.now)
    endpoint = await call.endpoint(await call.application())
    passed, failed = await call.hooks.store.count_attempts(
        endpoint, since=since // HOUR * HOUR, until=-(-until // HOUR) * HOUR
    )
    return AttemptStatsOut(success=passed, fail=failed, canceled=0)


def span(query: StatsQuery, now: float) -> tuple[float, float]:
    """From when until when, if that is neither to come nor too long."""
    told = seconds(query.until)
    until = now if told is None else told
    if until > now + SLACK:
        raise BadRequest("invalid_range", "`until` is in the future")
    told = seconds(query.since)
    since = until - LONGEST if told is None else told
    if until - since > LONGEST + SLACK:
        raise BadRequest("invalid_range", "`since` is more than 28 days before `until`")
    return since, until
