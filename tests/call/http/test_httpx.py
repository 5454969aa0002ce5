"""The transports for httpx; what they do is in `test_adapters` and `test_transport`."""

import httpx

from tarry.call.http.httpx import AsyncRetryTransport, RetryTransport
from tests.call.http.callers import CONTEXT


def test_they_are_httpx_s_own_kind() -> None:
    assert issubclass(RetryTransport, httpx.BaseTransport)
    assert issubclass(AsyncRetryTransport, httpx.AsyncBaseTransport)


def test_they_can_be_mounted_for_one_host() -> None:
    transport = RetryTransport(verify=CONTEXT)
    with httpx.Client(mounts={"https://api.example.com": transport}, verify=CONTEXT) as client:
        assert client._transport_for_url(httpx.URL("https://api.example.com/x")) is transport  # noqa: SLF001
