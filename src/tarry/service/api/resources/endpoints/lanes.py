"""Operations on lanes: show the state of sending to an endpoint; pause, resume or probe it."""

from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from tarry.core.pace import Phase
from tarry.service.api.http.access import Need
from tarry.service.api.http.operation import Group
from tarry.service.api.http.problem import BadRequest
from tarry.service.api.http.times import Instant, instant_or_none
from tarry.service.api.resources.attempts.statuses import STATE_OF_STATUS
from tarry.service.api.resources.call import Call
from tarry.service.api.resources.endpoints.bodies import EndpointOut, endpoint_out
from tarry.service.api.resources.endpoints.change_notices import hooks_with_notices
from tarry.service.explain import PaceScope, origins_of, outlook
from tarry.service.last_attempt import last_attempt
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import LaneRow
from tarry.service.model.words import ACTORS, LANES, REASONS, STATES, Words, lane_state, state_of

PATH = "/app/{app_id}/endpoint/{endpoint_id}"

group = Group("Lane", "v1.lane")


class LaneOut(Struct, rename="camel", kw_only=True):
    """The state of sending to an endpoint.

    `state` is its name in the vocabulary's `lanes`: the standing of an endpoint that is not
    enabled, `failing` while deliveries wait and the last attempt failed (at `failedAt`), otherwise
    the phase. `phase` is `closed` in normal operation, `open` while the endpoint is down and only
    gets probes, and `paced` while the backlog is sent at a limited rate. `scope` says what fails:
    the `endpoint`, several endpoints of its `application` at one host, or the whole `origin`
    (scheme, host and port); the last two are `shared`. A tenant sees `endpoint` instead of
    `origin`, and nothing of what was learned from endpoints of other tenants. `backlog` counts
    waiting deliveries. `pace` and `capacity` are in deliveries a second: the present limit, and
    what the endpoint was seen to accept.
    """

    state: str
    phase: Phase
    shared: bool
    scope: PaceScope
    standing: Standing
    backlog: int
    pace: float | None
    capacity: float | None
    accepted_at: Instant | None
    failing_since: Instant | None
    failures: int
    failed_at: Instant | None
    down_since: Instant | None
    probe_at: Instant | None
    done_at: Instant | None
    """The expected end of the backlog, if it can be predicted."""


class ExplanationOut(Struct, rename="camel", kw_only=True):
    """Why a delivery waits or how it ended, as a reason and in sentences."""

    state: State
    reason: Reason
    next_at: Instant | None
    overdue: bool
    """Whether it should have been sent: no worker is running, or tarry has a defect."""
    sentences: list[str]


class WordsOut(Struct, rename="camel", kw_only=True):
    """What a name in a response means: a label, a sentence, and for a wait what ends it."""

    name: str
    label: str
    meaning: str
    ended_by: str | None


class ReasonOut(WordsOut, kw_only=True):
    """A reason, with the state of its deliveries; `waiting` for all that are not sent yet."""

    state: State


class VocabularyOut(Struct, rename="camel", kw_only=True):
    """Words for people, by the names in responses.

    `states` and `reasons` are those of deliveries, and `statuses` the same states under the names
    of `statusText`. `lanes` has the states of lanes: the phases, `failing`, and the standings of
    endpoints that are not enabled. `actors` are those of the audit trail.
    """

    states: list[WordsOut]
    statuses: list[WordsOut]
    reasons: list[ReasonOut]
    lanes: list[WordsOut]
    actors: list[WordsOut]


@group.get(PATH + "/lane")
async def get(call: Call) -> LaneOut:
    """Get the state of sending to an endpoint."""
    return await _lane_out(call, await call.endpoint(await call.application()))


async def _lane_out(call: Call, endpoint: Endpoint) -> LaneOut:
    """Return the state of an endpoint's lane as the API shows it."""
    row, origins = await lane_of(call, endpoint)
    ahead = outlook(row, now=call.now, origins=origins, tenant=call.is_tenant)
    standing = row.endpoint.standing
    is_normal = standing is Standing.ENABLED and ahead.phase is Phase.CLOSED
    failed_at = await _failed_at(call, endpoint) if is_normal and row.waiting else None
    return LaneOut(
        state=lane_state(standing, ahead.phase, failed=failed_at is not None),
        phase=ahead.phase,
        shared=ahead.scope is not PaceScope.ENDPOINT,
        scope=ahead.scope,
        standing=standing,
        backlog=row.waiting,
        pace=ahead.rate,
        capacity=ahead.capacity,
        accepted_at=instant_or_none(row.known.accepted_at),
        failing_since=instant_or_none(row.known.failing_since),
        failures=row.known.failures,
        failed_at=instant_or_none(failed_at),
        down_since=instant_or_none(ahead.down_since),
        probe_at=instant_or_none(ahead.probe_at),
        done_at=instant_or_none(ahead.done_at),
    )


async def _failed_at(call: Call, endpoint: Endpoint) -> float | None:
    """Return the time of the last attempt to an endpoint if it failed."""
    last = await last_attempt(call.hooks.store, endpoint)
    return None if last is None or last.kind is None else last.now or last.at


@group.post(PATH + "/pause", needs=Need.ENDPOINTS)
async def pause(call: Call) -> EndpointOut:
    """Pause an endpoint; its deliveries wait, and their age still grows."""
    return await _with_standing(call, Standing.PAUSED)


@group.post(PATH + "/resume", needs=Need.ENDPOINTS)
async def resume(call: Call) -> EndpointOut:
    """Resume a paused or disabled endpoint; its backlog is sent at a limited rate."""
    return await _with_standing(call, Standing.ENABLED)


@group.post(PATH + "/probe", needs=Need.ATTEMPTS, status=202, fails=(400,))
async def probe(call: Call) -> LaneOut:
    """Probe a failing endpoint at once, with one of its waiting deliveries."""
    endpoint = await call.endpoint(await call.application())
    if endpoint.standing is not Standing.ENABLED:
        detail = f"the endpoint is {endpoint.standing}; resume it before you probe it"
        raise BadRequest("not_enabled", detail)
    return await _lane_out(call, await call.hooks.probe(endpoint))


@group.get("/app/{app_id}/msg/{msg_id}/endpoint/{endpoint_id}/explain")
async def explain(call: Call) -> ExplanationOut:
    """Explain why a message is not delivered to an endpoint yet, or how its delivery ended."""
    application = await call.application()
    message = await call.message(application)
    endpoint = await call.endpoint(application)
    explanation = await call.hooks.explain(message, endpoint, tenant=call.is_tenant)
    return ExplanationOut(
        state=explanation.state,
        reason=explanation.reason,
        next_at=instant_or_none(explanation.next_at),
        overdue=explanation.overdue,
        sentences=list(explanation.sentences),
    )


@group.get("/vocabulary", needs=Need.NOTHING, tenants=True)
async def vocabulary(call: Call) -> VocabularyOut:  # noqa: ARG001  every operation gets one
    """List the words for states and reasons of deliveries, for lanes, and for actors."""
    return VocabularyOut(
        states=[WordsOut(**_fields(name, words)) for name, words in STATES.items()],
        statuses=[
            WordsOut(**_fields(name, STATES[state])) for name, state in STATE_OF_STATUS.items()
        ],
        reasons=[
            ReasonOut(**_fields(reason, words), state=state_of(reason))
            for reason, words in REASONS.items()
        ],
        lanes=[WordsOut(**_fields(name, words)) for name, words in LANES.items()],
        actors=[WordsOut(**_fields(name, words)) for name, words in ACTORS.items()],
    )


def _fields(name: str, words: Words) -> dict[str, Any]:
    """Return a state or reason with its words, as the vocabulary shows it."""
    return {"name": str(name), **asdict(words), "ended_by": words.ended_by or None}


async def lane_of(call: Call, endpoint: Endpoint) -> tuple[LaneRow, list[bytes]]:
    """Return an endpoint's lane, and the records of the origin that it shares with others."""
    row = await call.hooks.lane(endpoint)
    return row, await call.hooks.store.origins(origins_of(row))


async def _with_standing(call: Call, standing: Standing) -> EndpointOut:
    """Set the standing of an endpoint; do nothing if it has this standing already."""
    application = await call.application()
    endpoint = await call.endpoint(application)
    if endpoint.standing is not standing:
        hooks = await hooks_with_notices(call, application)
        endpoint = await hooks.change_endpoint(endpoint, standing=standing)
    return endpoint_out(endpoint)
