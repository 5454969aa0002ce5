"""Operations on attempts: list them, read one, delete its response, and resend a message."""

from enum import IntEnum

from msgspec import Struct

from tarry.service.api.http.access import Need
from tarry.service.api.http.operation import Group
from tarry.service.api.http.paging import AttemptMark, Page, page
from tarry.service.api.http.problem import BadRequest
from tarry.service.api.http.times import Instant, instant
from tarry.service.api.resources.attempts.statuses import (
    MessageStatus,
    StatusClass,
    StatusText,
    text_of,
)
from tarry.service.api.resources.call import Call
from tarry.service.api.resources.messages.bodies import MessageOut, Name, message_out
from tarry.service.api.resources.messages.newest_first import RecentQuery, filtered, recent_cut
from tarry.service.api.resources.redacted import redacted
from tarry.service.model import ids
from tarry.service.model.attempt import Attempt, Trigger
from tarry.service.model.listing import AttemptFilter
from tarry.service.model.message import Message
from tarry.service.model.redaction import Redaction
from tarry.service.store.kinds import AttemptsOf, AttemptsTo, Endpoints

ACCEPTED = 202
NO_ANSWER = 0
"""The `responseStatusCode` of an attempt that got no response."""

group = Group("Message Attempt", "v1.message-attempt")


class TriggerType(IntEnum):
    """What triggered an attempt: the schedule, or a resend."""

    SCHEDULED = 0
    MANUAL = 1


class AttemptOut(Struct, rename="camel", kw_only=True):
    """An attempt: one request to an endpoint, and its response.

    `timestamp` is when the response came. `response` is the stored part of the response's body, or
    the reason why there was no response.
    """

    id: str
    msg_id: str
    endpoint_id: str
    url: str
    response: str
    response_status_code: int
    response_duration_ms: int
    status: MessageStatus
    status_text: StatusText
    trigger_type: TriggerType
    timestamp: Instant
    msg: MessageOut | None = None


class ToEndpointQuery(RecentQuery, kw_only=True):
    """Which attempts to an endpoint to list, and whether to include responses and messages."""

    iterator: AttemptMark | None = None
    status: MessageStatus | None = None
    status_code_class: StatusClass | None = None
    with_content: bool = True
    with_msg: bool = False
    expanded_statuses: bool = False


class OfMessageQuery(RecentQuery, kw_only=True):
    """Which attempts at a message to list, and whether to include the responses."""

    iterator: AttemptMark | None = None
    status: MessageStatus | None = None
    status_code_class: StatusClass | None = None
    endpoint_id: Name | None = None
    with_content: bool = True
    expanded_statuses: bool = False


class ExpandedQuery(Struct):
    """Whether the client knows the status Canceled."""

    expanded_statuses: bool = False


class Empty(Struct):
    """An empty object."""


@group.get("/app/{app_id}/attempt/endpoint/{endpoint_id}")
async def list_by_endpoint(call: Call, query: ToEndpointQuery) -> Page[AttemptOut]:
    """List the attempts to an endpoint, newest first."""
    endpoint = await call.endpoint(await call.application())
    attempt_filter = _attempt_filter(call, query)
    if attempt_filter is None:
        return _empty_page()
    listed = await call.hooks.store.page(AttemptsTo(endpoint, attempt_filter), recent_cut(query))
    redaction = call.hooks.redaction

    async def to_output(attempt: Attempt, message: Message) -> AttemptOut:
        shown_message = None
        if query.with_msg:
            shown_message = await message_out(message, redaction, with_content=False)
        return await attempt_out(
            attempt,
            endpoint.id,
            redaction,
            with_content=query.with_content,
            message=shown_message,
        )

    shown = [await to_output(attempt, message) for attempt, message in listed.entries]
    return page(shown, query, lambda entry: entry, _mark, left_at=listed.left_at)


@group.get("/app/{app_id}/attempt/msg/{msg_id}")
async def list_by_msg(call: Call, query: OfMessageQuery) -> Page[AttemptOut]:
    """List the attempts at a message, newest first."""
    return await _page_of_message(call, query, query.endpoint_id)


@group.get("/app/{app_id}/msg/{msg_id}/attempt", name="list-of-msg")
async def list_of_message(call: Call, query: OfMessageQuery) -> Page[AttemptOut]:
    """List the attempts at a message, newest first (older path)."""
    return await _page_of_message(call, query, query.endpoint_id)


@group.get("/app/{app_id}/msg/{msg_id}/endpoint/{endpoint_id}/attempt", name="list-of-delivery")
async def list_of_delivery(call: Call, query: OfMessageQuery) -> Page[AttemptOut]:
    """List the attempts to deliver a message to one endpoint, newest first."""
    return await _page_of_message(call, query, call.name("endpoint_id", "endpoint"))


@group.get("/app/{app_id}/msg/{msg_id}/attempt/{attempt_id}")
async def get(call: Call, query: ExpandedQuery) -> AttemptOut:  # noqa: ARG001  an attempt is never Canceled
    """Get an attempt."""
    message = await call.message(await call.application())
    attempt_id = call.name("attempt_id", "attempt")
    attempt, endpoint = await call.hooks.store.get(AttemptsOf(message.id), attempt_id)
    return await attempt_out(attempt, endpoint.id, call.hooks.redaction)


@group.delete("/app/{app_id}/msg/{msg_id}/attempt/{attempt_id}/content", needs=Need.CHANGE)
async def expunge_content(call: Call) -> None:
    """Delete the stored response of an attempt."""
    message = await call.message(await call.application())
    attempt_id = call.name("attempt_id", "attempt")
    await call.hooks.store.expunge(AttemptsOf(message.id), attempt_id, by=call.hooks.action)


@group.post(
    "/app/{app_id}/msg/{msg_id}/endpoint/{endpoint_id}/resend",
    needs=Need.ATTEMPTS,
    status=ACCEPTED,
    fails=(400,),
)
async def resend(call: Call) -> Empty:
    """Make one more attempt to deliver a message, ahead of the backlog.

    If it succeeds, a failed delivery becomes delivered. While the endpoint is down, the attempt is
    made with the next probe.
    """
    application = await call.application()
    message = await call.message(application)
    endpoint = await call.endpoint(application)
    if message.payload is None:
        raise BadRequest("missing_payload", "its payload is gone: it cannot be sent again")
    await call.hooks.resend(endpoint, message)
    return Empty()


async def _page_of_message(
    call: Call, query: OfMessageQuery, endpoint: str | None
) -> Page[AttemptOut]:
    """Return a page of the attempts of the message in the path."""
    application = await call.application()
    message = await call.message(application)
    lane: int | None = None
    if endpoint is not None:
        lane = (await call.hooks.store.get(Endpoints(application.id), endpoint)).lane
    attempt_filter = _attempt_filter(call, query, lane)
    if attempt_filter is None:
        return _empty_page()
    listed = await call.hooks.store.page(AttemptsOf(message.id, attempt_filter), recent_cut(query))
    redaction = call.hooks.redaction
    shown = [
        await attempt_out(attempt, endpoint.id, redaction, with_content=query.with_content)
        for attempt, endpoint in listed.entries
    ]
    return page(shown, query, lambda entry: entry, _mark, left_at=listed.left_at)


def _empty_page() -> Page[AttemptOut]:
    """Return the only page of an empty list."""
    return Page(data=[], iterator=None, prev_iterator=None, done=True)


def _attempt_filter(
    call: Call, query: ToEndpointQuery | OfMessageQuery, lane: int | None = None
) -> AttemptFilter | None:
    """Return the filter of a query; None for a status that no attempt has.

    An attempt has either succeeded or failed.
    """
    if query.status not in (None, MessageStatus.SUCCESS, MessageStatus.FAIL):
        return None
    hundred = query.status_code_class
    return AttemptFilter(
        message=filtered(query, ids.ATTEMPT, call.now),
        succeeded=None if query.status is None else query.status is MessageStatus.SUCCESS,
        status_class=None if hundred is None else int(hundred),
        lane=lane,
    )


def _mark(attempt: AttemptOut) -> str:
    """Return the id of an attempt, which marks its place in the list."""
    return attempt.id


async def attempt_out(
    attempt: Attempt,
    endpoint: str,
    redaction: Redaction,
    *,
    with_content: bool = True,
    message: MessageOut | None = None,
) -> AttemptOut:
    """Return an attempt to an endpoint as a response shows it."""
    status = MessageStatus.SUCCESS if attempt.kind is None else MessageStatus.FAIL
    manual = attempt.trigger is Trigger.MANUAL
    return AttemptOut(
        id=attempt.id,
        msg_id=attempt.message,
        endpoint_id=endpoint,
        url=attempt.url,
        response=await _answer(attempt, redaction) if with_content else "{}",
        response_status_code=attempt.status or NO_ANSWER,
        response_duration_ms=round(attempt.took * 1000),
        status=status,
        status_text=text_of(status),
        trigger_type=TriggerType.MANUAL if manual else TriggerType.SCHEDULED,
        timestamp=instant(attempt.now or attempt.at),
        msg=message,
    )


async def _answer(attempt: Attempt, redaction: Redaction) -> str:
    """Return the stored body of the endpoint's response, or why there was no response."""
    if attempt.body or attempt.status is not None:
        return (await redacted(redaction, attempt.body)).decode(errors="replace")
    return attempt.detail or attempt.kind or ""
