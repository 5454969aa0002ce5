"""Messages come in over HTTP: the busiest way in.

A message is answered with 202 once it is on disk with all its deliveries, and with 503 and
`Retry-After` as long as the database cannot be written to. Its payload is kept byte for byte.
"""

from collections.abc import Sequence

from msgspec import Struct

from tarry.errors import NotFound, ServiceError
from tarry.service.api import messages
from tarry.service.api.access import Need
from tarry.service.api.call import Call
from tarry.service.api.messages import MessageIn, MessageOut, read_messages, written
from tarry.service.api.operation import Group
from tarry.service.api.problem import said
from tarry.service.model.application import Application
from tarry.service.model.message import Accepted, Message, NewMessage, fingerprint

ACCEPTED = 202

group = Group("Message", "v1.message")


class ContentQuery(Struct):
    """Whether payloads are answered as well."""

    with_content: bool = True


class Refused(Struct):
    """Why a message of a batch was not kept."""

    code: str
    detail: str


class Batch(Struct):
    """What became of each message of a batch, in their order."""

    data: list[MessageOut | Refused]


@group.post(
    "/app/{app_id}/msg",
    needs=Need.SEND,
    status=ACCEPTED,
    body=MessageIn,
    most_bytes=messages.MOST_BODY,
)
async def create(call: Call, body: bytes, query: ContentQuery) -> MessageOut:
    """Send a message to the endpoints of an application that want it."""
    (result,) = await _kept(call, body, batch=False)
    if isinstance(result, Accepted):
        return written(result.message, with_content=query.with_content)
    raise result


@group.post(
    "/app/{app_id}/msg/batch",
    needs=Need.SEND,
    status=ACCEPTED,
    body=list[MessageIn],
    most_bytes=messages.MOST_BATCH_BYTES,
)
async def create_batch(call: Call, body: bytes, query: ContentQuery) -> Batch:
    """Send up to 1,000 messages, kept in one commit; what is wrong with one concerns it alone."""
    results = await _kept(call, body, batch=True)
    refused = [result for result in results if not isinstance(result, Accepted)]
    if refused and len(refused) == len(results):
        raise refused[0]
    return Batch(
        [
            written(result.message, with_content=query.with_content)
            if isinstance(result, Accepted)
            else Refused(*said(result))
            for result in results
        ]
    )


async def _kept(call: Call, body: bytes, *, batch: bool) -> Sequence[Accepted | ServiceError]:
    """Have messages kept; once more if the application is another one by now."""
    found = read_messages(body, batch=batch)
    application, remembered = await call.remembered_application()
    results = await call.hooks.send_many(_new(call, application, found, body, batch=batch))
    if remembered and any(isinstance(result, NotFound) for result in results):
        call.forget_application()
        return await _kept(call, body, batch=batch)
    return results


def _new(
    call: Call,
    application: Application,
    found: Sequence[MessageIn],
    body: bytes,
    *,
    batch: bool,
) -> list[NewMessage]:
    made = (_message(call, application, one) for one in found)
    key = call.request.idempotency_key
    if key is None:
        return [NewMessage(message) for message in made]
    # Each message of a batch has a key of its own, so that a repetition meets each of them.
    request = fingerprint(application.id, body)
    return [
        NewMessage(message, f"{key}/{number}" if batch else key, request)
        for number, message in enumerate(made)
    ]


def _message(call: Call, application: Application, told: MessageIn) -> Message:
    at = told.deliver_at
    return call.hooks.message(
        application,
        told.event_type,
        bytes(told.payload),
        event_id=told.event_id,
        channels=told.channels or (),
        tags=told.tags or (),
        deliver_at=None if at is None else at.timestamp(),
    )
