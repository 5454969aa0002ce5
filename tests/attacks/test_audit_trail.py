"""Nobody chooses what the audit trail says of them, and no tenant reads it.

| attack | what comes of it |
|---|---|
| `X-Forwarded-For: 192.0.2.1` from somebody who is no trusted proxy | the peer's own address |
| the same before the value that a trusted proxy adds | the value of the proxy |
| 60 KB of addresses, or a text, in the header behind a trusted proxy | one address |
| `GET /audit` with a token that may do everything in one application | 403 |
| the audit trail of another environment, by its iterators and ids | nothing of it |
"""

import httpx
import pytest

from tarry.service.api.http.public_address import PublicAddress
from tarry.service.api.open import make_api
from tarry.service.api.server import serving
from tarry.service.hooks import Hooks
from tarry.service.model.key import Scope
from tests.plain_http import PLAIN
from tests.service.api.conftest import KEY
from tests.service.api.trail import trail

pytestmark = pytest.mark.anyio

STRANGER = "198.51.100.1"
TENANTS = tuple(set(Scope) - {Scope.ADMIN, Scope.WRITE, Scope.READ, Scope.SEND})


async def said_of(hooks: Hooks, proxies: list[str], forwarded: str) -> str:
    """The address that the trail has of a request with this header."""
    api = await make_api(hooks, KEY, public_address=PublicAddress.of(proxies=proxies))
    headers = {"authorization": f"Bearer {KEY}", "x-forwarded-for": forwarded}
    async with (
        serving(api, "127.0.0.1:0") as url,
        httpx.AsyncClient(base_url=url, headers=headers, **PLAIN) as client,
    ):
        await client.patch("/api/v1/app/shop", json={"name": "changed"})
        return str((await trail(client))[0]["address"])


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        ([], STRANGER, "127.0.0.1"),
        (["192.0.2.7"], STRANGER, "127.0.0.1"),
        (["127.0.0.0/8"], f"{STRANGER}, 203.0.113.9", "203.0.113.9"),
        (["127.0.0.0/8"], f"{STRANGER}, 203.0.113.9, 127.0.0.2", "203.0.113.9"),
        (["127.0.0.0/8"], f"{STRANGER}, <img src=x>", "127.0.0.1"),
        (["127.0.0.0/8"], ", ".join([STRANGER] * 4000), STRANGER),
    ],
)
async def test_nobody_chooses_the_address_that_is_said_of_them(
    hooks: Hooks, proxies: list[str], forwarded: str, address: str
) -> None:
    assert await said_of(hooks, proxies, forwarded) == address


async def test_no_tenant_and_no_other_environment_reads_it(
    hooks: Hooks, client: httpx.AsyncClient
) -> None:
    shop = await hooks.application("shop")
    token, _ = await hooks.make_key(TENANTS, application=shop.id)
    bearing = {"authorization": f"Bearer {token}"}
    assert (await client.get("/api/v1/audit", headers=bearing)).status_code == 403
    other = hooks.within("org_other")
    key, made = await other.make_key((Scope.READ,))
    client.headers["authorization"] = f"Bearer {key}"
    assert [entry["target"]["id"] for entry in await trail(client)] == [made.id]
    assert await trail(client, target=shop.id) == []
    assert await trail(client, app_id=shop.id) == []
