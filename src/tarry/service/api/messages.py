"""Messages as they are written over HTTP: what may come in, and what goes out."""

from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from tarry.errors import SettingsError
from tarry.service.api.applications import ApplicationIn
from tarry.service.api.problem import Invalid, TooLarge
from tarry.service.api.read import NO_JSON, read_body
from tarry.service.api.surrogates import StandIns, decode, stand_ins
from tarry.service.api.times import Instant, instant
from tarry.service.api.times import written as written_at
from tarry.service.model import allowed
from tarry.service.model.allowed import MOST_BYTES, MOST_CHANNELS, MOST_LETTERS, MOST_TAGS
from tarry.service.model.message import Message
from tarry.service.model.text import MOST_CHARACTERS
from tarry.service.wire.sign import check_headers

MOST_BODY = MOST_BYTES + 128 * 1024
"""Of a request with one message."""
MOST_BATCH_BYTES = 16 * 1024 * 1024
BATCH = 1000
"""Messages in one request, at the most."""

Name = Annotated[str, Meta(min_length=1, max_length=MOST_CHARACTERS, pattern=allowed.NAME)]
"""A type of event, or somebody's own name for something: it may be part of a URL."""
EventId = Annotated[str, Meta(min_length=1, max_length=MOST_CHARACTERS, pattern=allowed.EVENT_ID)]
"""The sender's own id of a message: it cannot be taken for another's."""
Channel = Annotated[str, Meta(min_length=1, max_length=MOST_LETTERS, pattern=allowed.CHANNEL)]
Tag = Annotated[str, Meta(min_length=1, max_length=MOST_LETTERS, pattern=allowed.TAG)]
Payload = Annotated[msgspec.Raw, Meta(extra_json_schema={"type": "object"})]
"""An object in JSON, whose bytes stay as they are."""
JSON = "application/json"


class RawIn(Struct, rename="camel"):
    """A body that is sent as it is, instead of a payload in JSON, and its headers."""

    raw_payload: str | None = None
    headers: dict[str, str] | None = None


class MessageIn(Struct, rename="camel"):
    """A message as it comes in."""

    event_type: Name
    payload: Payload
    event_id: EventId | None = None
    channels: Annotated[list[Channel], Meta(min_length=1, max_length=MOST_CHANNELS)] | None = None
    tags: Annotated[list[Tag], Meta(max_length=MOST_TAGS)] | None = None
    deliver_at: Instant | None = None
    application: ApplicationIn | None = None
    """Made if there is no application of the uid in the path; its own uid must be the same."""
    transformations_params: RawIn | None = None
    payload_retention_period: Annotated[int, Meta(ge=1, le=90)] | None = None
    """Days that the payload is kept, but no shorter than it is needed."""
    payload_retention_hours: Annotated[int, Meta(ge=1, le=90 * 24)] | None = None
    """The same in hours."""

    @property
    def content_type(self) -> str | None:
        """What it is sent as; None for JSON."""
        raw = self.transformations_params
        if raw is None:
            return None
        told = {name.lower(): text for name, text in _headers(raw)}
        kind = told.get("content-type", JSON)
        return None if kind.lower() == JSON else kind

    @property
    def kept_for(self) -> float | None:
        """Seconds that its payload is kept, if that is told."""
        if self.payload_retention_hours is not None:
            return self.payload_retention_hours * 3600.0
        days = self.payload_retention_period
        return None if days is None else days * 86_400.0

    def body(self) -> bytes:
        """What is sent."""
        raw = self.transformations_params
        if raw is None or raw.raw_payload is None:
            return bytes(self.payload)
        return raw.raw_payload.encode()


class MessageOut(Struct, rename="camel"):
    """A message as it was accepted."""

    id: str
    event_type: str
    payload: Payload
    timestamp: Instant
    event_id: str | None = None
    channels: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    deliver_at: Instant | None = None


Many = Annotated[list[MessageIn], Meta(max_length=BATCH)]
_EMPTY, _EXPIRED = msgspec.Raw(b"{}"), msgspec.Raw(b'{"expired":true}')


def read_messages(body: bytes, *, batch: bool) -> list[MessageIn]:
    """The messages of a request's body; Invalid says what is wrong with it.

    A payload is looked through, not taken apart: its bytes stay as they are.
    """
    try:
        found = _read(body, batch=batch)
    except Invalid as error:
        stand = stand_ins(body) if error.kind == NO_JSON else None
        if stand is None:
            raise
        found = _read_with(stand, batch=batch)
    for number, one in enumerate(found):
        _check(one, ["body", str(number)] if batch else ["body"])
    return found


def _read(body: bytes, *, batch: bool) -> list[MessageIn]:
    return read_body(body, Many) if batch else [read_body(body, MessageIn)]


def _read_with(stand: StandIns, *, batch: bool) -> list[MessageIn]:
    """The same, with halves of surrogate pairs in payloads."""
    found, count = _read(stand.text, batch=batch), 0
    for one in found:
        payload, halves = stand.back(bytes(one.payload))
        one.payload = msgspec.Raw(payload)
        count += halves
    if count < len(stand.halves):
        raise Invalid(["body"], "there is half a surrogate pair outside of payloads")
    return found


def _check(told: MessageIn, place: list[str]) -> None:
    payload = memoryview(told.payload)
    if payload[0] != ord("{"):
        raise Invalid([*place, "payload"], "Expected `object`")
    size = len(payload)
    if told.transformations_params is not None:
        size = len(told.body())
        _check_type(told, [*place, "transformationsParams", "headers"])
    if told.payload_retention_hours is not None and told.payload_retention_period is not None:
        said = "it cannot be told together with `payloadRetentionPeriod`"
        raise Invalid([*place, "payloadRetentionHours"], said)
    if size > MOST_BYTES:
        raise TooLarge([*place, "payload"], size, MOST_BYTES)


def _check_type(told: MessageIn, place: list[str]) -> None:
    try:
        check_headers([] if told.content_type is None else [("content-type", told.content_type)])
    except SettingsError as error:
        raise Invalid([*place, "content-type"], str(error)) from error


def _headers(raw: RawIn) -> Iterable[tuple[str, str]]:
    return (raw.headers or {}).items()


def written(message: Message, *, with_content: bool) -> MessageOut:
    """What is answered about a message."""
    return MessageOut(
        id=message.id,
        event_type=message.event_type,
        payload=shown(message.payload) if with_content else _EMPTY,
        timestamp=instant(message.accepted_at),
        event_id=message.event_id,
        channels=message.channels or None,
        tags=message.tags or None,
        deliver_at=written_at(message.deliver_at),
    )


def shown(payload: bytes | None) -> msgspec.Raw:
    """A payload as part of an answer; one that is no JSON object is shown as the text it is."""
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
