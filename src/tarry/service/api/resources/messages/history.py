"""Operations on messages that were sent: list, get, delete the payload, cancel."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from tarry.errors import NotFound
from tarry.service.api.http.access import Need
from tarry.service.api.http.operation import Group
from tarry.service.api.http.paging import MessageMark, Page, page
from tarry.service.api.resources.call import Call
from tarry.service.api.resources.endpoints.all_endpoints import all_endpoints
from tarry.service.api.resources.environment.tasks import TaskStarted, task_started
from tarry.service.api.resources.messages.bodies import Channel, MessageOut, Name, message_out
from tarry.service.api.resources.messages.ingest import ContentQuery
from tarry.service.api.resources.messages.newest_first import RecentQuery, filtered, recent_cut
from tarry.service.model import ids
from tarry.service.model.application import Application
from tarry.service.model.endpoint import Standing
from tarry.service.store.kinds import Messages

ACCEPTED = 202
MOST_IDS = 100
"""The most messages whose payloads one request can delete."""

group = Group("Message", "v1.message")


class MessageQuery(RecentQuery, kw_only=True):
    """Which messages to list, and whether to include their payloads."""

    iterator: MessageMark | None = None
    with_content: bool = True


class PrecheckIn(Struct, rename="camel"):
    """The event type and channels of a possible message."""

    event_type: Name
    channels: Annotated[list[Channel], Meta(max_length=10)] | None = None


class PrecheckOut(Struct):
    """Whether such a message would be sent to any endpoint."""

    active: bool


class BulkExpungeIn(Struct):
    """The ids or event ids of the messages."""

    ids: Annotated[list[Name], Meta(max_length=MOST_IDS)] = []


class Expunged(StrEnum):
    """The result for one message."""

    DONE = "expunged"
    NOT_FOUND = "not-found"


class BulkExpungeOut(Struct):
    """The result for each message."""

    results: dict[str, Expunged]


class CancelOut(Struct):
    """The number of deliveries that were cancelled."""

    cancelled: int


@group.get("/app/{app_id}/msg", name="list")
async def list_messages(call: Call, query: MessageQuery) -> Page[MessageOut]:
    """List an application's messages, newest first.

    With only `after`, the first page has the oldest messages. Unless both `before` and `after` are
    given, the list covers 90 days.
    """
    application = await call.application()
    wanted_messages = filtered(query, ids.MESSAGE, call.now)
    listed = await call.hooks.store.page(
        Messages(application.id, wanted_messages), recent_cut(query)
    )
    shown = [
        await message_out(message, call.hooks.redaction, with_content=query.with_content)
        for message in listed.entries
    ]
    return page(shown, query, lambda entry: entry, lambda entry: entry.id, left_at=listed.left_at)


@group.get("/app/{app_id}/msg/{msg_id}")
async def get(call: Call, query: ContentQuery) -> MessageOut:
    """Get a message by its id or event id."""
    message = await call.message(await call.application())
    return await message_out(message, call.hooks.redaction, with_content=query.with_content)


@group.delete("/app/{app_id}/msg/{msg_id}/content", needs=Need.CHANGE)
async def expunge_content(call: Call) -> None:
    """Delete a message's payload.

    The message cannot be sent again. Its waiting deliveries end without an attempt when their turn
    comes.
    """
    application = await call.application()
    message = await call.message(application)
    await call.hooks.store.expunge(Messages(application.id), message.id, by=call.hooks.action)


@group.post("/app/{app_id}/msg/bulk-expunge", needs=Need.CHANGE)
async def bulk_expunge_content(call: Call, body: BulkExpungeIn) -> BulkExpungeOut:
    """Delete the payloads of several messages; the response names messages that do not exist."""
    application = await call.application()
    return BulkExpungeOut({name: await _expunge(call, application, name) for name in body.ids})


async def _expunge(call: Call, application: Application, name: str) -> Expunged:
    """Delete one message's payload; return whether the application has the message."""
    try:
        message = await call.hooks.store.get(Messages(application.id), name)
        await call.hooks.store.expunge(Messages(application.id), message.id, by=call.hooks.action)
    except NotFound:
        return Expunged.NOT_FOUND
    return Expunged.DONE


@group.post("/app/{app_id}/msg/expunge-all-contents", needs=Need.CHANGE, status=ACCEPTED)
async def expunge_all_contents(call: Call) -> TaskStarted:
    """Delete the payloads of all messages received so far, in the background.

    When the task has finished, its `data` has `messagesPurged`.
    """
    return task_started(await call.hooks.purge(await call.application()))


@group.post("/app/{app_id}/msg/precheck/active", needs=Need.SEND)
async def precheck(call: Call, body: PrecheckIn) -> PrecheckOut:
    """Check whether any endpoint would get such a message.

    An endpoint that its owner disabled would not get it. A paused endpoint gets it when it is
    resumed.
    """
    application = await call.application()
    channels = tuple(body.channels or ())
    async for endpoint in all_endpoints(call, application):
        disabled = endpoint.standing is Standing.DISABLED
        if not disabled and endpoint.wants(body.event_type, channels):
            return PrecheckOut(active=True)
    return PrecheckOut(active=False)


@group.post("/app/{app_id}/msg/{msg_id}/cancel", needs=Need.CHANGE)
async def cancel(call: Call) -> CancelOut:
    """Cancel all waiting deliveries of a message."""
    return CancelOut(await call.hooks.cancel(await call.message(await call.application())))
