"""Retries for HTTP clients, one module each: httpx, httpx2, requests and aiohttp.

Nothing is imported here but what is common to all: take the adapter from its own module, e.g.
`from tarry.call.http.httpx import RetryTransport`.
"""

from tarry.call.http.exchange import incoming
from tarry.core.retry_after import parse_retry_after

__all__ = ["incoming", "parse_retry_after"]
