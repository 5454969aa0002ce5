from typing import Any

import httpx
import pytest

from tarry.service.api.http.access import Access
from tarry.service.hooks import Hooks

pytestmark = pytest.mark.anyio

ACCESS = "/api/v1/auth/app-portal-access/shop"


async def let_in(client: httpx.AsyncClient, **fields: Any) -> dict[str, str]:  # noqa: ANN401  JSON
    """The header that a token gives."""
    answer = await client.post(ACCESS, json=fields)
    assert answer.status_code == 200, answer.text
    return {"authorization": f"Bearer {answer.json()['token']}"}


async def test_a_token_opens_its_application_and_no_other(client: httpx.AsyncClient) -> None:
    other = (await client.post("/api/v1/app", json={"name": "x", "uid": "other"})).json()
    headers = await let_in(client)
    assert (await client.get("/api/v1/app/shop", headers=headers)).json()["uid"] == "shop"
    for name in ("other", other["id"], "nobody"):
        foreign = await client.get(f"/api/v1/app/{name}", headers=headers)
        assert foreign.status_code == 404
        assert foreign.json() == {"code": "not_found", "detail": "there is no such application"}


async def test_a_token_opens_nothing_of_the_environment(client: httpx.AsyncClient) -> None:
    headers = await let_in(client)
    for method, path in (
        ("GET", "/api/v1/app"),
        ("GET", "/api/v1/key"),
        ("DELETE", "/api/v1/app/shop"),
    ):
        assert (await client.request(method, path, headers=headers)).status_code == 403


async def test_a_token_does_not_send(client: httpx.AsyncClient) -> None:
    headers = await let_in(client)
    body = {"eventType": "a", "payload": {}}
    answer = await client.post("/api/v1/app/shop/msg", json=body, headers=headers)
    assert answer.status_code == 403


async def test_the_application_is_made_on_the_fly(client: httpx.AsyncClient) -> None:
    path = "/api/v1/auth/app-portal-access/fresh"
    assert (await client.post(path, json={})).status_code == 404
    wrong = await client.post(path, json={"application": {"name": "x", "uid": "stale"}})
    assert wrong.json()["detail"][0]["loc"] == ["body", "application", "uid"]
    body = {"application": {"name": "Fresh", "uid": "fresh"}}
    for _ in range(2):
        assert (await client.post(path, json=body)).status_code == 200
    assert (await client.get("/api/v1/app/fresh")).json()["name"] == "Fresh"


async def test_each_logs_out_by_themselves_whatever_key_they_come_with(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    tokens = [await let_in(client) for _ in range(2)]
    for token in tokens:
        headers = {**token, "idempotency-key": "logout"}
        assert (await client.post("/api/v1/auth/logout", headers=headers)).status_code == 204
    fresh = Access(hooks.store, await hooks.pepper())
    for token in tokens:
        assert await fresh.caller(token["authorization"].encode()) is None


async def test_who_logs_out_is_out(client: httpx.AsyncClient) -> None:
    headers = await let_in(client)
    assert (await client.post("/api/v1/auth/logout", headers=headers)).status_code == 204
    own = await client.post("/api/v1/auth/logout")
    assert own.status_code == 422, "a key is not thrown away by mistake"


async def test_all_tokens_end_or_those_of_a_session(client: httpx.AsyncClient) -> None:
    first, second = await let_in(client, sessionId="a@acme"), await let_in(client, sessionId="b")
    path = "/api/v1/auth/app/shop/expire-all"
    assert (await client.post(path, json={"sessionIds": ["a@acme"]})).status_code == 204
    assert (await client.get("/api/v1/app/shop", headers=first)).status_code == 401
    assert (await client.get("/api/v1/app/shop", headers=second)).status_code == 200
    assert (await client.post(path, json={"expiry": 3600})).status_code == 204
    assert (await client.get("/api/v1/app/shop", headers=second)).status_code == 200
    assert (await client.post(path, json={"expiry": 700_000})).status_code == 422


async def test_a_list_of_no_sessions_is_about_all_tokens(client: httpx.AsyncClient) -> None:
    headers = await let_in(client, sessionId="a")
    path = "/api/v1/auth/app/shop/expire-all"
    assert (await client.post(path, json={"sessionIds": []})).status_code == 204
    assert (await client.get("/api/v1/app/shop", headers=headers)).status_code == 401


@pytest.mark.parametrize(
    "body", [{"expiry": 10}, {"expiry": 700_000}, {"capabilities": ["admin"]}, {"capabilities": []}]
)
async def test_a_token_that_cannot_be_is_not_made(
    client: httpx.AsyncClient, body: dict[str, Any]
) -> None:
    assert (await client.post(ACCESS, json=body)).status_code == 422


async def test_the_older_name_does_as_well(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/v1/auth/dashboard-access/shop")
    assert set(answer.json()) == {"url", "token"}
