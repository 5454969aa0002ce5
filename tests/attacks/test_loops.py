"""A tenant makes the service call itself, so that each delivery causes the next one.

Measured with an endpoint that points at its own `resend`, with a key in its headers, on a service
that may call the loopback: 150 requests a second before, without end. Now there is one delivery,
which is refused, and its retries by the policy.
"""

import asyncio
import socket
from collections.abc import AsyncIterator
from ipaddress import IPv4Address

import httpx
import pytest

from tarry.errors import EgressRefused
from tarry.service import Hooks, open_hooks
from tarry.service.api.open import make_api
from tarry.service.api.server import serving
from tarry.service.model.message import MOST_IN_CHAIN
from tarry.service.wire.egress import ITSELF, Egress
from tarry.service.wire.own_address import own_addresses
from tarry.service.wire.seal import generate_key
from tests.plain_http import PLAIN

pytestmark = pytest.mark.anyio
KEY = "let-me-in"
ANY = str(IPv4Address(0))
"""The wildcard of IPv4."""
SEALING = generate_key("one")
LOOPBACK = ("127.0.0.0/8", "::1/128", "0.0.0.0/8", "::/128")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def hooks() -> AsyncIterator[Hooks]:
    async with open_hooks("memory:", sealing_keys=SEALING, allow_network=LOOPBACK) as hooks:
        yield hooks


async def test_an_endpoint_that_resends_its_own_message_does_not_keep_itself_going(
    hooks: Hooks,
) -> None:
    async with serving(await make_api(hooks, KEY), "127.0.0.1:0") as url, hooks.dispatching():
        headers = {"authorization": f"Bearer {KEY}"}
        shop = await hooks.application("shop")
        base = f"{url}/api/v1/app/shop"
        async with httpx.AsyncClient(base_url=base, headers=headers, **PLAIN) as client:
            endpoint = await hooks.add_endpoint(shop, "https://example.com", headers=headers)
            sent = await hooks.send(shop, "a", {})
            loop = f"{base}/msg/{sent.message.id}/endpoint/{endpoint.id}/resend"
            await hooks.change_endpoint(endpoint, url=loop)
            await client.post(loop.removeprefix(base))
            await asyncio.sleep(2)
            attempts = await hooks.attempts(sent.message)
            assert 1 <= len(attempts) <= 3
            assert {attempt.status for attempt in attempts if attempt.status} == {403}


@pytest.mark.parametrize("name", ["webhook-signature", "svix-signature", "Webhook-Signature"])
async def test_a_delivery_is_no_request_to_the_api(hooks: Hooks, name: str) -> None:
    async with serving(await make_api(hooks, KEY), "127.0.0.1:0") as url:
        headers = {"authorization": f"Bearer {KEY}", name: "v1,x"}
        async with httpx.AsyncClient(base_url=url, headers=headers, **PLAIN) as client:
            for method, path in (
                ("POST", "/api/v1/app"),
                ("GET", "/api/v1/app"),
                ("POST", "/api/v1/app/shop/msg"),
                ("POST", "/api/v1/health"),
            ):
                answer = await client.request(method, path, json={"name": "x"})
                if answer.status_code != 405:
                    code = answer.json()["code"]
                    assert (answer.status_code, code) == (403, "delivery_refused")
            assert (await client.get("/healthz")).status_code == 200


@pytest.mark.parametrize("host", [ANY, "::", "localhost"])
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8400/",
        "http://[::ffff:127.0.0.1]:8400/",
        "http://localhost:8400/",
        "http://[::1]:8400/",
        "http://0.0.0.0:8400/",
    ],
)
async def test_no_spelling_of_where_it_listens_may_be_called(host: str, url: str) -> None:
    egress = Egress.of(LOOPBACK, own=own_addresses(host, 8400))
    if "localhost" in url:  # the addresses of a name are checked when it is called
        assert not egress.permits("127.0.0.1", 8400)
        assert not egress.permits("::1", 8400)
    else:
        with pytest.raises(EgressRefused) as caught:
            egress.target(url)
        assert caught.value.rule == ITSELF


async def test_a_wildcard_means_every_address_of_this_machine() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        address = probe.getsockname()[0]
    egress = Egress.of(["0.0.0.0/0"], own=own_addresses(ANY, 8400))
    assert not egress.permits(address, 8400)
    assert egress.permits(address, 8401)
    assert egress.permits("198.51.100.7", 8400)


async def test_the_public_url_may_not_be_called() -> None:
    own = own_addresses("127.0.0.1", 8400, "https://hooks.example.com")
    egress = Egress.of(own=own)
    for url in ("https://hooks.example.com/x", "https://HOOKS.example.com.:443/"):
        with pytest.raises(EgressRefused) as caught:
            egress.target(url)
        assert caught.value.rule == ITSELF
    assert egress.target("https://other.example.com/").port == 443


async def test_a_receiver_that_sends_what_it_gets_is_ended_if_it_passes_the_chain_on(
    hooks: Hooks,
) -> None:
    """A receiver answers each delivery by sending the next message: 20 of them, then a 400."""
    async with serving(await make_api(hooks, KEY), "127.0.0.1:0") as url:
        headers = {"authorization": f"Bearer {KEY}"}
        async with httpx.AsyncClient(base_url=url, headers=headers, **PLAIN) as client:
            chains, refusals, ended = list[int](), list[str](), asyncio.Event()

            async def receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                sent = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
                chains.append(int(sent["webhook-chain"]))
                answer = await client.post(
                    "/api/v1/app/shop/msg",
                    json={"eventType": "a", "payload": {}},
                    headers={"webhook-chain": sent["webhook-chain"]},
                )
                if answer.status_code != 202:
                    refusals.append(answer.json()["code"])
                    ended.set()
                writer.write(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
                writer.close()

            receiver = await asyncio.start_server(receive, "127.0.0.1", 0)
            port = receiver.sockets[0].getsockname()[1]
            shop = await hooks.application("shop")
            await hooks.add_endpoint(shop, f"http://127.0.0.1:{port}/")
            async with receiver, hooks.dispatching():
                await hooks.send(shop, "a", {})
                async with asyncio.timeout(30):
                    await ended.wait()
            assert chains == list(range(1, MOST_IN_CHAIN + 1))
            assert refusals == ["chain_too_long"]


@pytest.mark.parametrize(
    ("text", "status"),
    [("0", 202), ("19", 202), ("20", 400), ("9999", 400), ("x", 422), ("-1", 422)],
)
async def test_the_place_in_a_chain_is_read_of_single_messages_and_batches(
    hooks: Hooks, text: str, status: int
) -> None:
    await hooks.application("shop")
    async with serving(await make_api(hooks, KEY), "127.0.0.1:0") as url:
        headers = {"authorization": f"Bearer {KEY}", "webhook-chain": text}
        base = f"{url}/api/v1/app/shop"
        async with httpx.AsyncClient(base_url=base, headers=headers, **PLAIN) as client:
            message = {"eventType": "a", "payload": {}}
            assert (await client.post("/msg", json=message)).status_code == status
            assert (await client.post("/msg/batch", json=[message])).status_code == status
