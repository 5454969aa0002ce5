"""Retries for httpx: transports to hand to a client.

>>> import httpx
>>> client = httpx.Client(transport=RetryTransport())
"""

from tarry.call.http.transport import RetryingAsync, RetryingSync

try:
    import httpx
except ModuleNotFoundError:
    message = "tarry.call.http.httpx needs httpx: pip install 'tarry[httpx]'"
    raise ModuleNotFoundError(message, name="httpx") from None


class RetryTransport(
    RetryingSync[httpx.Request, httpx.Response], httpx.BaseTransport, library=httpx
):
    """A transport for `httpx.Client` that sends a request again when it fails.

    policy, budget, breaker, hooks, name: as for `tarry.retry`; `name` is "httpx" if not given.
    transport: what does the sending; if none is given, a new `httpx.HTTPTransport`, to which
        further options go (`verify`, `http2`, `proxy`, `limits` and so on: a client that is given
        a transport does not use its own).
    rate_limit_headers: wait as the RateLimit headers say when there is no Retry-After.

    Tried again are the policy's statuses and failures of the network; POST and PATCH only with an
    `Idempotency-Key`, or when no connection came about; a body only if it can be sent twice. The
    last response is returned as it is, whatever its status; the last exception is raised itself.
    A response is closed before the wait. Redirects and authentication are the client's: each
    request of theirs is a call of its own.

    The policy's `attempt_timeout` limits each phase of an attempt (connect, write, read, pool), as
    httpx's own timeouts do; the shorter counts. A failure while the body of a response is read
    comes after the transport's work and is not seen.
    """


class AsyncRetryTransport(
    RetryingAsync[httpx.Request, httpx.Response], httpx.AsyncBaseTransport, library=httpx
):
    """`RetryTransport` for `httpx.AsyncClient`, on asyncio and on trio."""
