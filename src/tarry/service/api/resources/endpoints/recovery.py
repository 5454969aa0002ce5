"""Operations that deliver messages of a period again, as background tasks with a limited rate."""

from typing import Annotated

from msgspec import Meta, Struct

from tarry.service.api.http.access import Need
from tarry.service.api.http.operation import Group
from tarry.service.api.http.problem import Invalid
from tarry.service.api.http.times import Instant, seconds
from tarry.service.api.resources.attempts.statuses import MessageStatus, StatusClass
from tarry.service.api.resources.call import Call
from tarry.service.api.resources.endpoints.stats import CLOCK_SLACK, DAY
from tarry.service.api.resources.environment.tasks import TaskStarted, task_started
from tarry.service.api.resources.messages.bodies import Channel, Name, Tag
from tarry.service.model.listing import MessageFilter
from tarry.service.model.replay import Fate, ReplayFilter

PATH = "/app/{app_id}/endpoint/{endpoint_id}"
ACCEPTED = 202
LONGEST_PERIOD = 14 * DAY

group = Group("Endpoint", "v1.endpoint")


class SpanIn(Struct, rename="camel", kw_only=True):
    """The period: at most 14 days; without `until` it ends now."""

    since: Instant
    until: Instant | None = None


class BulkReplayIn(SpanIn, rename="camel", kw_only=True):
    """Which messages of the period: those that match all given fields.

    `status` is that of the delivery to this endpoint, and `statusCodeClass` that of the response to
    its last attempt.
    """

    event_types: Annotated[list[Name], Meta(min_length=1, max_length=100)] | None = None
    channel: Channel | None = None
    tag: Tag | None = None
    status: MessageStatus | None = None
    status_code_class: StatusClass | None = None


@group.post(PATH + "/recover", needs=Need.ATTEMPTS, status=ACCEPTED)
async def recover(call: Call, body: SpanIn) -> TaskStarted:
    """Deliver the failed deliveries of a period again.

    Deliveries that failed and wait for their next attempt are sent earlier.
    """
    since, until = _span(call, body)
    endpoint = await call.endpoint(await call.application())
    return task_started(await call.hooks.recover(endpoint, since=since, until=until))


@group.post(PATH + "/replay-missing", needs=Need.ATTEMPTS, status=ACCEPTED)
async def replay_missing(call: Call, body: SpanIn) -> TaskStarted:
    """Deliver the messages of a period that were never sent to this endpoint."""
    since, until = _span(call, body)
    endpoint = await call.endpoint(await call.application())
    return task_started(await call.hooks.replay_missing(endpoint, since=since, until=until))


@group.post(PATH + "/bulk-replay", needs=Need.ATTEMPTS, status=ACCEPTED)
async def bulk_replay(call: Call, body: BulkReplayIn) -> TaskStarted:
    """Deliver the matching messages of a period again, whatever their status is."""
    since, until = _span(call, body)
    endpoint = await call.endpoint(await call.application())
    types = None if body.event_types is None else tuple(body.event_types)
    replay_filter = ReplayFilter(
        message=MessageFilter(event_types=types, channel=body.channel, tag=body.tag),
        fate=_fate_of_status(body.status),
        status_class=None if body.status_code_class is None else int(body.status_code_class),
    )
    task = await call.hooks.bulk_replay(endpoint, replay_filter, since=since, until=until)
    return task_started(task)


def _span(call: Call, body: SpanIn) -> tuple[float, float | None]:
    """Return the period in the body; Invalid if it is too long."""
    since, until = seconds(body.since) or 0.0, seconds(body.until)
    end = call.now if until is None else until
    if end - since > LONGEST_PERIOD + CLOCK_SLACK:
        raise Invalid(["body", "since"], "it may be at most 14 days before the end")
    return since, until


_FATES = {
    MessageStatus.SUCCESS: Fate.SUCCESS,
    MessageStatus.PENDING: Fate.PENDING,
    MessageStatus.SENDING: Fate.PENDING,
    MessageStatus.FAIL: Fate.FAIL,
}


def _fate_of_status(status: MessageStatus | None) -> Fate | None:
    """Return the fate of deliveries to select for a status in the body."""
    if status is None:
        return None
    if status not in _FATES:
        raise Invalid(["body", "status"], "canceled messages are not sent any more")
    return _FATES[status]
