"""What a key opens, over HTTP."""

import httpx
import pytest

from tarry.service.hooks import Hooks
from tarry.service.model.key import Scope

pytestmark = pytest.mark.anyio

PATH = "/api/v1/auth/whoami"


async def test_a_key_is_told_what_it_opens(client: httpx.AsyncClient, hooks: Hooks) -> None:
    everything = ["send", "look", "secrets", "rotate", "attempts", "endpoints", "change", "keys"]
    assert (await client.get(PATH)).json() == {
        "environment": hooks.environment,
        "appId": None,
        "may": everything,
    }
    key, _ = await hooks.make_key((Scope.READ,))
    answer = await client.get(PATH, headers={"authorization": f"Bearer {key}"})
    assert answer.json()["may"] == ["look"]


async def test_a_tenants_token_is_told_its_application(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    shop = await hooks.application("shop")
    access = await client.post("/api/v1/auth/app-portal-access/shop", json={"readOnly": True})
    headers = {"authorization": f"Bearer {access.json()['token']}"}
    answer = (await client.get(PATH, headers=headers)).json()
    assert (answer["appId"], answer["may"]) == (shop.id, ["look"])


async def test_one_that_only_sends_is_told_which_would_do(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    key, _ = await hooks.make_key((Scope.SEND,))
    answer = await client.get(PATH, headers={"authorization": f"Bearer {key}"})
    assert answer.status_code == 403
    assert answer.json()["detail"].endswith("a key with the scope read may")
