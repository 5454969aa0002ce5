"""Messages come in over HTTP: a bare ASGI callable, because this is the busiest way in.

A message is answered with 202 once it is on disk with all its deliveries, and with 503 and
`Retry-After` as long as the database cannot be written to. Its payload is kept byte for byte.
"""

import hmac
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from tarry.errors import NotFound, ServiceError
from tarry.service.api import messages
from tarry.service.api.messages import MessageIn, read_messages
from tarry.service.api.problem import Answer, invalid, json_answer, problem, told
from tarry.service.hooks import Hooks
from tarry.service.model.application import Application
from tarry.service.model.message import Accepted, Message, NewMessage, fingerprint

log = logging.getLogger("tarry.service")

ACCEPTED = 202
MOST_KEY = 255
"""Characters of an idempotency key."""
MOST_KNOWN = 1000
KNOWN_FOR = 1.0
"""Seconds that an application is remembered: so long a uid that went to another one counts."""

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]

_NAME = re.compile(r"[a-zA-Z0-9\-_.]{1,256}")


class _HungUpError(Exception):
    """The sender hung up before its request was whole."""


class Ingest:
    """`POST /api/v1/app/{id or uid}/msg` and its `/batch`, `GET /healthz` and `/readyz`."""

    def __init__(
        self,
        hooks: Hooks,
        api_key: str | None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hooks = hooks
        self._key = None if api_key is None else f"Bearer {api_key}".encode()
        self._clock = clock
        self._known: dict[str, tuple[float, Application]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            status, headers, body = await self._answered(scope, receive)
        except _HungUpError:
            return
        except ServiceError as error:
            status, headers, body = told(error)
        except Exception:  # whoever asked hears that it failed, and the log why
            log.exception("%s %s", scope["method"], scope["path"])
            status, headers, body = problem(500, "server_error", "something went wrong")
        pairs = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        pairs.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        await send({"type": "http.response.body", "body": body})

    async def _answered(self, scope: Scope, receive: Receive) -> Answer:
        match scope["path"].rstrip("/").split("/"):
            case ["", "healthz"]:
                return json_answer(200, {"status": "alive"})
            case ["", "readyz"]:
                await self._hooks.store.check()
                return json_answer(200, {"status": "ready"})
            case ["", "api", "v1", "app", known_as, "msg", *rest] if scope[
                "method"
            ] == "POST" and rest in ([], ["batch"]):
                return await self._accept(known_as, scope, receive, batch=bool(rest))
        return problem(501, "not_implemented", "this operation is not served")

    async def _accept(
        self, known_as: str, scope: Scope, receive: Receive, *, batch: bool
    ) -> Answer:
        headers = dict(scope["headers"])
        if not self._is_known(headers):
            return problem(401, "authentication_failed", "no key, or not one that is known")
        most = messages.MOST_BATCH_BYTES if batch else messages.MOST_BYTES
        body = await _read(receive, most)
        if body is None:
            return problem(413, "payload_too_large", f"at most {most} bytes will do")
        key = headers.get(b"idempotency-key", b"").decode("latin-1") or None
        if key is not None and len(key) > MOST_KEY:
            return invalid(["header", "idempotency-key"], f"at most {MOST_KEY} characters will do")
        try:
            found = read_messages(body, batch=batch)
        except ValueError as error:
            return invalid(["body"], str(error))
        results = await self._add(known_as, found, key, body, batch=batch)
        with_content = b"with_content=false" not in scope["query_string"]
        answers = [_answer(result, with_content=with_content) for result in results]
        return _joined(answers) if batch else answers[0]

    def _is_known(self, headers: Mapping[bytes, bytes]) -> bool:
        given = headers.get(b"authorization", b"")
        return self._key is None or hmac.compare_digest(given, self._key)

    async def _add(
        self,
        known_as: str,
        found: Sequence[MessageIn],
        key: str | None,
        body: bytes,
        *,
        batch: bool,
    ) -> Sequence[Accepted | ServiceError]:
        """Have messages kept; once more if the application is another one by now."""
        application, remembered = await self._application(known_as)
        results = await self._hooks.send_many(self._new(application, found, key, body, batch=batch))
        if remembered and any(isinstance(result, NotFound) for result in results):
            self._known.pop(known_as, None)
            return await self._add(known_as, found, key, body, batch=batch)
        return results

    async def _application(self, known_as: str) -> tuple[Application, bool]:
        """The application with this id or uid, and whether it was only remembered."""
        now = self._clock()
        since, known = self._known.get(known_as, (0.0, None))
        if known is not None and now < since + KNOWN_FOR:
            return known, True
        if not _NAME.fullmatch(known_as):
            raise NotFound("application", known_as)
        known = await self._hooks.store.application(self._hooks.environment, known_as)
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[known_as] = now, known
        return known, False

    def _new(
        self,
        application: Application,
        found: Sequence[MessageIn],
        key: str | None,
        body: bytes,
        *,
        batch: bool,
    ) -> list[NewMessage]:
        made = (self._message(application, one) for one in found)
        if key is None:
            return [NewMessage(message) for message in made]
        # Each message of a batch has a key of its own, so that a repetition meets each of them.
        request = fingerprint(application.id, body)
        return [
            NewMessage(message, f"{key}/{number}" if batch else key, request)
            for number, message in enumerate(made)
        ]

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


def _answer(result: Accepted | ServiceError, *, with_content: bool) -> Answer:
    if isinstance(result, Accepted):
        return json_answer(ACCEPTED, messages.written(result.message, with_content=with_content))
    return told(result)


def _joined(answers: Sequence[Answer]) -> Answer:
    """One answer for a batch: that of its messages, or the first one's if nothing was kept."""
    if answers and all(status != ACCEPTED for status, _, _ in answers):
        return answers[0]
    done = b",".join(body for _, _, body in answers)
    return ACCEPTED, {"content-type": "application/json"}, b'{"data":[' + done + b"]}"


async def _read(receive: Receive, most: int) -> bytes | None:
    """A request's body, or None as soon as it is too long."""
    parts, size = [], 0
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise _HungUpError
        part = event.get("body", b"")
        size += len(part)
        if size > most:
            return None
        parts.append(part)
        if not event.get("more_body"):
            return b"".join(parts)
