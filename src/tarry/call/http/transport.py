"""The transports for httpx and for its successor httpx2, in one module.

The two modules have the same names, so each transport class is bound to one of them.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from operator import attrgetter, methodcaller
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

from tarry.call import aio, sync
from tarry.call.http.body import Rewind, Rewound, rewind_of, stay
from tarry.call.http.exchange import ATTEMPT_HEADER, Client, Exchange, Terms
from tarry.call.http.fault import Fault, fault_in
from tarry.core.outcome import Kind
from tarry.core.policy import Policy
from tarry.observe.stream import Listener

if TYPE_CHECKING:
    from tarry.call.plan import Budget, Circuit

FAULTS = {
    "ConnectTimeout": Fault(Kind.TIMEOUT, sent=False),
    "PoolTimeout": Fault(Kind.TIMEOUT, sent=False),
    "ConnectError": Fault(Kind.TRANSIENT, sent=False),
    "ProxyError": Fault(Kind.TRANSIENT, sent=False),  # it did not let us through to the server
    "TimeoutException": Fault(Kind.TIMEOUT, sent=True),
    "NetworkError": Fault(Kind.TRANSIENT, sent=True),
    "RemoteProtocolError": Fault(Kind.PROTOCOL, sent=True),
}
"""The fault of each exception, by its name in both modules; the first match counts."""

PHASES = ("connect", "read", "write", "pool")
"""The phases that a client's timeout has a limit for."""


class Request(Protocol):
    """What both modules call a request."""

    @property
    def method(self) -> str:
        """GET and so on, in capitals."""

    @property
    def url(self) -> object:
        """Where it goes."""

    @property
    def headers(self) -> Any:  # noqa: ANN401  either module's
        """A mapping that ignores case."""

    @property
    def stream(self) -> object:
        """The body."""

    @property
    def extensions(self) -> Mapping[str, Any]:
        """Among others the timeout, by phase."""


RequestT = TypeVar("RequestT", bound=Request)
ResponseT = TypeVar("ResponseT")
Takes_contra = TypeVar("Takes_contra", contravariant=True)
Gives_co = TypeVar("Gives_co", covariant=True)


class SyncTransport(Protocol[Takes_contra, Gives_co]):
    """What both modules call a transport."""

    def __enter__(self) -> object: ...

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
        /,
    ) -> None: ...

    def handle_request(self, request: Takes_contra) -> Gives_co:
        """Send it, and read the head of the response."""

    def close(self) -> None:
        """Close all connections."""


class AsyncTransport(Protocol[Takes_contra, Gives_co]):
    """What both modules call an async transport."""

    async def __aenter__(self) -> object: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
        /,
    ) -> None: ...

    async def handle_async_request(self, request: Takes_contra) -> Gives_co:
        """Send it, and read the head of the response."""

    async def aclose(self) -> None:
        """Close all connections."""


Wrapped = TypeVar("Wrapped")


class Retrying(Generic[Wrapped]):
    """What the sync and the async transport have in common."""

    _library: ClassVar[ModuleType]
    _client: ClassVar[Client]
    _default: ClassVar[str]
    _close: ClassVar[str]

    def __init_subclass__(cls, *, library: ModuleType | None = None) -> None:
        """Bind the transport to httpx or to httpx2."""
        super().__init_subclass__()
        if library is None:
            return
        faults = tuple((getattr(library, name), fault) for name, fault in FAULTS.items())
        cls._library = library
        cls._client = Client(
            name=library.__name__,
            status_of=attrgetter("status_code"),
            fault_of=partial(fault_in, faults),
            discard=methodcaller(cls._close),
            takes_limit=True,
        )

    def __init__(  # noqa: PLR0913  the settings of a retry, and the client's own
        self,
        policy: Policy | None = None,
        *,
        transport: Wrapped | None = None,
        budget: "Budget | None" = None,
        breaker: "Circuit | None" = None,
        hooks: Listener | Iterable[Listener] = (),
        name: str = "",
        rate_limit_headers: bool = False,
        **options: Any,  # noqa: ANN401  they are the client's
    ) -> None:
        if transport is not None and options:
            given = ", ".join(sorted(options))
            raise TypeError(f"a transport that is made already takes no options; given {given}")
        self._terms = Terms(
            self._client,
            policy,
            budget=budget,
            breaker=breaker,
            hooks=hooks,
            name=name,
            rate_limit_headers=rate_limit_headers,
        )
        fresh = getattr(self._library, self._default)
        self._transport: Wrapped = fresh(**options) if transport is None else transport

    def _exchange(self, request: Request) -> Exchange:
        body = Rewound(self._rewind_of(request.stream))
        return Exchange(self._terms, request.method, request.headers, body)

    def _attempt(self, request: RequestT, exchange: Exchange) -> RequestT:
        """Return a copy of the request for one attempt, because the request is the caller's."""
        headers, extensions = request.headers, request.extensions
        number, limit = exchange.begin(), self._terms.limit()
        if number is not None:
            headers = headers.copy()
            headers[ATTEMPT_HEADER] = number
        if limit is not None:
            extensions = {
                **extensions,
                "timeout": _limited_timeouts(limit, extensions.get("timeout")),
            }
        made: RequestT = self._library.Request(
            request.method,
            request.url,
            headers=headers,
            stream=request.stream,
            extensions=extensions,
        )
        return made

    def _rewind_of(self, stream: object) -> Rewind | None:
        """Return a function that rewinds a request's stream, if its content is known."""
        if isinstance(stream, self._library.ByteStream):
            return stay
        fields = getattr(stream, "fields", None)
        if isinstance(fields, list):  # a multipart form puts back its files itself
            files = (getattr(field, "file", None) for field in fields)
            return stay if all(map(rewind_of, files)) else None
        return rewind_of(getattr(stream, "_stream", stream))


class RetryingSync(Retrying[SyncTransport[RequestT, ResponseT]], Generic[RequestT, ResponseT]):
    """A transport that tries again."""

    _default, _close = "HTTPTransport", "close"

    def handle_request(self, request: RequestT) -> ResponseT:
        """Send the request, again if need be; the last response or exception is the answer."""
        exchange = self._exchange(request)

        def attempt() -> ResponseT:
            return self._transport.handle_request(self._attempt(request, exchange))

        return sync.retry_call(exchange.plan(), attempt)()

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

    def __enter__(self) -> Self:
        self._transport.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        self._transport.__exit__(kind, error, trace)


class RetryingAsync(Retrying[AsyncTransport[RequestT, ResponseT]], Generic[RequestT, ResponseT]):
    """`RetryingSync` with `await`."""

    _default, _close = "AsyncHTTPTransport", "aclose"

    async def handle_async_request(self, request: RequestT) -> ResponseT:
        """Send the request, again if need be; the last response or exception is the answer."""
        exchange = self._exchange(request)

        async def attempt() -> ResponseT:
            return await self._transport.handle_async_request(self._attempt(request, exchange))

        return await aio.retry_call(exchange.plan(), attempt)()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._transport.aclose()

    async def __aenter__(self) -> Self:
        await self._transport.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        await self._transport.__aexit__(kind, error, trace)


def _limited_timeouts(limit: float, timeout: Mapping[str, float | None] | None) -> dict[str, float]:
    """Return the client's timeout for each phase, but no longer than the limit."""
    given = {phase: (timeout or {}).get(phase) for phase in PHASES}
    return {phase: limit if own is None else min(limit, own) for phase, own in given.items()}
