"""The operations that accept messages, which are the most frequent requests.

The response to a message is 202 once the message and all its deliveries are on disk, or 503 with
`Retry-After` while the database is not writable. The payload is stored byte for byte.
"""

import asyncio
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from tarry.errors import Conflict, NotFound, ServiceError
from tarry.service.api.http.access import Need
from tarry.service.api.http.idempotency import IDEMPOTENCY_KEY
from tarry.service.api.http.operation import Group
from tarry.service.api.http.problem import BadRequest, Invalid, code_and_detail
from tarry.service.api.http.times import seconds
from tarry.service.api.resources.applications import applications
from tarry.service.api.resources.call import Call
from tarry.service.api.resources.event_types.schemas import check_payload
from tarry.service.api.resources.messages import bodies
from tarry.service.api.resources.messages.bodies import (
    MessageIn,
    MessageOut,
    message_out,
    read_messages,
)
from tarry.service.model.application import Application
from tarry.service.model.message import (
    CHAIN_HEADER,
    MOST_IN_CHAIN,
    Accepted,
    Message,
    NewMessage,
    fingerprint,
)

ACCEPTED = 202
MISFIT = "invalid_payload"
"""The error code of a message in a batch whose payload does not match its schema."""

_CHAIN = CHAIN_HEADER.encode()
_CHAIN_DIGITS = 4

group = Group("Message", "v1.message")


class ContentQuery(Struct):
    """Whether the response includes payloads."""

    with_content: bool = True


class RefusedMessage(Struct):
    """Why a message of a batch was not accepted; `index` counts from 0."""

    index: int
    code: str
    detail: str


class Batch(Struct):
    """The messages of a batch in order; null for one that was not accepted, see `errors`."""

    data: list[MessageOut | None]
    errors: list[RefusedMessage]


@group.post(
    "/app/{app_id}/msg",
    needs=Need.SEND,
    status=ACCEPTED,
    body=MessageIn,
    most_bytes=bodies.MOST_BODY,
    fails=(400,),
)
async def create(call: Call, body: bytes, query: ContentQuery) -> MessageOut:
    """Send a message to the endpoints of an application that want it.

    With `application` in the body, the application is created if none has the uid in the path.
    """
    (result,) = await _stored(call, body, batch=False)
    if isinstance(result, Accepted):
        return await message_out(
            result.message, call.hooks.redaction, with_content=query.with_content
        )
    raise result


@group.post(
    "/app/{app_id}/msg/batch",
    needs=Need.SEND,
    status=ACCEPTED,
    body=bodies.Many,
    most_bytes=bodies.MOST_BATCH_BYTES,
    fails=(400,),
)
async def create_batch(call: Call, body: bytes, query: ContentQuery) -> Batch:
    """Send up to 1,000 messages in one commit; an error in one does not affect the others."""
    data: list[MessageOut | None] = []
    refused: list[tuple[int, ServiceError]] = []
    for index, result in enumerate(await _stored(call, body, batch=True)):
        if isinstance(result, Accepted):
            message = await message_out(
                result.message, call.hooks.redaction, with_content=query.with_content
            )
            data.append(message)
        else:
            data.append(None)
            refused.append((index, result))
    if refused and len(refused) == len(data):
        raise refused[0][1]
    return Batch(
        data, [RefusedMessage(index, *_code_and_detail(error)) for index, error in refused]
    )


async def _stored(call: Call, body: bytes, *, batch: bool) -> Sequence[Accepted | ServiceError]:
    """Store the messages of a request; if the cached application was deleted, look it up again."""
    chain = _chain(call)
    messages = read_messages(body, batch=batch)
    misfits = await _misfits(call, messages, batch=batch)
    if messages and len(misfits) == len(messages):  # no application is created for these
        return list(misfits.values())
    application, remembered = await _application(call, messages)
    new = _new_messages(call, application, messages, body, batch=batch)
    if chain:
        new = [replace(entry, message=replace(entry.message, chain=chain)) for entry in new]
    if misfits:
        new = [entry for number, entry in enumerate(new) if number not in misfits]
    results = await call.hooks.send_many(new)
    if remembered and any(isinstance(result, NotFound) for result in results):
        call.forget_application()
        return await _stored(call, body, batch=batch)
    answers = [_for_caller(result, application) for result in results]
    if not misfits:
        return answers
    remaining = iter(answers)
    return [
        misfits[number] if number in misfits else next(remaining) for number in range(len(messages))
    ]


def _code_and_detail(error: ServiceError) -> tuple[str, str]:
    """Return the code and detail of an error in one message of a batch."""
    return (MISFIT, str(error)) if isinstance(error, Invalid) else code_and_detail(error)


def _for_caller(
    result: Accepted | ServiceError, application: Application
) -> Accepted | ServiceError:
    """Return the result for the caller.

    A conflict gets the key as the caller sent it, and says whether that is an event id or an
    idempotency key.
    """
    if not isinstance(result, Conflict):
        return result
    key = result.key.removeprefix(_key_prefix(application))
    return Conflict(result.kind, key, "event id" if key == result.key else IDEMPOTENCY_KEY)


def _key_prefix(application: Application) -> str:
    """Return the prefix of an application's idempotency keys.

    Each application has its own keys, because a sender may send an event to many applications
    under one key.
    """
    return f"{application.id} "


async def _misfits(
    call: Call, messages: Sequence[MessageIn], *, batch: bool
) -> dict[int, ServiceError]:
    """Return the errors of payloads that do not match their schema, by the message's position.

    Only event types with validation have such a schema.
    """
    types = {message.event_type for message in messages}
    schemas = {name: await call.send_cache.schema(call.caller.environment, name) for name in types}
    misfits: dict[int, ServiceError] = {}
    for number, message in enumerate(messages):
        schema = schemas[message.event_type]
        if schema is None:
            continue
        try:
            path = ["body", str(number), "payload"] if batch else ["body", "payload"]
            await check_payload(
                schema, message.body(), path, show_values=not call.hooks.redaction.ends
            )
        except Invalid as error:
            misfits[number] = error
        await asyncio.sleep(0)  # let other requests run: validation takes time
    return misfits


async def _application(call: Call, messages: Sequence[MessageIn]) -> tuple[Application, bool]:
    """Return the application of the messages, and whether it came from the cache.

    If it does not exist and a message describes it, create it.
    """
    try:
        return await call.remembered_application()
    except NotFound:
        described = next(
            (message.application for message in messages if message.application is not None), None
        )
        if described is None or call.caller.application is not None or not call.may(Need.CHANGE):
            raise
    return await applications.on_the_fly(call, described), False


def _new_messages(
    call: Call,
    application: Application,
    messages: Sequence[MessageIn],
    body: bytes,
    *,
    batch: bool,
) -> list[NewMessage]:
    """Return the messages to store, with idempotency keys if the request has one."""
    stored = (_message(call, application, message) for message in messages)
    if call.request.idempotency_key is None:
        return [NewMessage(message) for message in stored]
    key = _key_prefix(application) + call.request.idempotency_key
    # Each message of a batch has its own key, so that a repeated batch repeats none of them.
    request = fingerprint(application.id, body)
    return [
        NewMessage(message, f"{key}/{number}" if batch else key, request)
        for number, message in enumerate(stored)
    ]


def _message(call: Call, application: Application, message: MessageIn) -> Message:
    """Return a message of the request as it is stored."""
    return call.hooks.message(
        application,
        message.event_type,
        message.body(),
        event_id=message.event_id,
        channels=dict.fromkeys(message.channels) if message.channels else (),
        tags=dict.fromkeys(message.tags) if message.tags else (),
        deliver_at=seconds(message.deliver_at),
        payload_until=None if message.kept_for is None else call.now + message.kept_for,
        content_type=message.content_type,
    )


def _chain(call: Call) -> int:
    """Return how many deliveries led to a request, as its header says; refuse an endless chain."""
    text = call.request.header(_CHAIN)
    if not text:
        return 0
    if not (text.isascii() and text.isdecimal() and len(text) <= _CHAIN_DIGITS):
        raise Invalid(
            ["header", CHAIN_HEADER], "it must be the number in this header of a delivery"
        )
    if (chain := int(text)) >= MOST_IN_CHAIN:
        detail = (
            f"{CHAIN_HEADER} is {chain}: {chain} deliveries caused one another, and at most"
            f" {MOST_IN_CHAIN} may; the last receiver sends what the first one gets"
        )
        raise BadRequest("chain_too_long", detail)
    return chain
