"""A tenant keeps using a token after its application was deleted."""

import asyncio
from pathlib import Path

import httpx

from tarry.service import open_hooks
from tarry.service.api.http.access import CACHED_FOR
from tarry.service.api.open import make_api
from tarry.service.api.server import serving
from tests.plain_http import PLAIN

BODY = {"name": "Shop", "uid": "shop"}
PATHS = ("auth/whoami", "event-type", "app/shop", "app/shop/endpoint", "app/shop/msg")


def test_a_token_ends_with_its_application_also_if_that_is_created_again(tmp_path: Path) -> None:
    async def attack() -> None:
        async with (
            open_hooks(f"sqlite:///{tmp_path / 'hooks.db'}") as hooks,
            serving(await make_api(hooks, "admin-key"), "127.0.0.1:0") as url,
            httpx.AsyncClient(base_url=f"{url}/api/v1/", **PLAIN) as client,
        ):
            admin = {"authorization": "Bearer admin-key"}
            await client.post("app", json=BODY, headers=admin)
            access = await client.post("auth/app-portal-access/shop", json={}, headers=admin)
            token = {"authorization": f"Bearer {access.json()['token']}"}
            for path in PATHS:
                assert (await client.get(path, headers=token)).status_code == 200, path
            await client.delete("app/shop", headers=admin)
            await asyncio.sleep(CACHED_FOR + 0.1)
            for path in PATHS:
                assert (await client.get(path, headers=token)).status_code == 401, path
            await client.post("app", json=BODY, headers=admin)
            for path in PATHS:
                assert (await client.get(path, headers=token)).status_code == 401, path
            logout = await client.post("auth/logout", headers=token)
            assert logout.status_code == 401

    asyncio.run(attack())
