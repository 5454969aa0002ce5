"""Lanes over HTTP: how the sending to an endpoint goes, and a hand on it."""

from msgspec import Struct

from tarry.core.pace import Phase
from tarry.service.api.access import Need
from tarry.service.api.call import Call
from tarry.service.api.endpoint_bodies import EndpointOut
from tarry.service.api.endpoint_bodies import written as written_endpoint
from tarry.service.api.news import noting
from tarry.service.api.operation import Group
from tarry.service.api.problem import BadRequest
from tarry.service.api.times import Instant
from tarry.service.api.times import written as written_at
from tarry.service.explain import Scope, origins_of, outlook
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import LaneRow

WAY = "/app/{app_id}/endpoint/{endpoint_id}"

group = Group("Lane", "v1.lane")


class LaneOut(Struct, rename="camel", kw_only=True):
    """How the sending to an endpoint goes.

    `phase` is `closed` while all is well, `open` while the endpoint takes nothing and is only
    probed, `paced` while what waits goes at a pace. `scope` says whose trouble that is: that of the
    `endpoint`, of several endpoints of its `application` at one host, or of the whole `origin`
    (scheme, host and port); the last two are `shared`. `capacity` is how many a second the endpoint
    was seen to take.
    """

    phase: Phase
    shared: bool
    scope: Scope
    standing: Standing
    backlog: int
    pace: float | None
    capacity: float | None
    accepted_at: Instant | None
    failing_since: Instant | None
    failures: int
    down_since: Instant | None
    probe_at: Instant | None
    done_at: Instant | None
    """When nothing will wait any more, if that can be told."""


class ExplanationOut(Struct, rename="camel", kw_only=True):
    """Why a message waits for an endpoint or how that ended, and in sentences."""

    state: State
    reason: Reason
    next_at: Instant | None
    sentences: list[str]


@group.get(WAY + "/lane")
async def get(call: Call) -> LaneOut:
    """Get how the sending to an endpoint goes."""
    return await _looked_at(call, await call.endpoint(await call.application()))


async def _looked_at(call: Call, endpoint: Endpoint) -> LaneOut:
    row, origins = await lane_of(call, endpoint)
    ahead = outlook(row, now=call.now, origins=origins)
    return LaneOut(
        phase=ahead.phase,
        shared=ahead.scope is not Scope.ENDPOINT,
        scope=ahead.scope,
        standing=row.endpoint.standing,
        backlog=row.waiting,
        pace=ahead.rate,
        capacity=ahead.capacity,
        accepted_at=written_at(row.known.accepted_at),
        failing_since=written_at(row.known.failing_since),
        failures=row.known.failures,
        down_since=written_at(ahead.down_since),
        probe_at=written_at(ahead.probe_at),
        done_at=written_at(ahead.done_at),
    )


@group.post(WAY + "/pause", needs=Need.ENDPOINTS)
async def pause(call: Call) -> EndpointOut:
    """Send nothing to an endpoint for now; its messages wait, and get older."""
    return await _stood(call, Standing.PAUSED)


@group.post(WAY + "/resume", needs=Need.ENDPOINTS)
async def resume(call: Call) -> EndpointOut:
    """Send to an endpoint again that was paused or disabled; what waits goes at a pace."""
    return await _stood(call, Standing.ENABLED)


@group.post(WAY + "/probe", needs=Need.ATTEMPTS, status=202, fails=(400,))
async def probe(call: Call) -> LaneOut:
    """Try at once whether an endpoint that takes nothing is back, with a message that waits."""
    endpoint = await call.endpoint(await call.application())
    if endpoint.standing is not Standing.ENABLED:
        said = f"it is {endpoint.standing}: nothing is sent to it before it is resumed"
        raise BadRequest("not_enabled", said)
    return await _looked_at(call, await call.hooks.probe(endpoint))


@group.get("/app/{app_id}/msg/{msg_id}/endpoint/{endpoint_id}/explain")
async def explain(call: Call) -> ExplanationOut:
    """Explain why a message is not delivered to an endpoint yet, or how that ended."""
    application = await call.application()
    message = await call.message(application)
    told = await call.hooks.explain(message, await call.endpoint(application))
    return ExplanationOut(
        state=told.state,
        reason=told.reason,
        next_at=written_at(told.next_at),
        sentences=list(told.sentences),
    )


async def lane_of(call: Call, endpoint: Endpoint) -> tuple[LaneRow, list[bytes]]:
    """An endpoint's lane, and the records of what it shares with others of its origin."""
    row = await call.hooks.lane(endpoint)
    return row, await call.hooks.store.origins(origins_of(row))


async def _stood(call: Call, standing: Standing) -> EndpointOut:
    """Have an endpoint stand like this; one that does already is left alone."""
    application = await call.application()
    endpoint = await call.endpoint(application)
    if endpoint.standing is not standing:
        hooks = await noting(call, application)
        endpoint = await hooks.change_endpoint(endpoint, standing=standing)
    return written_endpoint(endpoint)
