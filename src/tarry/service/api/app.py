"""The API as an ASGI callable: route, authorize, read, execute and answer each request.

It is plain ASGI without a framework, because every sent message goes through it. The declarations
in `operation` already do what a framework would add.
"""

import hmac
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from hashlib import blake2b
from http import HTTPStatus
from typing import Any

import msgspec

from tarry.errors import StoreUnavailable, TarryError
from tarry.service.api.http import cors
from tarry.service.api.http.access import Access, Caller, Need, least_scope
from tarry.service.api.http.body_room import BodyRoom
from tarry.service.api.http.idempotency import Idempotency
from tarry.service.api.http.metrics import CONTENT_TYPE, RequestMetrics, delivery_lines
from tarry.service.api.http.operation import Operation, Reply
from tarry.service.api.http.parsing import read_body, read_query
from tarry.service.api.http.problem import Answer, error_answer, json_answer, problem
from tarry.service.api.http.public_address import PublicAddress
from tarry.service.api.http.rate_limit import RateLimit
from tarry.service.api.http.readiness import Readiness
from tarry.service.api.http.request import Request, check_head, path_of
from tarry.service.api.http.routes import Match, Routes
from tarry.service.api.resources.call import Call, chance_of
from tarry.service.api.resources.messages.send_cache import SendCache
from tarry.service.dispatch.gauges import gauges
from tarry.service.hooks import Hooks
from tarry.service.model import ids
from tarry.service.model.audit import ActorKind
from tarry.service.model.claim import Claim
from tarry.service.model.message import fingerprint

log = logging.getLogger("tarry.service")

PREFIX = "/api/v1/"
BODILESS = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
"""Statuses whose responses have no `Content-Length`, not even 0."""
SIGNATURES = frozenset({b"webhook-signature", b"svix-signature"})
"""Headers that only deliveries have. Otherwise an endpoint could point at an operation of this
service, with a key in its headers, so that each delivery causes the next one."""
_DELIVERY = (
    "a webhook delivery is no API request: remove the headers webhook-signature and svix-signature,"
    " or set another endpoint URL"
)
LOG_INTERVAL = 60.0
"""A lasting failure of the database is logged at most once in this many seconds."""

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Page = Callable[[], Awaitable[Answer]]

_NOBODY = Caller(key="", environment="", needs=frozenset({Need.NOTHING}))


class _DisconnectedError(Exception):
    """The client disconnected before its request was complete."""


class Api:
    """Answers requests: the operations under `/api/v1/`, and `pages` at their own paths.

    With a `metrics_key`, `/metrics` is answered only to requests that carry it.
    """

    def __init__(  # noqa: PLR0913  the parts that it is built from
        self,
        hooks: Hooks,
        access: Access,
        routes: Routes,
        *,
        pages: Mapping[str, Page] | None = None,
        limit: RateLimit | None = None,
        metrics_key: str | None = None,
        public_address: PublicAddress | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._hooks, self._access, self._routes = hooks, access, routes
        self._pages = {
            "/healthz": self._alive,
            "/readyz": self._ready,
            "/metrics": self._metrics,
            **(pages or {}),
        }
        self.metrics = RequestMetrics()
        self._limit = limit or RateLimit(None)
        self._body_room = BodyRoom()
        self._public_address = public_address or PublicAddress()
        self._idempotency = Idempotency(hooks.store, now=now)
        self._send_cache = SendCache(hooks.store)
        self._readiness = Readiness(self._check_store)
        self._metrics_key = None if metrics_key is None else metrics_key.encode()
        self._now = now
        self._log_again_at = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        began = time.perf_counter()
        request = Request(
            method=scope["method"],
            path=path_of(scope),
            query=scope["query_string"],
            headers=dict(scope["headers"]),
            scheme=scope["scheme"],
            peer=(scope["client"] or ("",))[0],
            public_address=self._public_address,
        )
        route = self._find(request)
        try:
            check_head(scope["headers"], scope["http_version"])
            if isinstance(route, Match):
                status, headers, body = await self._answer_operation(route, request, receive)
            elif route is None:
                status, headers, body = await self._answer_page(request)
            else:
                status, headers, body = _unsupported(request, route)
        except _DisconnectedError:
            return
        except TarryError as error:
            if isinstance(error, StoreUnavailable):
                self._log_trouble(error)
            status, headers, body = error_answer(error)
        except Exception:  # the response only says that it failed; the log says why
            log.exception("%s %r", request.method, request.path)  # %r: a path may hold newlines
            status, headers, body = problem(500, "server_error", "something went wrong")
        self.metrics.count(self._metrics_label(request, route), status, time.perf_counter() - began)
        pairs = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        if status not in BODILESS:
            pairs.append((b"content-length", b"%d" % len(body)))
        if route is not None and cors.by_a_page(request):
            pairs += cors.RESPONSE_HEADERS
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        await send({"type": "http.response.body", "body": body})

    def _log_trouble(self, error: StoreUnavailable) -> None:
        """Log why requests are answered with 503, now and then; the responses do not say it."""
        if self._now() >= self._log_again_at:
            self._log_again_at = self._now() + LOG_INTERVAL
            log.warning("answering with 503: %s", error)

    def _find(self, request: Request) -> Match | frozenset[str] | None:
        """Return the operation, or the methods that its path allows; None outside `/api/v1/`."""
        if not request.path.startswith(PREFIX):
            return None
        return self._routes.find(request.method, request.path[len(PREFIX) :])

    def _metrics_label(self, request: Request, route: Match | frozenset[str] | None) -> str:
        """Return the label of a request in the metrics: an operation's name, or a page's path."""
        if isinstance(route, Match):
            return route.operation.name
        return request.path if route is None and request.path in self._pages else "unknown"

    async def _answer_page(self, request: Request) -> Answer:
        """Answer a request for a page of the dashboard, the portal or the docs."""
        page = self._pages.get(request.path.rstrip("/") or "/")
        if page is None:
            if request.path == "/" and "text/html" in request.header(b"accept"):
                return 303, {"location": "/dashboard"}, b""  # a browser; programs ask for no HTML
            return problem(404, "not_found", "this path does not exist; the API is at /api/v1")
        if request.method not in ("GET", "HEAD"):
            return problem(405, "method_not_allowed", "only GET is allowed", {"allow": "GET, HEAD"})
        if page == self._metrics and not self._may_see_metrics(request):
            detail = "the metrics need their own key, in the header `authorization: Bearer KEY`"
            return problem(401, "authentication_failed", detail, {"www-authenticate": "Bearer"})
        status, headers, body = await page()  # the HTTP server sends no body in response to HEAD
        if "etag" in headers and request.header(b"if-none-match") == headers["etag"]:
            return 304, headers, b""
        return status, headers, body

    def _may_see_metrics(self, request: Request) -> bool:
        """Return whether a request carries the key of the metrics, if they have one."""
        if self._metrics_key is None:
            return True
        word, _, key = request.headers.get(b"authorization", b"").partition(b" ")
        return word.lower() == b"bearer" and hmac.compare_digest(key, self._metrics_key)

    async def _check_store(self) -> None:
        """Fail if the database cannot be written to."""
        await self._hooks.store.check()

    async def _alive(self) -> Answer:
        """Answer that the process runs."""
        return json_answer(200, {"status": "alive"})

    async def _ready(self) -> Answer:
        """Answer that the database can be used, or fail; the answer may be a second old."""
        await self._readiness.check()
        return json_answer(200, {"status": "ready"})

    async def _metrics(self) -> Answer:
        """Answer with the metrics of this process in the Prometheus text format."""
        lines = list(self.metrics.lines())
        if self._hooks.dispatcher is not None:
            lines += delivery_lines(gauges(self._hooks.dispatcher))
        return 200, {"content-type": CONTENT_TYPE}, "".join(f"{line}\n" for line in lines).encode()

    async def _answer_operation(self, match: Match, request: Request, receive: Receive) -> Answer:
        """Check the request's key, its rate and the body's size, then carry the operation out."""
        operation, caller = match.operation, _NOBODY
        if not SIGNATURES.isdisjoint(request.headers):
            return problem(403, "delivery_refused", _DELIVERY)
        if operation.needs is not Need.NOTHING:
            known_caller = await self._access.caller(request.headers.get(b"authorization", b""))
            if known_caller is None:
                detail = "no key, or an unknown key, in the header `authorization: Bearer KEY`"
                return problem(401, "authentication_failed", detail, {"www-authenticate": "Bearer"})
            caller = known_caller
            if not _may(caller, operation):
                return problem(403, "insufficient access", _refusal(caller, operation))
            if wait := self._limit.take(caller.key):
                detail = "too many requests with this key; retry after the time in `retry-after`"
                return problem(429, "rate_limit", detail, {"retry-after": str(wait)})
        if operation.body is None:
            return await self._carry_out(match, caller, request, b"")
        return await self._answer_with_body(match, caller, request, receive)

    async def _answer_with_body(
        self, match: Match, caller: Caller, request: Request, receive: Receive
    ) -> Answer:
        """Read the body as soon as there is room for it, and carry the operation out."""
        most = match.operation.most_bytes
        async with self._body_room.reserve(caller.key, min(request.body_size(most), most)):
            body = await _read(request, receive, most)
            if body is None:
                detail = f"the body may have at most {most} bytes"
                return problem(413, "payload_too_large", detail)
            return await self._carry_out(match, caller, request, body)

    async def _carry_out(
        self, match: Match, caller: Caller, request: Request, body: bytes
    ) -> Answer:
        """Read the query and the body, and call the handler, once for each idempotency key."""
        operation, key = match.operation, request.idempotency_key
        arguments: dict[str, Any] = {}
        if operation.query is not None:
            arguments["query"] = read_query(request.query, operation.query)
        if operation.body is not None:
            arguments["body"] = body if operation.raw else read_body(body, operation.body)

        async def call_handler(claim: Claim | None) -> Answer:
            hooks, now = (
                self._hooks_of_environment(caller, claim),
                self._now() if claim is None else claim.at,
            )
            acting = partial(_acting, hooks, caller, operation, request, claim)
            call = Call(
                acting() if operation.audited else hooks,
                caller,
                request,
                match.names,
                self._send_cache,
                acting=acting,
                readiness=self._readiness,
                now=now,
            )
            return _encoded(await operation.handler(call, **arguments), operation)

        if key is None or not operation.idempotent:
            return await call_handler(None)
        path = f"{request.path}?{request.query.decode('latin-1')}"
        seals = self._hooks.seals if operation.sealed else None
        return await self._idempotency.about(_application_of(caller, match)).answer(
            caller.environment,
            _claim_key(caller, path, key),
            fingerprint(path, body),
            call_handler,
            seals=seals,
        )

    def _hooks_of_environment(self, caller: Caller, claim: Claim | None) -> Hooks:
        """Return the hooks of the caller's environment.

        With a claim they use the time and the random bytes of the claim, so that a request that is
        executed again creates the same ids.
        """
        if claim is not None:
            at = claim.at
            return self._hooks.within(caller.environment, now=lambda: at, chance=chance_of(claim))
        if caller.environment == self._hooks.environment:
            return self._hooks
        return self._hooks.within(caller.environment)


def _unsupported(request: Request, methods: frozenset[str]) -> Answer:
    """Answer a request to an unknown path, or one with a method that the path does not allow."""
    if not methods:
        return problem(501, "not_implemented", "this operation is not served")
    if cors.is_preflight(request):
        return cors.answer_preflight(request, methods)
    allowed = ", ".join(sorted(methods))
    return problem(405, "method_not_allowed", f"allowed methods: {allowed}", {"allow": allowed})


def _acting(
    hooks: Hooks, caller: Caller, operation: Operation, request: Request, claim: Claim | None
) -> Hooks:
    """Return the hooks, whose changes go into the audit trail as those of the caller.

    A request that is executed again has the same entries. Their ids come from another source than
    those of other objects, so that these have the same ids in all versions of tarry.
    """
    if caller.application is not None:
        actor = ActorKind.TENANT
    else:
        actor = ActorKind.KEY if caller.key else ActorKind.SETTINGS_KEY
    return hooks.acting(
        actor,
        operation.name,
        key=caller.key or None,
        address=request.client or None,
        chance=None if claim is None else chance_of(claim)(ids.CHANCE),
    )


def _may(caller: Caller, operation: Operation) -> bool:
    """Return whether the caller may execute an operation.

    A key to one application may only use operations on an application, or those for `tenants`.
    """
    if operation.needs not in caller.needs:
        return False
    return caller.application is None or operation.tenants or "{app_id}" in operation.path


def _refusal(caller: Caller, operation: Operation) -> str:
    """Return the text of a 403; it names a sufficient scope to programs, but not to tenants."""
    detail = "this key may not use this operation"
    if caller.application is not None:
        return detail
    return f"{detail}; a key with the scope {least_scope(operation.needs)} may"


def _claim_key(caller: Caller, path: str, key: str) -> str:
    """Return the name of a request's claim: its idempotency key, prefixed with a hash of its path.

    The hash also covers a tenant's token, so that no token gets the response to another one, not
    even to one of the same tenant. For example, each token that logs out has to be revoked, even
    if two of them use the same idempotency key.
    """
    origin = f"{'' if caller.application is None else caller.key} {path}".encode()
    return f"{blake2b(origin, digest_size=16).hexdigest()} {key}"


def _application_of(caller: Caller, match: Match) -> str | None:
    """Return a name of the application that a request is about, unique in all environments."""
    if caller.application is not None:
        return caller.application
    name = match.names.get("app_id")
    return None if name is None else f"{caller.environment} {name}"


def _encoded(answer: object, operation: Operation) -> Answer:
    """Return a handler's result as a response in JSON."""
    status, headers = operation.status, dict[str, str]()
    if isinstance(answer, Reply):
        status, headers, answer = answer.status, answer.headers, answer.body
    if answer is None:
        return status, headers, b""
    return status, {"content-type": "application/json", **headers}, msgspec.json.encode(answer)


async def _read(request: Request, receive: Receive, most_bytes: int) -> bytes | None:
    """Return a request's body, or None if it is too long: by its `Content-Length` or as it comes.

    A body whose `Content-Length` is too large is not read at all.
    """
    if request.body_size(0) > most_bytes:
        return None
    parts, size = [], 0
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise _DisconnectedError
        part = event.get("body", b"")
        size += len(part)
        if size > most_bytes:
            return None
        parts.append(part)
        if not event.get("more_body"):
            return b"".join(parts)
