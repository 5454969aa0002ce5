"""Operations that list deliveries with their status: by endpoint and by message."""

from msgspec.structs import asdict

from tarry.service.api.http.operation import Group
from tarry.service.api.http.paging import EndpointMark, ListQuery, MessageMark, Page, cut, page
from tarry.service.api.http.times import Instant, instant_or_none
from tarry.service.api.resources.attempts.statuses import (
    SHOWN_STATES,
    MessageStatus,
    StatusText,
    deliveries,
    status_of,
    text_of,
)
from tarry.service.api.resources.call import Call
from tarry.service.api.resources.endpoints.bodies import EndpointOut, endpoint_out
from tarry.service.api.resources.endpoints.lanes import lane_of
from tarry.service.api.resources.messages.bodies import MessageOut, message_out
from tarry.service.api.resources.messages.newest_first import RecentQuery, filtered, recent_cut
from tarry.service.explain import waits
from tarry.service.model import ids
from tarry.service.model.delivery import LIVE, Delivery
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.lane import LaneRow
from tarry.service.model.listing import FIRST, LAST
from tarry.service.model.message import Message
from tarry.service.store.kinds import DeliveriesTo

group = Group("Message Attempt", "v1.message-attempt")


class EndpointMessageOut(MessageOut, rename="camel", kw_only=True):
    """A message, with the status of its delivery to the endpoint."""

    status: MessageStatus
    status_text: StatusText
    next_attempt: Instant | None


class MessageEndpointOut(EndpointOut, rename="camel", kw_only=True):
    """An endpoint, with the status of the message's delivery to it."""

    status: MessageStatus
    status_text: StatusText
    next_attempt: Instant | None


class AttemptedQuery(RecentQuery, kw_only=True):
    """Which messages to list, and whether to include their payloads."""

    iterator: MessageMark | None = None
    status: MessageStatus | None = None
    with_content: bool = True
    expanded_statuses: bool = False


class DestinationQuery(ListQuery, kw_only=True):
    """The page of the list, and whether the client knows the status Canceled."""

    iterator: EndpointMark | None = None
    expanded_statuses: bool = False


@group.get("/app/{app_id}/endpoint/{endpoint_id}/msg")
async def list_attempted_messages(call: Call, query: AttemptedQuery) -> Page[EndpointMessageOut]:
    """List the messages to an endpoint with the status of each, newest first.

    Messages that were skipped while the endpoint was disabled are left out.
    """
    endpoint = await call.endpoint(await call.application())
    expanded = query.expanded_statuses
    delivery_filter = deliveries(
        query.status, filtered(query, ids.MESSAGE, call.now), expanded=expanded
    )
    listed = await call.hooks.store.page(DeliveriesTo(endpoint, delivery_filter), recent_cut(query))
    waiting = any(delivery.state in LIVE for _, delivery in listed.entries)
    lane = await lane_of(call, endpoint) if waiting else None

    async def to_output(message: Message, delivery: Delivery) -> EndpointMessageOut:
        status = status_of(delivery, expanded=expanded)
        shown = await message_out(message, call.hooks.redaction, with_content=query.with_content)
        return EndpointMessageOut(
            **asdict(shown),
            status=status,
            status_text=text_of(status),
            next_attempt=_next(delivery, lane, call.now),
        )

    shown = [await to_output(message, delivery) for message, delivery in listed.entries]
    return page(shown, query, lambda entry: entry, lambda entry: entry.id, left_at=listed.left_at)


@group.get("/app/{app_id}/msg/{msg_id}/endpoint")
async def list_attempted_destinations(
    call: Call, query: DestinationQuery
) -> Page[MessageEndpointOut]:
    """List the endpoints of a message with the status of the delivery to each, by id.

    Endpoints that were deleted after the message was sent are included.
    """
    message = await call.message(await call.application())
    part = cut(query)
    low, high = part.between(FIRST, LAST)
    in_range = [
        (endpoint, delivery)
        for endpoint, delivery in await call.hooks.deliveries(message)
        if low < endpoint.id < high and delivery.state in SHOWN_STATES
    ]
    listed = in_range[-part.limit :] if query.back else in_range[: part.limit]
    lanes = {
        endpoint.id: await lane_of(call, endpoint)
        for endpoint, delivery in listed
        if delivery.state in LIVE
    }

    def to_output(pair: tuple[Endpoint, Delivery]) -> MessageEndpointOut:
        endpoint, delivery = pair
        status = status_of(delivery, expanded=query.expanded_statuses)
        return MessageEndpointOut(
            **asdict(endpoint_out(endpoint)),
            status=status,
            status_text=text_of(status),
            next_attempt=_next(delivery, lanes.get(endpoint.id), call.now),
        )

    return page(listed, query, to_output, lambda pair: pair[0].id)


def _next(
    delivery: Delivery, lane: tuple[LaneRow, list[bytes]] | None, now: float
) -> Instant | None:
    """Return the time of a waiting delivery's next attempt, if it is known."""
    if lane is None or delivery.state not in LIVE:
        return None
    row, origins = lane
    _, goes_at = waits(delivery, row, now=now, origins=origins)
    return instant_or_none(goes_at)
