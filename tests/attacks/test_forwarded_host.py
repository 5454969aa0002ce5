"""A stranger cannot choose the host of portal links, which hold a token.

| attack | before | after |
|---|---|---|
| `X-Forwarded-Host: evil.example` with a request for a link | https://evil.example | its own |
"""

import httpx
import pytest

from tarry.service.api.http.public_address import PublicAddress
from tarry.service.api.open import make_api
from tarry.service.api.server import serving
from tarry.service.hooks import Hooks
from tests.plain_http import PLAIN
from tests.service.api.conftest import KEY

pytestmark = pytest.mark.anyio

PROXIED = {"x-forwarded-host": "hooks.example", "x-forwarded-proto": "https"}


async def link(url: str, headers: dict[str, str]) -> str:
    async with httpx.AsyncClient(base_url=url, **PLAIN) as client:
        answer = await client.post(
            "/api/v1/auth/app-portal-access/shop",
            json={},
            headers={"authorization": f"Bearer {KEY}", **headers},
        )
        return str(answer.json()["url"]).partition("/portal#")[0]


async def test_a_stranger_does_not_choose_the_host_of_a_link(url: str) -> None:
    evil = {"x-forwarded-host": "evil.example", "x-forwarded-proto": "https"}
    assert await link(url, evil) == url


async def test_one_who_is_no_trusted_proxy_is_a_stranger(hooks: Hooks) -> None:
    api = await make_api(hooks, KEY, public_address=PublicAddress.of(proxies=("192.0.2.7",)))
    async with serving(api, "127.0.0.1:0") as url:
        assert await link(url, PROXIED) == url


async def test_a_trusted_proxy_does(hooks: Hooks) -> None:
    api = await make_api(hooks, KEY, public_address=PublicAddress.of(proxies=("127.0.0.0/8",)))
    async with serving(api, "127.0.0.1:0") as url:
        assert await link(url, PROXIED) == "https://hooks.example"
        passed_on = {**PROXIED, "x-forwarded-host": "evil.example, hooks.example"}
        assert await link(url, passed_on) == "https://hooks.example"


async def test_a_public_url_is_the_host_of_every_link(hooks: Hooks) -> None:
    api = await make_api(hooks, KEY, public_address=PublicAddress.of("https://hooks.example"))
    async with serving(api, "127.0.0.1:0") as url:
        assert await link(url, {"host": "evil.example"}) == "https://hooks.example"
