"""A stranger's `tarry-attempt` does not switch off the retries of the service that receives it.

The service is on `incoming`, and calls something that fails, with a policy of three attempts.

| attack | before | after |
|---|---|---|
| `tarry-attempt: 1` from a stranger: attempts that the service makes | 1 | 3 |
| an endpoint of the webhook service with the header `tarry-attempt` | 201 | 422 |
"""

from ipaddress import ip_address, ip_network

import httpx
import pytest

import tarry
from tarry.call.http import incoming
from tarry.service.api.app import Receive, Scope, Send
from tarry.service.api.server import serving
from tests.plain_http import PLAIN

pytestmark = pytest.mark.anyio

POLICY = tarry.Policy(attempts=3, backoff=tarry.Fixed(0), jitter=tarry.NoJitter())


class Service:
    """A service that trusts one network, and answers with the number of attempts it made."""

    def __init__(self, network: str) -> None:
        self.network = ip_network(network)

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        attempts = 0

        @tarry.retry(POLICY, on=ConnectionError)
        async def fails() -> None:
            nonlocal attempts
            attempts += 1
            raise ConnectionError

        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        trusted = ip_address(scope["client"][0]) in self.network
        with incoming(headers, trusted=trusted), pytest.raises(ConnectionError):
            await fails()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": str(attempts).encode()})


@pytest.mark.parametrize(("network", "attempts"), [("192.0.2.0/24", "3"), ("127.0.0.0/8", "1")])
async def test_only_a_caller_who_is_trusted_switches_retries_off(
    network: str, attempts: str
) -> None:
    async with (
        serving(Service(network), "127.0.0.1:0") as url,
        httpx.AsyncClient(base_url=url, **PLAIN) as client,
    ):
        assert (await client.get("/", headers={"tarry-attempt": "1"})).text == attempts
        assert (await client.get("/")).text == "3"


async def test_an_endpoint_cannot_have_it_as_a_header(client: httpx.AsyncClient) -> None:
    body = {"url": "https://example.com", "headers": {"Tarry-Attempt": "1"}}
    answer = await client.post("/api/v1/app/shop/endpoint", json=body)
    assert answer.status_code == 422
