"""Retries for requests: an adapter to mount on a session.

>>> import requests
>>> session = requests.Session()
>>> session.mount("https://", RetryAdapter())
"""

import ssl
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any

try:
    import requests as _  # noqa: F401  is it there at all?
except ModuleNotFoundError:
    message = "tarry.call.http.requests needs requests: pip install 'tarry[requests]'"
    raise ModuleNotFoundError(message, name="requests") from None

from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter
from requests.exceptions import ConnectionError as RequestsConnectionError
from requests.exceptions import ConnectTimeout, ProxyError, ReadTimeout, SSLError
from urllib3 import Timeout
from urllib3.exceptions import NewConnectionError

from tarry.call import sync
from tarry.call.http.body import Rewound, rewind_of
from tarry.call.http.exchange import ATTEMPT_HEADER, Client, Exchange, Terms
from tarry.call.http.fault import Fault, Faults, causes, fault_in
from tarry.core.outcome import Kind
from tarry.core.policy import Policy
from tarry.observe.stream import Listener

if TYPE_CHECKING:
    from tarry.call.plan import Budget, Circuit

FAULTS: Faults = (
    (ConnectTimeout, Fault(Kind.TIMEOUT, sent=False)),
    (ProxyError, Fault(Kind.TRANSIENT, sent=False)),  # it did not let us through to the server
    (SSLError, Fault(Kind.TLS, sent=True)),
    (ReadTimeout, Fault(Kind.TIMEOUT, sent=True)),
    (RequestsConnectionError, Fault(Kind.TRANSIENT, sent=True)),
)
UNSENT = (NewConnectionError, ssl.SSLCertVerificationError)
"""Causes that show that no connection was made; requests' own exceptions do not show it."""

Limits = float | tuple[float | None, float | None] | Timeout | None


def fault_of(error: Exception) -> Fault | None:
    """Return the fault that requests' exception and its causes mean."""
    fault = fault_in(FAULTS, error)
    if fault is None or not any(isinstance(cause, UNSENT) for cause in causes(error)):
        return fault
    return Fault(fault.kind, sent=False)


CLIENT = Client(
    name="requests",
    status_of=attrgetter("status_code"),
    fault_of=fault_of,
    discard=methodcaller("close"),
    takes_limit=True,
)


class RetryAdapter(HTTPAdapter):
    """An adapter for `requests.Session` that sends a request again when it fails.

    policy, budget, breaker, hooks, name: as for `tarry.retry`; `name` is "requests" if not given.
    rate_limit_headers: wait as the RateLimit headers say when there is no Retry-After.
    Further options (`pool_maxsize` and so on) go to requests' own adapter; its `max_retries` stays
    0, because two layers of retries would multiply.

    Tried again are the policy's statuses and failures of the network; POST and PATCH only with an
    `Idempotency-Key`, or when no connection came about; a body only if it can be sent twice (a file
    is rewound). The last response is returned as it is, whatever its status; the last exception is
    raised itself. A response is closed before the wait. Redirects and authentication are the
    session's: each request of theirs is a call of its own.

    The policy's `attempt_timeout` limits connecting and waiting for the response together, beside
    the timeout the session is given. A failure while the body of a response is read comes after
    the adapter's work and is not seen.
    """

    __attrs__ = (*HTTPAdapter.__attrs__, "_terms")

    def __init__(  # noqa: PLR0913  the settings of a retry, and the client's own
        self,
        policy: Policy | None = None,
        *,
        budget: "Budget | None" = None,
        breaker: "Circuit | None" = None,
        hooks: Listener | Iterable[Listener] = (),
        name: str = "",
        rate_limit_headers: bool = False,
        **options: Any,  # noqa: ANN401  they are the client's
    ) -> None:
        super().__init__(max_retries=0, **options)
        self._terms = Terms(
            CLIENT,
            policy,
            budget=budget,
            breaker=breaker,
            hooks=hooks,
            name=name,
            rate_limit_headers=rate_limit_headers,
        )

    def send(  # noqa: PLR0913, PLR0917  requests' own signature
        self,
        request: PreparedRequest,
        stream: bool = False,  # noqa: FBT001, FBT002  likewise
        timeout: Limits = None,
        verify: bool | str = True,  # noqa: FBT001, FBT002  likewise
        cert: str | bytes | tuple[str | bytes, str | bytes] | None = None,
        proxies: Mapping[str, str] | None = None,
    ) -> Response:
        """Send the request, with retries; return the last response or raise the last exception."""
        body = Rewound(rewind_of(request.body))
        exchange = Exchange(self._terms, request.method or "", request.headers, body)
        send_once: Callable[..., Response] = super().send

        def attempt() -> Response:
            number = exchange.begin()
            copy = request.copy()  # the request is the caller's
            if number is not None:
                copy.headers[ATTEMPT_HEADER] = number
            limits = _limited_timeout(self._terms.limit(), timeout)
            response = send_once(copy, stream, limits, verify, cert, proxies)
            response.request = request
            return response

        return sync.retry_call(exchange.plan(), attempt)()


def _limited_timeout(limit: float | None, timeout: Limits) -> Limits:
    """Return the session's timeout, with the limit in addition."""
    if limit is None:
        return timeout
    if isinstance(timeout, Timeout):
        both = timeout.clone()
        both.total = min(limit, both.total) if isinstance(both.total, (int, float)) else limit
        return both
    connect, read = timeout if isinstance(timeout, tuple) else (timeout, timeout)
    return Timeout(total=limit, connect=connect, read=read)
