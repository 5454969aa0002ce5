"""Messages as they are written over HTTP: what may come in, and what goes out."""

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from tarry.service.model.message import Message

MOST_BYTES = 256 * 1024
"""Of one message's body."""
MOST_BATCH_BYTES = 16 * 1024 * 1024
BATCH = 1000
"""Messages in one request, at the most."""

Name = Annotated[str, Meta(min_length=1, max_length=256, pattern=r"^[a-zA-Z0-9\-_.]+\Z")]
"""A type of event or the sender's own id: it may be part of a URL."""
Channel = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^[a-zA-Z0-9\-_.:]+\Z")]
Tag = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^[^\x00]+\Z")]


class MessageIn(msgspec.Struct, rename="camel"):
    """A message as it comes in."""

    event_type: Name
    payload: msgspec.Raw
    event_id: Name | None = None
    channels: Annotated[list[Channel], Meta(min_length=1, max_length=5)] | None = None
    tags: Annotated[list[Tag], Meta(max_length=50)] | None = None
    deliver_at: Annotated[datetime, Meta(tz=True)] | None = None


class MessageOut(msgspec.Struct, rename="camel"):
    """A message as it was accepted."""

    id: str
    event_type: str
    payload: msgspec.Raw
    timestamp: str
    event_id: str | None = None
    channels: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None


_one = msgspec.json.Decoder(MessageIn)
_many = msgspec.json.Decoder(Annotated[list[MessageIn], Meta(max_length=BATCH)])
_EMPTY, _EXPIRED = msgspec.Raw(b"{}"), msgspec.Raw(b'{"expired":true}')


def read_messages(body: bytes, *, batch: bool) -> list[MessageIn]:
    """The messages of a request's body; ValueError says what is wrong with it.

    A payload is looked through, not taken apart: its bytes stay as they are.
    """
    try:
        if not body.isascii():
            body.decode()
        found = _many.decode(body) if batch else [_one.decode(body)]
    except RecursionError:
        raise msgspec.ValidationError("it is nested too deeply") from None
    for number, one in enumerate(found):
        payload = memoryview(one.payload)
        where = f"`$[{number}].payload`" if batch else "`$.payload`"
        if payload[0] != ord("{"):
            raise msgspec.ValidationError(f"Expected `object` - at {where}")
        if len(payload) > MOST_BYTES:
            said = f"Expected at most {MOST_BYTES} bytes, there are {len(payload)} - at {where}"
            raise msgspec.ValidationError(said)
    return found


def written(message: Message, *, with_content: bool) -> MessageOut:
    """What is answered about a message."""
    payload = _EXPIRED if message.payload is None else msgspec.Raw(message.payload)
    return MessageOut(
        id=message.id,
        event_type=message.event_type,
        payload=payload if with_content else _EMPTY,
        timestamp=datetime.fromtimestamp(message.accepted_at, UTC).isoformat(),
        event_id=message.event_id,
        channels=message.channels or None,
        tags=message.tags or None,
    )
