import socket

import httpx
import pytest

from tarry.errors import SettingsError
from tarry.service.api.server import read_address, serving

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


@pytest.mark.parametrize("text", ["", "8400", ":8400", "localhost", "localhost:x", "host:70000"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="HOST:PORT"):
        read_address(text)


async def test_an_address_that_is_taken_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match="free"):
            await serving(None, f"127.0.0.1:{port}").__aenter__()


async def test_it_serves_until_the_block_ends(url: str) -> None:
    async with httpx.AsyncClient() as client:
        assert (await client.get(f"{url}/healthz")).json() == {"status": "alive"}
