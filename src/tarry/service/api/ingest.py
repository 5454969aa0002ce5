"""Messages come in over HTTP: a bare ASGI callable, because this is the busiest way in.

A message is answered with 202 once it is on disk with all its deliveries, and with 503 and
`Retry-After` as long as the database cannot be written to. Its payload is kept byte for byte.
"""

import hmac
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from tarry.errors import ServiceError
from tarry.service.api.problem import Answer, invalid, json_answer, problem, told
from tarry.service.hooks import Hooks
from tarry.service.model.application import Application
from tarry.service.model.message import Accepted, Message, NewMessage

MOST_BYTES = 256 * 1024
"""Of a request's body."""
BATCH = 1000
MOST_BATCH_BYTES = 16 * 1024 * 1024

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


class MessageIn(msgspec.Struct, rename="camel"):
    """A message as it comes in."""

    event_type: str
    payload: msgspec.Raw
    event_id: str | None = None
    channels: list[str] | None = None
    tags: list[str] | None = None
    deliver_at: datetime | None = None


class MessageOut(msgspec.Struct, rename="camel"):
    """A message as it was accepted."""

    id: str
    event_type: str
    payload: msgspec.Raw
    timestamp: str
    event_id: str | None = None
    channels: list[str] | None = None
    tags: list[str] | None = None


_one = msgspec.json.Decoder(MessageIn)
_many = msgspec.json.Decoder(list[MessageIn])


class Ingest:
    """`POST /api/v1/app/{id or uid}/msg` and its `/batch`, `GET /healthz` and `/readyz`."""

    def __init__(self, hooks: Hooks, api_key: str | None) -> None:
        self._hooks = hooks
        self._key = None if api_key is None else f"Bearer {api_key}".encode()
        self._known: dict[str, Application] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        status, headers, body = await self._answered(scope, receive)
        pairs = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        pairs.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        await send({"type": "http.response.body", "body": body})

    async def _answered(self, scope: Scope, receive: Receive) -> Answer:
        path, headers = scope["path"].rstrip("/"), dict(scope["headers"])
        if path == "/healthz":
            return json_answer(200, {"status": "alive"})
        try:
            if path == "/readyz":
                await self._hooks.store.check()
                return json_answer(200, {"status": "ready"})
            match path.split("/"):
                case ["", "api", "v1", "app", known_as, "msg"] if scope["method"] == "POST":
                    return await self._accept(known_as, headers, receive, batch=False)
                case ["", "api", "v1", "app", known_as, "msg", "batch"] if (
                    scope["method"] == "POST"
                ):
                    return await self._accept(known_as, headers, receive, batch=True)
            return problem(501, "not_implemented", "this operation is not served")
        except ServiceError as error:
            return told(error)

    async def _accept(
        self, known_as: str, headers: Mapping[bytes, bytes], receive: Receive, *, batch: bool
    ) -> Answer:
        if not self._is_known(headers):
            return problem(401, "authentication_failed", "no key, or not one that is known")
        body = await _read(receive, MOST_BATCH_BYTES if batch else MOST_BYTES)
        if body is None:
            return problem(413, "payload_too_large", f"a message has at most {MOST_BYTES} bytes")
        try:
            found = _many.decode(body) if batch else [_one.decode(body)]
            _check(found)
        except (msgspec.DecodeError, RecursionError) as error:
            return invalid(["body"], str(error))
        application = await self._application(known_as)
        key = None if batch else headers.get(b"idempotency-key", b"").decode("latin-1") or None
        new = [NewMessage(self._message(application, one), key, body) for one in found]
        answers = [_answer(result) for result in await self._hooks.send_many(new)]
        if not batch:
            return answers[0]
        done = b",".join(body for _, _, body in answers)
        return 202, {"content-type": "application/json"}, b'{"data":[' + done + b"]}"

    def _is_known(self, headers: Mapping[bytes, bytes]) -> bool:
        given = headers.get(b"authorization", b"")
        return self._key is None or hmac.compare_digest(given, self._key)

    async def _application(self, known_as: str) -> Application:
        """The application; known ones are asked for again only when the store refuses them."""
        known = self._known.get(known_as)
        if known is None:
            if len(self._known) > BATCH:
                self._known.clear()
            found = await self._hooks.store.application(self._hooks.environment, known_as)
            known = self._known[known_as] = found
        return known

    def _message(self, application: Application, said: MessageIn) -> Message:
        at = said.deliver_at
        return self._hooks.message(
            application,
            said.event_type,
            bytes(said.payload),
            event_id=said.event_id,
            channels=said.channels or (),
            tags=said.tags or (),
            deliver_at=None if at is None else at.timestamp(),
        )


def _check(found: list[MessageIn]) -> None:
    """Refuse what is well-formed and cannot be used all the same."""
    if len(found) > BATCH:
        raise msgspec.ValidationError(f"there are {len(found)} messages; at most {BATCH} will do")
    for one in found:
        if bytes(one.payload).lstrip()[:1] != b"{":
            raise msgspec.ValidationError(
                f"the payload of {one.event_type!r} must be an object - at `$.payload`"
            )
        if len(one.payload) > MOST_BYTES:
            raise msgspec.ValidationError(
                f"the payload of {one.event_type!r} has {len(one.payload)} bytes; at most"
                f" {MOST_BYTES} will do - at `$.payload`"
            )


def _answer(result: Accepted | ServiceError) -> Answer:
    if isinstance(result, Accepted):
        return json_answer(202, _written(result.message))
    return told(result)


def _written(message: Message) -> MessageOut:
    return MessageOut(
        id=message.id,
        event_type=message.event_type,
        payload=msgspec.Raw(message.payload or b"{}"),
        timestamp=datetime.fromtimestamp(message.accepted_at, UTC).isoformat(),
        event_id=message.event_id,
        channels=list(message.channels) or None,
        tags=list(message.tags) or None,
    )


async def _read(receive: Receive, most: int) -> bytes | None:
    """A request's body, or None as soon as it is too long."""
    parts, size = [], 0
    while True:
        event = await receive()
        part = event.get("body", b"")
        size += len(part)
        if size > most:
            return None
        parts.append(part)
        if not event.get("more_body"):
            return b"".join(parts)
