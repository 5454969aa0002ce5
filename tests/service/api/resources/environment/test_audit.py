import json
from datetime import datetime, timedelta

import httpx
import pytest

from tarry.service import Hooks
from tarry.service.api.http.public_address import PublicAddress
from tarry.service.api.open import make_api
from tarry.service.api.server import serving
from tarry.service.model.key import Scope
from tests.plain_http import PLAIN
from tests.service.api.conftest import KEY
from tests.service.api.trail import trail

pytestmark = pytest.mark.anyio

AUDIT = "/api/v1/audit"


async def test_an_entry_says_who_did_what_when_and_from_where(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    key, stored = await hooks.make_key((Scope.WRITE,))
    bearing = {"authorization": f"Bearer {key}"}
    made = await client.patch("/api/v1/app/shop", json={"throttleRate": 5}, headers=bearing)
    entry = (await trail(client))[0]
    timestamp = datetime.fromisoformat(entry.pop("timestamp"))
    assert abs(timestamp - datetime.now(timestamp.tzinfo)) < timedelta(minutes=5)
    assert entry.pop("id").startswith("audit_")
    assert entry == {
        "actor": {"kind": "key", "keyId": stored.id},
        "operation": "v1.application.patch",
        "appId": made.json()["id"],
        "target": {"kind": "application", "id": made.json()["id"]},
        "address": "127.0.0.1",
        "changes": [{"field": "throttleRate", "before": None, "after": 5.0}],
    }


async def test_the_key_of_the_settings_a_tenant_and_a_program_are_told_apart(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    shop = await hooks.application("shop")
    token, stored = await hooks.make_key((Scope.MANAGE_ENDPOINT,), application=shop.id)
    body = {"url": "https://example.com/in"}
    await client.post("/api/v1/app/shop/endpoint", json=body)
    bearing = {"authorization": f"Bearer {token}"}
    await client.post("/api/v1/app/shop/endpoint", json=body, headers=bearing)
    actors = [(entry["actor"], entry["operation"]) for entry in await trail(client)]
    assert actors[:3] == [
        ({"kind": "tenant", "keyId": stored.id}, "v1.endpoint.create"),
        ({"kind": "settings-key", "keyId": None}, "v1.endpoint.create"),
        ({"kind": "program", "keyId": None}, "make_key"),
    ]


async def test_an_application_that_a_message_creates_has_an_entry(
    client: httpx.AsyncClient,
) -> None:
    body = {"eventType": "a", "payload": {}, "application": {"name": "New", "uid": "new"}}
    before = await trail(client)
    for _ in range(2):
        answer = await client.post("/api/v1/app/new/msg", json=body)
        assert answer.status_code == 202
    (entry, *rest) = await trail(client)
    assert rest == before
    created = (await client.get("/api/v1/app/new")).json()["id"]
    assert (entry["operation"], entry["target"]["id"]) == ("v1.message.create", created)


async def test_the_list_is_filtered_and_paged(client: httpx.AsyncClient, hooks: Hooks) -> None:
    for number in range(3):
        await client.post("/api/v1/app", json={"name": "x", "uid": f"x{number}"})
    created = await trail(client, operation="v1.application.create")
    assert len(created) == 3
    assert await trail(client, app_id="x1") == created[1:2]
    assert await trail(client, app_id=created[1]["appId"]) == created[1:2]
    assert await trail(client, target=created[0]["target"]["id"]) == created[:1]
    assert await trail(client, actor="settings-key") == created
    assert await trail(client, actor="key_1") == []
    assert await trail(client, actor="program", app_id="x1") == []
    after = created[1]["timestamp"]
    assert created[0] in await trail(client, after=after)
    assert created[0] not in await trail(client, before=after)
    assert await trail(client, order="ascending", actor="settings-key") == created[::-1]
    answer = (await client.get(AUDIT, params={"limit": 2, "actor": "settings-key"})).json()
    assert (answer["data"], answer["done"]) == (created[:2], False)
    rest = await trail(client, iterator=answer["iterator"], actor="settings-key")
    assert rest == created[2:]
    unknown = await client.get(AUDIT, params={"app_id": "nobody"})
    assert unknown.status_code == 404
    wrong = await client.get(AUDIT, params={"actor": "key from settings"})
    assert wrong.status_code == 422
    assert "a key's id or one of key, tenant, settings-key" in wrong.text
    foreign = await client.get(AUDIT, params={"iterator": "app_0Vb36jc38anWIdiQ27L1LH1rWdA"})
    assert foreign.status_code == 422
    assert (await client.get(AUDIT, params={"after": "9999-12-31T00:00:00Z"})).json()["data"] == []
    assert hooks.action is None


async def test_what_was_deleted_is_still_found_by_its_id(client: httpx.AsyncClient) -> None:
    shop = (await client.get("/api/v1/app/shop")).json()["id"]
    await client.delete("/api/v1/app/shop")
    entries = await trail(client, app_id=shop)
    assert entries[0]["operation"] == "v1.application.delete"
    assert entries[0]["changes"] == []


async def test_no_secret_and_no_value_that_somebody_typed_is_in_the_trail(
    client: httpx.AsyncClient,
) -> None:
    said = "c2VjcmV0LXRoYXQtbXVzdC1ub3QtYmUtc2VlbiEhISE="
    body = {
        "url": "https://user-marker.example/path-marker?token=query-marker",
        "description": "text-marker",
        "uid": "till",
        "secret": f"whsec_{said}",
        "headers": {"x-key": "header-marker"},
        "metadata": {"name-marker": "value-marker"},
    }
    await client.post("/api/v1/app/shop/endpoint", json=body)
    way = "/api/v1/app/shop/endpoint/till"
    await client.post(f"{way}/secret/rotate", json={"key": said})
    await client.patch(f"{way}/headers", json={"headers": {"x-key": "other-marker"}})
    key = (await client.post("/api/v1/key", json={"name": "name-marker"})).json()["key"]
    access = await client.post("/api/v1/auth/app-portal-access/shop", json={})
    text = json.dumps(await trail(client))
    assert "marker" not in text
    assert said not in text
    assert key not in text
    assert access.json()["token"] not in text
    assert [entry["changes"] for entry in await trail(client, operation="v1.endpoint.create")] == [
        [
            {"field": "description"},
            {"field": "headers"},
            {"field": "metadata"},
            {"field": "secrets"},
            {"field": "standing", "after": "enabled"},
            {"field": "uid"},
            {"field": "url"},
        ]
    ]


async def test_the_hidden_application_of_operational_webhooks_is_not_shown(
    client: httpx.AsyncClient,
) -> None:
    way = "/api/v1/operational-webhook/endpoint"
    made = (await client.post(way, json={"url": "https://example.com/op"})).json()
    (entry,) = await trail(client, target=made["id"])
    assert (entry["operation"], entry["appId"]) == (
        "v1.operational-webhook.endpoint.create",
        None,
    )


async def test_only_a_trusted_proxy_says_from_where(hooks: Hooks) -> None:
    headers = {
        "authorization": f"Bearer {KEY}",
        "x-forwarded-for": "198.51.100.1, 203.0.113.9",
    }
    for proxies, address in (([], "127.0.0.1"), (["127.0.0.0/8"], "203.0.113.9")):
        api = await make_api(hooks, KEY, public_address=PublicAddress.of(proxies=proxies))
        async with (
            serving(api, "127.0.0.1:0") as url,
            httpx.AsyncClient(base_url=url, headers=headers, **PLAIN) as client,
        ):
            await client.patch("/api/v1/app/shop", json={"name": address})
            assert (await trail(client))[0]["address"] == address


async def test_a_request_that_is_sent_again_leaves_one_entry(client: httpx.AsyncClient) -> None:
    once = {"idempotency-key": "once"}
    answers = [await client.post("/api/v1/app", json={"name": "x"}, headers=once) for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert len(await trail(client, operation="v1.application.create")) == 1


async def test_to_pause_what_is_paused_changes_nothing(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    shop = await hooks.application("shop")
    endpoint = await hooks.add_endpoint(shop, "https://example.com/in", uid="till")
    for _ in range(2):
        await client.post("/api/v1/app/shop/endpoint/till/pause")
    (entry,) = await trail(client, operation="v1.lane.pause")
    assert entry["target"] == {"kind": "endpoint", "id": endpoint.id}
    assert entry["changes"] == [{"field": "standing", "before": "enabled", "after": "paused"}]
