"""The bodies of requests and responses about messages."""

from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from tarry.errors import SettingsError
from tarry.service.api.http.parsing import NO_JSON, read_body
from tarry.service.api.http.problem import Invalid, TooLarge
from tarry.service.api.http.surrogates import StandIns, decode, stand_ins
from tarry.service.api.http.times import Instant, instant, instant_or_none
from tarry.service.api.resources.applications.applications import ApplicationIn
from tarry.service.api.resources.messages.batch_shape import MOST_MESSAGES, check_shape
from tarry.service.api.resources.redacted import redacted
from tarry.service.model import allowed
from tarry.service.model.allowed import MOST_BYTES, MOST_CHANNELS, MOST_LETTERS, MOST_TAGS
from tarry.service.model.message import Message
from tarry.service.model.redaction import Redaction
from tarry.service.model.text import MOST_CHARACTERS
from tarry.service.wire.sign import check_headers

MOST_BODY = MOST_BYTES + 128 * 1024
"""The most bytes in the body of a request with one message."""
MOST_BATCH_BYTES = 16 * 1024 * 1024

Name = Annotated[str, Meta(min_length=1, max_length=MOST_CHARACTERS, pattern=allowed.NAME)]
"""An event type, or a name that its owner chose. It may be part of a URL."""
EventId = Annotated[str, Meta(min_length=1, max_length=MOST_CHARACTERS, pattern=allowed.EVENT_ID)]
"""A message's id chosen by the sender. It cannot equal an id that tarry generates."""
Channel = Annotated[str, Meta(min_length=1, max_length=MOST_LETTERS, pattern=allowed.CHANNEL)]
Tag = Annotated[str, Meta(min_length=1, max_length=MOST_LETTERS, pattern=allowed.TAG)]
Payload = Annotated[msgspec.Raw, Meta(extra_json_schema={"type": "object"})]
"""A JSON object whose bytes do not change."""
JSON = "application/json"


class RawIn(Struct, rename="camel"):
    """A body that is sent unchanged instead of the JSON payload, and its headers."""

    raw_payload: str | None = None
    headers: dict[str, str] | None = None


class MessageIn(Struct, rename="camel"):
    """A message to send."""

    event_type: Name
    payload: Payload
    event_id: EventId | None = None
    channels: Annotated[list[Channel], Meta(min_length=1, max_length=MOST_CHANNELS)] | None = None
    tags: Annotated[list[Tag], Meta(max_length=MOST_TAGS)] | None = None
    deliver_at: Instant | None = None
    application: ApplicationIn | None = None
    """Created if no application has the uid in the path; its `uid` must be the same."""
    transformations_params: RawIn | None = None
    payload_retention_period: Annotated[int, Meta(ge=1, le=90)] | None = None
    """Days that the payload is kept; a payload that is still needed is kept longer."""
    payload_retention_hours: Annotated[int, Meta(ge=1, le=90 * 24)] | None = None
    """The same, in hours."""

    @property
    def content_type(self) -> str | None:
        """The content type that it is sent with; None for JSON."""
        raw = self.transformations_params
        if raw is None:
            return None
        headers = {name.lower(): text for name, text in _headers(raw)}
        kind = headers.get("content-type", JSON)
        return None if kind.lower() == JSON else kind

    @property
    def kept_for(self) -> float | None:
        """Seconds that the payload is kept, if the request says so."""
        if self.payload_retention_hours is not None:
            return self.payload_retention_hours * 3600.0
        days = self.payload_retention_period
        return None if days is None else days * 86_400.0

    def body(self) -> bytes:
        """Return the bytes that are sent to endpoints."""
        raw = self.transformations_params
        if raw is None or raw.raw_payload is None:
            return bytes(self.payload)
        return raw.raw_payload.encode()


class MessageOut(Struct, rename="camel"):
    """An accepted message."""

    id: str
    event_type: str
    payload: Payload
    timestamp: Instant
    event_id: str | None = None
    channels: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    deliver_at: Instant | None = None


Many = Annotated[list[MessageIn], Meta(max_length=MOST_MESSAGES)]
_EMPTY = msgspec.Raw(b"{}")
_EXPIRED, _ERASED = msgspec.Raw(b'{"expired":true}'), msgspec.Raw(b'{"erased":true}')


def read_messages(body: bytes, *, batch: bool) -> list[MessageIn]:
    """Return the messages in a request's body; Invalid says what is wrong with it.

    Payloads are checked to be JSON but not decoded, so their bytes do not change.
    """
    try:
        messages = _parse(body, batch=batch)
    except Invalid as error:
        replaced = stand_ins(body) if error.kind == NO_JSON else None
        if replaced is None:
            raise
        messages = _read_with(replaced, batch=batch)
    for number, message in enumerate(messages):
        _check_message(message, ["body", str(number)] if batch else ["body"])
    return messages


def _parse(body: bytes, *, batch: bool) -> list[MessageIn]:
    """Parse one message or, for a batch, a list of them."""
    check_shape(body, batch=batch)
    return read_body(body, Many) if batch else [read_body(body, MessageIn)]


def _read_with(replaced: StandIns, *, batch: bool) -> list[MessageIn]:
    """Read messages whose payloads have lone surrogates, and put these back into the payloads."""
    messages, count = _parse(replaced.text, batch=batch), 0
    for message in messages:
        payload, halves = replaced.back(bytes(message.payload))
        message.payload = msgspec.Raw(payload)
        count += halves
    if count < len(replaced.halves):
        raise Invalid(["body"], "half a surrogate pair is only allowed inside payloads")
    return messages


def _check_message(message: MessageIn, path: list[str]) -> None:
    """Refuse a message whose payload is no object or too large, or whose fields conflict."""
    payload = memoryview(message.payload)
    if payload[0] != ord("{"):
        raise Invalid([*path, "payload"], "Expected `object`")
    size = len(payload)
    if message.transformations_params is not None:
        size = len(message.body())
        _check_content_type(message, [*path, "transformationsParams", "headers"])
    if message.payload_retention_hours is not None and message.payload_retention_period is not None:
        detail = "it cannot be combined with `payloadRetentionPeriod`"
        raise Invalid([*path, "payloadRetentionHours"], detail)
    if size > MOST_BYTES:
        raise TooLarge([*path, "payload"], size, MOST_BYTES)


def _check_content_type(message: MessageIn, path: list[str]) -> None:
    """Refuse a content type that cannot be sent as a header."""
    try:
        check_headers(
            [] if message.content_type is None else [("content-type", message.content_type)]
        )
    except SettingsError as error:
        raise Invalid([*path, "content-type"], str(error)) from error


def _headers(raw: RawIn) -> Iterable[tuple[str, str]]:
    return (raw.headers or {}).items()


async def message_out(message: Message, redaction: Redaction, *, with_content: bool) -> MessageOut:
    """Return a message as a response shows it."""
    payload = _EMPTY
    if with_content and message.is_erased:
        payload = _ERASED
    elif with_content:
        payload = shown(message.payload and await redacted(redaction, message.payload))
    return MessageOut(
        id=message.id,
        event_type=message.event_type,
        payload=payload,
        timestamp=instant(message.accepted_at),
        event_id=message.event_id,
        channels=message.channels or None,
        tags=message.tags or None,
        deliver_at=instant_or_none(message.deliver_at),
    )


def shown(payload: bytes | None) -> msgspec.Raw:
    """Return a payload as part of a response; one that is not a JSON object is shown as text."""
    if payload is None:
        return _EXPIRED
    if payload[:1] == b"{":
        try:
            decode(payload, msgspec.Raw)
        except (msgspec.DecodeError, RecursionError):
            pass
        else:
            return msgspec.Raw(payload)
    text = payload.decode(errors="replace")
    return msgspec.Raw(msgspec.json.encode({"rawPayload": text}))
