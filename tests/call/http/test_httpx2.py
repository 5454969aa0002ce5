"""The transports for httpx2; what they do is in `test_adapters` and `test_transport`."""

import httpx2

from tarry.call.http.httpx2 import AsyncRetryTransport, RetryTransport


def test_they_are_httpx2_s_own_kind() -> None:
    assert issubclass(RetryTransport, httpx2.BaseTransport)
    assert issubclass(AsyncRetryTransport, httpx2.AsyncBaseTransport)
