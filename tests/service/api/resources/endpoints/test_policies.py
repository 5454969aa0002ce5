"""Retry policies over HTTP."""

from typing import Any

import httpx
import pytest

from tarry.core.text import from_json
from tarry.service.hooks import Hooks
from tarry.service.model.listing import Cut
from tarry.service.store.kinds import Endpoints, Environments

pytestmark = pytest.mark.anyio

APP = "/api/v1/app/shop/policy"


@pytest.fixture
async def url_path(hooks: Hooks) -> str:
    """The policy of the only endpoint."""
    shop = await hooks.application("shop")
    (endpoint,) = (await hooks.store.page(Endpoints(shop.id), Cut())).entries
    return f"/api/v1/app/shop/endpoint/{endpoint.id}/policy"


async def source(client: httpx.AsyncClient, url_path: str) -> tuple[str, int]:
    body = (await client.get(url_path)).json()
    return body["source"], body["policy"]["attempts"]


async def test_the_nearest_policy_counts(
    client: httpx.AsyncClient, hooks: Hooks, url_path: str
) -> None:
    assert await source(client, url_path) == ("default", 9)
    await hooks.set_policy('{"attempts": 2}')
    assert await source(client, url_path) == ("environment", 2)
    assert await source(client, APP) == ("environment", 2)
    answer = await client.put(APP, json={"attempts": 3})
    assert (answer.status_code, answer.json()["source"]) == (200, "application")
    assert await source(client, url_path) == ("application", 3)
    answer = await client.put(url_path, json={"attempts": 4})
    assert (answer.status_code, answer.json()["source"]) == (200, "endpoint")
    assert await source(client, url_path) == ("endpoint", 4)
    assert await source(client, APP) == ("application", 3)
    for owner_path in (url_path, APP):
        answer = await client.delete(owner_path)
        assert (answer.status_code, answer.content) == (204, b"")
    assert await source(client, url_path) == ("environment", 2)


async def test_a_policy_is_shown_with_all_its_fields_and_can_be_put_as_it_is_shown(
    client: httpx.AsyncClient, hooks: Hooks, url_path: str
) -> None:
    shown = (await client.get(url_path)).json()["policy"]
    assert shown["backoff"]["kind"] == "schedule"
    answer = await client.put(url_path, json=shown)
    assert answer.json() == {"source": "endpoint", "policy": shown}
    shop = await hooks.application("shop")
    (endpoint,) = (await hooks.store.page(Endpoints(shop.id), Cut())).entries
    assert endpoint.policy is not None
    assert from_json(endpoint.policy) == hooks.settings.policy


@pytest.mark.parametrize(
    ("document", "loc"),
    [
        ({"attempts": -3}, ["attempts"]),
        ({"attempt": 3}, ["attempt"]),
        ({"backoff": {"kind": "fixd"}}, ["backoff", "kind"]),
        ({"retry_after": {"at_most": -1}}, ["retry_after", "at_most"]),
    ],
)
async def test_a_policy_that_cannot_work_is_refused_with_its_place(
    client: httpx.AsyncClient, url_path: str, document: dict[str, Any], loc: list[str]
) -> None:
    for owner_path in (url_path, APP):
        answer = await client.put(owner_path, json=document)
        assert answer.status_code == 422, answer.text
        assert answer.json()["detail"][0]["loc"] == ["body", *loc]
        assert await source(client, owner_path) == ("default", 9)


@pytest.mark.parametrize("body", [b"", b"[]", b"3", b"{", b"[" * 50_000])
async def test_what_is_no_document_is_refused(
    client: httpx.AsyncClient, url_path: str, body: bytes
) -> None:
    assert (await client.put(url_path, content=body)).status_code == 422


ENVIRONMENT = "/api/v1/environment/policy"


async def test_an_environment_has_a_policy_for_whoever_has_none(
    client: httpx.AsyncClient, hooks: Hooks, url_path: str
) -> None:
    assert await source(client, ENVIRONMENT) == ("default", 9)
    answer = await client.put(ENVIRONMENT, json={"attempts": 2})
    assert (answer.status_code, answer.json()["source"]) == (200, "environment")
    assert await source(client, ENVIRONMENT) == ("environment", 2)
    assert await source(client, url_path) == ("environment", 2)
    await client.put(APP, json={"attempts": 3})
    assert await source(client, url_path) == ("application", 3)
    assert await source(client, ENVIRONMENT) == ("environment", 2)
    stored = (await hooks.store.get(Environments(), hooks.environment)).policy
    assert stored is not None
    answer = await client.put(ENVIRONMENT, json={"attempts": 0})
    assert answer.status_code == 422
    assert (await hooks.store.get(Environments(), hooks.environment)).policy == stored
    answer = await client.delete(ENVIRONMENT)
    assert (answer.status_code, answer.content) == (204, b"")
    assert await source(client, ENVIRONMENT) == ("default", 9)


async def test_what_waits_follows_a_new_policy_of_its_environment(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    shop = await hooks.application("shop")
    (endpoint,) = (await hooks.store.page(Endpoints(shop.id), Cut())).entries
    leases = await hooks.store.lease("worker", most=100, length=60)
    await hooks.send(shop, "invoice.paid", {})
    await hooks.store.woken(leases)
    await client.put(ENVIRONMENT, json={"attempts": 2})
    assert await hooks.store.woken(leases) == [endpoint.lane]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_a_key_to_one_application_has_no_say_in_its_environments_policy(
    client: httpx.AsyncClient, method: str
) -> None:
    access = (await client.post("/api/v1/auth/app-portal-access/shop", json={})).json()
    tenant = {"authorization": f"Bearer {access['token']}"}
    answer = await client.request(method, ENVIRONMENT, json={"attempts": 2}, headers=tenant)
    assert answer.status_code == 403
    assert await source(client, ENVIRONMENT) == ("default", 9)
