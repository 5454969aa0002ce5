"""Messages as they are written over HTTP: what may come in, and what goes out."""

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from tarry.service.api.problem import Invalid
from tarry.service.api.read import read_body
from tarry.service.model.message import Message

MOST_BYTES = 1024 * 1024
"""Of one message's payload."""
MOST_BODY = MOST_BYTES + 128 * 1024
"""Of a request with one message."""
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


Many = Annotated[list[MessageIn], Meta(max_length=BATCH)]
_EMPTY, _EXPIRED = msgspec.Raw(b"{}"), msgspec.Raw(b'{"expired":true}')


def read_messages(body: bytes, *, batch: bool) -> list[MessageIn]:
    """The messages of a request's body; Invalid says what is wrong with it.

    A payload is looked through, not taken apart: its bytes stay as they are.
    """
    found = read_body(body, Many) if batch else [read_body(body, MessageIn)]
    for number, one in enumerate(found):
        payload = memoryview(one.payload)
        place = ["body", str(number), "payload"] if batch else ["body", "payload"]
        if payload[0] != ord("{"):
            raise Invalid(place, "Expected `object`")
        if len(payload) > MOST_BYTES:
            said = f"Expected at most {MOST_BYTES} bytes, there are {len(payload)}"
            raise Invalid(place, said)
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
