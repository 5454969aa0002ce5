"""Quotas over HTTP."""

import httpx
import pytest

from tarry.service.hooks import Hooks

pytestmark = pytest.mark.anyio

WAY = "/api/v1/app/shop/quota"
MESSAGE = {"eventType": "invoice.paid", "payload": {}}


async def test_an_application_that_has_its_fill_is_refused_more(client: httpx.AsyncClient) -> None:
    assert (await client.get(WAY)).json() == {"source": "default", "mostWaiting": None}
    answer = await client.put(WAY, json={"mostWaiting": 1})
    assert (answer.status_code, answer.json()) == (
        200,
        {"source": "application", "mostWaiting": 1},
    )
    assert (await client.get(WAY)).json() == {"source": "application", "mostWaiting": 1}
    answers = [await client.post("/api/v1/app/shop/msg", json=MESSAGE) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 429]
    answer = await client.delete(WAY)
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await client.post("/api/v1/app/shop/msg", json=MESSAGE)).status_code == 202


async def test_none_of_its_other_settings_is_touched(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    await hooks.application("shop", rate=5.0)
    await client.put(WAY, json={"mostWaiting": 7})
    shop = await hooks.application("shop")
    assert (shop.rate, shop.most_waiting) == (5.0, 7)


@pytest.mark.parametrize("most", [-1, 1.5, "7", None, 2**53])
async def test_what_is_no_number_of_deliveries_is_refused(
    client: httpx.AsyncClient, most: object
) -> None:
    answer = await client.put(WAY, json={"mostWaiting": most})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "mostWaiting"]


async def test_tenants_see_their_quota_and_cannot_change_it(client: httpx.AsyncClient) -> None:
    access = (await client.post("/api/v1/auth/app-portal-access/shop", json={})).json()
    tenant = {"authorization": f"Bearer {access['token']}"}
    assert (await client.get(WAY, headers=tenant)).status_code == 200
    body = {"mostWaiting": 100}
    assert (await client.put(WAY, json=body, headers=tenant)).status_code == 403
    assert (await client.delete(WAY, headers=tenant)).status_code == 403
    assert (await client.get(WAY)).json()["source"] == "default"
