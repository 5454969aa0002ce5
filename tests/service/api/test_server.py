import asyncio
import socket
from typing import Any

import httpx
import pytest

from tarry.errors import SettingsError
from tarry.service.api.server import bound, read_address, serving
from tests.plain_http import PLAIN

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8400", ("127.0.0.1", 8400)),
        ("[::1]:80", ("::1", 80)),
        ("localhost:0", ("localhost", 0)),
    ],
)
def test_an_address_is_read(text: str, address: tuple[str, int]) -> None:
    assert read_address(text) == address


@pytest.mark.parametrize(
    "text",
    ["", "8400", ":8400", "localhost", "localhost:x", "host:70000", "127.0.0.1:80:80", "::1:80"],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="HOST:PORT"):
        read_address(text)


async def test_an_address_that_is_taken_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=r"free \(Address already in use\)$"):
            await serving(None, f"127.0.0.1:{port}").__aenter__()


async def test_it_serves_until_the_block_ends(url: str) -> None:
    async with httpx.AsyncClient(**PLAIN) as client:
        assert (await client.get(f"{url}/healthz")).json() == {"status": "alive"}


@pytest.mark.parametrize("hurried", [True, False])
async def test_who_is_in_a_hurry_does_not_wait_for_running_requests(*, hurried: bool) -> None:
    begun, go_on, hurry = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow(_scope: object, _receive: object, send: Any) -> None:  # noqa: ANN401  ASGI's own
        begun.set()
        await go_on.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async with httpx.AsyncClient(**PLAIN) as client:
        async with serving(slow, "127.0.0.1:0", hurry) as url:
            request = asyncio.create_task(client.get(url))
            await begun.wait()
            asyncio.get_running_loop().call_later(0.05, (hurry if hurried else go_on).set)
        if hurried:
            assert not request.done()
            request.cancel()
        else:
            assert (await request).status_code == 200


def test_nothing_waits_for_what_was_sent_before_it_to_be_acknowledged() -> None:
    with (
        bound("127.0.0.1:0") as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as connection,
    ):
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
