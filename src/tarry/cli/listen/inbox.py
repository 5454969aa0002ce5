"""What `tarry listen` does with a request: verify it, respond as configured, and report it."""

import asyncio
import json
import math
import random
import time
from base64 import b64encode
from collections.abc import Callable
from datetime import datetime
from typing import Literal

from tarry.cli.listen.http_server import Reply
from tarry.cli.output.safe_text import plain
from tarry.core.duration import spoken
from tarry.core.value import Value
from tarry.errors import VerificationError
from tarry.receive import Memory, Webhook
from tarry.receive.answer import answer_to
from tarry.receive.http1 import Request

OK, NOT_ALLOWED = 200, 405
POST, ROOT = "POST", "/"
"""The method of a webhook, and the default path."""
DAY = 86400.0
TYPE_KEYS = ("type", "eventType", "event_type", "event")
"""The keys under which senders write the type of an event."""


Signature = Literal["fits", "refused", "unchecked"]


class ResponseSettings(Value):
    """How the receiver responds. The share `fail` of messages gets `status` instead of 200."""

    fail: float = 0.0
    status: int = 500
    retry_after: float | None = None
    """The Retry-After that failures carry."""
    slow: float = 0.0
    """Seconds before every response."""


class Arrival(Value):
    """A message that arrived, and the response it got."""

    at: float
    path: str
    id: str
    type: str
    attempt: int | None
    signature: Signature
    reason: str
    """Why the signature was refused."""
    status: int
    on_purpose: bool
    duplicate: bool
    """Whether the same message was answered with 200 before."""
    delay: float
    body: bytes

    def line(self) -> str:
        """Return one line for people."""
        judged = {"fits": "signature fits", "unchecked": "signature not checked"}
        parts = [
            _time_of_day(self.at),
            *([] if self.path == ROOT else [plain(f"{POST} {self.path}")]),
            plain(self.type or "-"),
            plain(self.id or "-"),
            "attempt -" if self.attempt is None else f"attempt {self.attempt}",
            judged.get(self.signature, plain(f"refused: {self.reason}")),
            f"-> {self.status}"
            + (" on purpose" if self.on_purpose else "")
            + (f" after {spoken(self.delay)}" if self.delay else "")
            + (" (it came before)" if self.duplicate else ""),
        ]
        return "  ".join(parts)

    def facts(self, *, body: bool) -> dict[str, object]:
        """Return the same for programs."""
        facts: dict[str, object] = {
            "event": "message",
            "at": self.at,
            "method": POST,
            "path": self.path,
            "id": self.id or None,
            "type": self.type or None,
            "attempt": self.attempt,
            "signature": self.signature,
            "reason": self.reason or None,
            "status": self.status,
            "on_purpose": self.on_purpose,
            "duplicate": self.duplicate,
            "delay": self.delay,
            "bytes": len(self.body),
        }
        return facts | (self._body() if body else {})

    def shown_body(self) -> str:
        """Return the body for people, with terminal control characters made visible."""
        lines = self.body.decode("utf-8", "backslashreplace").splitlines()
        return "\n".join(f"    {plain(line)}" for line in lines)

    def _body(self) -> dict[str, object]:
        """Return the body as text, or in base64 if it is no text."""
        try:
            return {"body": self.body.decode("utf-8")}
        except UnicodeDecodeError:
            return {"body_base64": b64encode(self.body).decode("ascii")}


class OtherRequest(Value):
    """A request that is not a message, because its method is not POST."""

    at: float
    method: str
    path: str

    def line(self) -> str:
        """Return one line for people."""
        request = plain(f"{self.method} {self.path}")
        return (
            f"{_time_of_day(self.at)}  {request}  no message: those come by POST  -> {NOT_ALLOWED}"
        )

    def facts(self, *, body: bool) -> dict[str, object]:
        """Return the same for programs, always without the body."""
        _ = body
        facts: dict[str, object] = {"event": "stray", "at": self.at, "method": self.method}
        return facts | {"path": self.path, "status": NOT_ALLOWED}

    def shown_body(self) -> str:
        """Return nothing: the body is not shown."""
        return ""


def _time_of_day(at: float) -> str:
    """Return the local time of day, to the second."""
    return f"{datetime.fromtimestamp(at).astimezone():%H:%M:%S}"


class Counts:
    """The counts of what arrived so far."""

    def __init__(self) -> None:
        self.received = self.verified = self.refused = self.failed = self.duplicates = 0

    def add(self, arrival: Arrival) -> None:
        """Count one arrival."""
        self.received += 1
        self.verified += arrival.signature == "fits"
        self.refused += arrival.signature == "refused"
        self.failed += arrival.on_purpose
        self.duplicates += arrival.duplicate

    def __str__(self) -> str:
        return (
            f"received {self.received}: {self.verified} verified, {self.refused} refused,"
            f" {self.failed} failed on purpose, {self.duplicates} came after they were taken"
        )


class Inbox:
    """Answers requests, and calls `tell` with each one as it arrives."""

    def __init__(
        self,
        webhook: Webhook | None,
        responses: ResponseSettings,
        tell: Callable[[Arrival | OtherRequest], None],
        *,
        draw: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.counts = Counts()
        self._webhook = webhook
        self._responses = responses
        self._tell = tell
        self._draw = draw
        self._time_of_day = clock
        self._taken = Memory(clock=clock)

    async def handle(self, request: Request) -> Reply:
        """Answer one request."""
        if request.method != POST:
            self._tell(
                OtherRequest(at=self._time_of_day(), method=request.method, path=request.path)
            )
            return Reply(NOT_ALLOWED, (("allow", "POST"),), b"webhooks come by POST\n")
        arrival, reply = self._check_and_answer(request)
        self.counts.add(arrival)
        self._tell(arrival)
        if arrival.delay:
            await asyncio.sleep(arrival.delay)
        return reply

    def _check_and_answer(self, request: Request) -> tuple[Arrival, Reply]:
        """Verify a request, and choose its response; a failure may be chosen by chance."""
        now = self._time_of_day()
        message = request.header("webhook-id") or request.header("svix-id")
        attempt = request.header("webhook-attempt")
        refusal = self._refusal(request)
        on_purpose = self._responses.fail > 0 and self._draw() < self._responses.fail
        if on_purpose:
            reply = self._chosen_failure()
        elif refusal is not None:
            answer = answer_to(refusal)
            reply = Reply(answer.status, body=f"{answer.detail}\n".encode())
        else:
            reply = Reply(OK)
        new = reply.status != OK or not message or self._taken.add(message, now + DAY)
        signature: Signature = "refused" if refusal else "fits" if self._webhook else "unchecked"
        arrival = Arrival(
            at=now,
            path=request.path,
            id=message,
            type=_type(request.body),
            attempt=int(attempt[:9]) if attempt.isdecimal() else None,
            signature=signature,
            reason=str(refusal or ""),
            status=reply.status,
            on_purpose=on_purpose,
            duplicate=not new,
            delay=self._responses.slow,
            body=request.body,
        )
        return arrival, reply

    def _refusal(self, request: Request) -> VerificationError | None:
        """Return why the signature was refused; None if it fits or is not checked."""
        if self._webhook is None:
            return None
        try:
            self._webhook.verify(request.body, request.headers)
        except VerificationError as refusal:
            return refusal
        return None

    def _chosen_failure(self) -> Reply:
        """Return the response of a request that fails on purpose."""
        later = self._responses.retry_after
        headers = () if later is None else (("retry-after", str(math.ceil(later))),)
        return Reply(self._responses.status, headers, b"failed on purpose\n")


def _type(body: bytes) -> str:
    """Return the event type in a JSON body; empty if there is none."""
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(payload, dict):
        return ""
    types = (payload[key] for key in TYPE_KEYS if isinstance(payload.get(key), str))
    return next(types, "")
