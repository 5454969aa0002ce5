"""A tenant asks what is known of its endpoint's host: it learns nothing of other tenants there."""

import asyncio
from base64 import urlsafe_b64decode
from pathlib import Path

import httpx
import pytest

from tarry.service import Standing, open_hooks
from tarry.service.api.open import make_api
from tarry.service.api.server import serving
from tests.plain_http import PLAIN

HOST = "https://hooks.example.com:443"
RECORDS = {
    "open": b'{"phase":"open","probe_at":4102444800.0,"down_since":1234567890.0,"capacity":77.125}',
    "paced": b'{"phase":"paced","rate":77.125,"capacity":77.125,"down_since":1234567890.0}',
}
TELLING = ("77.1", "2009-02-13", "origin", "other", "whole host")


@pytest.mark.parametrize("phase", sorted(RECORDS))
def test_only_operators_see_what_comes_from_endpoints_of_others(tmp_path: Path, phase: str) -> None:
    async def attack() -> None:
        async with (
            open_hooks(f"sqlite:///{tmp_path / 'hooks.db'}") as hooks,
            serving(await make_api(hooks, "admin-key"), "127.0.0.1:0") as url,
            httpx.AsyncClient(base_url=f"{url}/api/v1/", **PLAIN) as client,
        ):
            shop = await hooks.application("shop")
            await hooks.add_endpoint(shop, f"{HOST}/in", uid="till")
            sent = await hooks.send(shop, "order.paid", {})
            await hooks.store.learn({HOST: RECORDS[phase]})
            admin = {"authorization": "Bearer admin-key"}
            access = await client.post("auth/app-portal-access/shop", json={}, headers=admin)
            token = {"authorization": f"Bearer {access.json()['token']}"}
            message = f"app/shop/msg/{sent.message.id}"
            paths = [
                "app/shop/endpoint/till/lane",
                f"{message}/endpoint/till/explain",
                f"{message}/endpoint",
                "app/shop/undelivered",
                "app/shop/endpoint/till/stats",
            ]
            seen_by_tenant = [(await client.get(path, headers=token)).text for path in paths]
            for path, text in zip(paths, seen_by_tenant, strict=True):
                assert [word for word in TELLING if word in text] == [], path
            lane = (await client.get(paths[0], headers=admin)).json()
            assert lane["scope"] == "origin"
            explanation = (await client.get(paths[1], headers=admin)).json()
            assert any("The whole host is affected" in text for text in explanation["sentences"])

    asyncio.run(attack())


def test_an_iterator_does_not_tell_how_many_endpoints_others_have(tmp_path: Path) -> None:
    """Lanes are numbered across all tenants. Before, five endpoints of another one led from 2.1
    to 8.1."""

    async def attack() -> None:
        async with (
            open_hooks(f"sqlite:///{tmp_path / 'hooks.db'}") as hooks,
            serving(await make_api(hooks, "admin-key"), "127.0.0.1:0") as url,
            httpx.AsyncClient(base_url=f"{url}/api/v1/", **PLAIN) as client,
        ):
            shop, other = await hooks.application("shop"), await hooks.application("other")
            admin = {"authorization": "Bearer admin-key"}
            access = await client.post("auth/app-portal-access/shop", json={}, headers=admin)
            token = {"authorization": f"Bearer {access.json()['token']}"}
            for _ in range(5):
                await hooks.add_endpoint(other, f"{HOST}/in")
            till = await hooks.add_endpoint(shop, f"{HOST}/in", standing=Standing.PAUSED)
            ids = [(await hooks.send(shop, "order.paid", {})).message.id for _ in range(2)]
            query: dict[str, str | int] = {"limit": 1}
            for message in ids:
                answer = await client.get("app/shop/undelivered", params=query, headers=token)
                page = answer.json()
                assert [delivery["msgId"] for delivery in page["data"]] == [message]
                assert b"%d." % till.lane not in urlsafe_b64decode(page["iterator"])
                query["iterator"] = page["iterator"]

    asyncio.run(attack())
