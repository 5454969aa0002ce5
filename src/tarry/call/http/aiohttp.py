"""Retries for aiohttp: a middleware for its client.

>>> retrying = retry_middleware()  # for ClientSession(middlewares=(retrying,))
"""

from collections.abc import Iterable
from contextlib import suppress
from contextvars import ContextVar
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar, Self

try:
    import aiohttp as _  # noqa: F401  is it there at all?
except ModuleNotFoundError:
    message = "tarry.call.http.aiohttp needs aiohttp: pip install 'tarry[aiohttp]'"
    raise ModuleNotFoundError(message, name="aiohttp") from None

from aiohttp import (
    AsyncIterablePayload,
    ClientConnectionError,
    ClientConnectorDNSError,
    ClientConnectorError,
    ClientError,
    ClientHandlerType,
    ClientHttpProxyError,
    ClientMiddlewareType,
    ClientOSError,
    ClientPayloadError,
    ClientRequest,
    ClientResponse,
    ClientResponseError,
    ConnectionTimeoutError,
    Payload,
    ServerDisconnectedError,
    ServerFingerprintMismatch,
    ServerTimeoutError,
)
from aiohttp.connector import Connection
from aiohttp.http_exceptions import HttpProcessingError

from tarry.call import aio
from tarry.call.http.exchange import ATTEMPT_HEADER, Client, Exchange, Terms
from tarry.call.http.fault import Fault, Faults, fault_in
from tarry.core.classify import IDEMPOTENT_METHODS
from tarry.core.outcome import Kind
from tarry.core.policy import Policy
from tarry.observe.stream import Listener

if TYPE_CHECKING:
    from tarry.call.plan import Budget, Circuit

FAULTS: Faults = (
    (ClientConnectorDNSError, Fault(Kind.DNS, sent=False)),
    (ClientConnectorError, Fault(Kind.TRANSIENT, sent=False)),
    (ClientHttpProxyError, Fault(Kind.TRANSIENT, sent=False)),  # it did not let us through
    (ConnectionTimeoutError, Fault(Kind.TIMEOUT, sent=False)),
    (ServerFingerprintMismatch, Fault(Kind.TLS, sent=False)),
    (ServerTimeoutError, Fault(Kind.TIMEOUT, sent=True)),
    (ClientConnectionError, Fault(Kind.TRANSIENT, sent=True)),
    (ClientPayloadError, Fault(Kind.PROTOCOL, sent=True)),
    (OSError, Fault(Kind.TRANSIENT, sent=True)),
)
GARBLED = Fault(Kind.PROTOCOL, sent=True)


def fault_of(error: Exception) -> Fault | None:
    """Return the fault that aiohttp's exception and its causes mean."""
    if isinstance(error, ClientResponseError) and isinstance(error.__cause__, HttpProcessingError):
        return GARBLED
    if type(error) is TimeoutError and error.errno is None:
        return None  # the session's total timeout: it is over for all attempts together
    return fault_in(FAULTS, error)


async def discard(response: ClientResponse) -> None:
    """Close a response and its connection."""
    response.close()


CLIENT = Client(
    name="aiohttp",
    status_of=attrgetter("status"),
    fault_of=fault_of,
    discard=discard,
    takes_limit=False,
)

_ended: ContextVar[tuple[object, Exception] | None] = ContextVar("tarry_aiohttp", default=None)


def retry_middleware(  # noqa: PLR0913  the settings of a retry
    policy: Policy | None = None,
    *,
    budget: "Budget | None" = None,
    breaker: "Circuit | None" = None,
    hooks: Listener | Iterable[Listener] = (),
    name: str = "",
    rate_limit_headers: bool = False,
) -> ClientMiddlewareType:
    """A middleware for `aiohttp.ClientSession` that sends a request again when it fails.

    policy, budget, breaker, hooks, name: as for `tarry.retry`; `name` is "aiohttp" if not given.
    rate_limit_headers: wait as the RateLimit headers say when there is no Retry-After.

    Tried again are the policy's statuses and failures of the network; POST and PATCH only with an
    `Idempotency-Key`, or when no connection came about; a body only if it can be sent twice. The
    last response is returned as it is, whatever its status (`raise_for_status` comes after it);
    the last exception is raised itself. A response is closed before the wait. Redirects are the
    session's: each request of theirs is a call of its own.

    The policy's `attempt_timeout` cuts an attempt off with `AttemptTimedOut`, a `TimeoutError`. The
    session's own total timeout, five minutes unless set, is for all attempts and waits together.
    aiohttp's own second try of some requests is turned off: two layers of retries would multiply. A
    failure while the body of a response is read comes after the middleware's work and is not seen.
    """
    terms = Terms(
        CLIENT,
        policy,
        budget=budget,
        breaker=breaker,
        hooks=hooks,
        name=name,
        rate_limit_headers=rate_limit_headers,
    )
    classes: dict[type[ClientResponse], type[ClientResponse]] = {}

    async def middleware(request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
        call: object = getattr(request, "_timer", None)
        _end_again(call)
        exchange = Exchange(terms, request.method, request.headers, Replayed(request))
        request.response_class = _unkept(request.response_class, terms, classes)

        async def attempt() -> ClientResponse:
            await _settle(request)
            number = exchange.begin()
            if number is not None:
                request.headers[ATTEMPT_HEADER] = number
            return await handler(request)

        try:
            return await aio.retry_call(exchange.plan(), attempt)()
        except (ClientConnectorError, ConnectionTimeoutError):
            raise
        except (ClientOSError, ServerDisconnectedError) as error:
            if call is not None and request.method in IDEMPOTENT_METHODS:
                _ended.set((call, error))
            raise

    return middleware


class Replayed:
    """The body of a request; aiohttp rewinds it by itself, if that is possible."""

    __slots__ = ("_request",)

    def __init__(self, request: ClientRequest) -> None:
        self._request = request

    @property
    def replayable(self) -> bool:
        """Whether it can be sent again."""
        body = self._request.body
        if isinstance(body, AsyncIterablePayload):
            return False
        return not (isinstance(body, Payload) and body.consumed)

    def rewind(self) -> None:
        """Do nothing: aiohttp rewinds the body when it writes it again."""


class NotKeptAlive(ClientResponse):
    """A response whose connection is closed if it is a failure, never kept for later.

    A short body often comes together with the head. Then aiohttp has put the connection back into
    its pool before the caller sees the response, and a thousand waiting calls would leave as many
    connections open. No other call can have taken it out again yet, because no other task has run.
    """

    terms: ClassVar[Terms]

    async def start(self, connection: Connection) -> Self:
        """Read the head of the response."""
        protocol = connection.protocol
        await super().start(connection)
        given_back = self.connection is None
        if given_back and protocol is not None and not self.terms.is_answer(self.status):
            protocol.close()
        return self


def _unkept(
    base: type[ClientResponse],
    terms: Terms,
    known: dict[type[ClientResponse], type[ClientResponse]],
) -> type[ClientResponse]:
    """Return the session's class of responses as one that does not keep connections."""
    if issubclass(base, NotKeptAlive):  # there is another retry around this one
        return base
    if base not in known:
        known[base] = type(base.__name__, (NotKeptAlive, base), {"terms": terms})
    return known[base]


async def _settle(request: ClientRequest) -> None:
    """Make a request ready to be sent, whatever is left of an earlier attempt.

    The body may still be being written; two at once would both read it.
    """
    with suppress(ClientError, OSError):  # that attempt has failed already
        await request.close()
    request.update_expect_continue()


def _end_again(call: object) -> None:
    """Raise the error again that ended this same call.

    When a connection breaks, aiohttp makes some calls a second time itself, middlewares and all.
    It has no setting for that. Both times share a timer, and no other call does.
    """
    ended = _ended.get()
    if ended is None:
        return
    _ended.set(None)
    if ended[0] is call:
        try:
            raise ended[1]
        finally:
            del ended  # this frame is in the error's traceback
