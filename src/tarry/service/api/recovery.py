"""Have an endpoint's messages delivered after all, or once more; at a pace, and durable."""

from typing import Annotated

from msgspec import Meta, Struct

from tarry.service.api.access import Need
from tarry.service.api.call import Call
from tarry.service.api.messages import Channel, Name, Tag
from tarry.service.api.operation import Group
from tarry.service.api.problem import Invalid
from tarry.service.api.stats import DAY, SLACK
from tarry.service.api.statuses import MessageStatus, StatusClass
from tarry.service.api.tasks import TaskStarted, started
from tarry.service.api.times import Instant, seconds
from tarry.service.model.listing import MessageFilter
from tarry.service.model.replay import Fate, ReplayFilter

WAY = "/app/{app_id}/endpoint/{endpoint_id}"
ACCEPTED = 202
LONGEST = 14 * DAY

group = Group("Endpoint", "v1.endpoint")


class SpanIn(Struct, rename="camel", kw_only=True):
    """Of which time: at most 14 days, until now if no end is told."""

    since: Instant
    until: Instant | None = None


class BulkReplayIn(SpanIn, rename="camel", kw_only=True):
    """Which messages of that time: those that fit everything that is named.

    `status` is how the message stands with this endpoint, `statusCodeClass` that of its last
    attempt.
    """

    event_types: Annotated[list[Name], Meta(min_length=1, max_length=100)] | None = None
    channel: Channel | None = None
    tag: Tag | None = None
    status: MessageStatus | None = None
    status_code_class: StatusClass | None = None


@group.post(WAY + "/recover", needs=Need.ATTEMPTS, status=ACCEPTED)
async def recover(call: Call, body: SpanIn) -> TaskStarted:
    """Deliver again what failed, of the messages of that time.

    What failed and waits for its next attempt is brought forward.
    """
    since, until = _span(call, body)
    endpoint = await call.endpoint(await call.application())
    return started(await call.hooks.recover(endpoint, since=since, until=until))


@group.post(WAY + "/replay-missing", needs=Need.ATTEMPTS, status=ACCEPTED)
async def replay_missing(call: Call, body: SpanIn) -> TaskStarted:
    """Deliver what was never sent to this endpoint, of the messages of that time."""
    since, until = _span(call, body)
    endpoint = await call.endpoint(await call.application())
    return started(await call.hooks.replay_missing(endpoint, since=since, until=until))


@group.post(WAY + "/bulk-replay", needs=Need.ATTEMPTS, status=ACCEPTED)
async def bulk_replay(call: Call, body: BulkReplayIn) -> TaskStarted:
    """Deliver what is wanted of the messages of that time, whatever became of it."""
    since, until = _span(call, body)
    endpoint = await call.endpoint(await call.application())
    types = None if body.event_types is None else tuple(body.event_types)
    wanted = ReplayFilter(
        message=MessageFilter(event_types=types, channel=body.channel, tag=body.tag),
        fate=_fate(body.status),
        status_class=None if body.status_code_class is None else int(body.status_code_class),
    )
    task = await call.hooks.bulk_replay(endpoint, wanted, since=since, until=until)
    return started(task)


def _span(call: Call, body: SpanIn) -> tuple[float, float | None]:
    since, until = seconds(body.since) or 0.0, seconds(body.until)
    end = call.now if until is None else until
    if end - since > LONGEST + SLACK:
        raise Invalid(["body", "since"], "it may be at most 14 days before the end")
    return since, until


_FATES = {
    MessageStatus.SUCCESS: Fate.SUCCESS,
    MessageStatus.PENDING: Fate.PENDING,
    MessageStatus.SENDING: Fate.PENDING,
    MessageStatus.FAIL: Fate.FAIL,
}


def _fate(status: MessageStatus | None) -> Fate | None:
    if status is None:
        return None
    if status not in _FATES:
        raise Invalid(["body", "status"], "what was canceled is not sent any more")
    return _FATES[status]
