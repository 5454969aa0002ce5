"""Retries for httpx2, the continuation of httpx: transports to hand to a client.

>>> import httpx2
>>> client = httpx2.Client(transport=RetryTransport())
"""

from tarry.call.http.transport import RetryingAsync, RetryingSync

try:
    import httpx2
except ModuleNotFoundError:
    message = "tarry.call.http.httpx2 needs httpx2: pip install 'tarry[httpx2]'"
    raise ModuleNotFoundError(message, name="httpx2") from None


class RetryTransport(
    RetryingSync[httpx2.Request, httpx2.Response], httpx2.BaseTransport, library=httpx2
):
    """A transport for `httpx2.Client` that sends a request again when it fails.

    All that is said of `tarry.call.http.httpx.RetryTransport` holds for it, with httpx2's names.
    """


class AsyncRetryTransport(
    RetryingAsync[httpx2.Request, httpx2.Response], httpx2.AsyncBaseTransport, library=httpx2
):
    """`RetryTransport` for `httpx2.AsyncClient`, on asyncio and on trio."""
