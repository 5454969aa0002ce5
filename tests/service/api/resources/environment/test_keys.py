import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from tarry.service.api.http.access import Access
from tarry.service.hooks import Hooks
from tarry.testing.clock import PushedClock

pytestmark = pytest.mark.anyio

KEYS = "/api/v1/key"


async def created(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:  # noqa: ANN401  JSON
    answer = await client.post(KEYS, json=fields)
    assert answer.status_code == 201, answer.text
    body: dict[str, Any] = answer.json()
    return body


def bearing(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


async def test_a_key_is_shown_once_and_opens_what_its_scopes_say(
    client: httpx.AsyncClient,
) -> None:
    new = await created(client, name="ci", scopes=["read"])
    assert new["key"].startswith("tarry_")
    assert "." not in new["key"]
    lets_in = bearing(new["key"])
    assert (await client.get("/api/v1/app", headers=lets_in)).status_code == 200
    refused = await client.post("/api/v1/app", json={"name": "x"}, headers=lets_in)
    assert (refused.status_code, refused.json()["code"]) == (403, "insufficient access")
    assert refused.json()["detail"].endswith("; a key with the scope write may")
    (listed,) = (await client.get(KEYS)).json()["data"]
    assert "key" not in listed
    assert (listed["id"], listed["name"], listed["scopes"]) == (new["id"], "ci", ["read"])


async def test_a_key_to_send_with_does_nothing_else(client: httpx.AsyncClient) -> None:
    lets_in = bearing((await created(client, scopes=["send"]))["key"])
    body = {"eventType": "a", "payload": {}}
    assert (
        await client.post("/api/v1/app/shop/msg", json=body, headers=lets_in)
    ).status_code == 202
    for path in ("/api/v1/app", "/api/v1/app/shop", KEYS):
        assert (await client.get(path, headers=lets_in)).status_code == 403


async def test_a_key_that_writes_makes_no_keys(client: httpx.AsyncClient) -> None:
    lets_in = bearing((await created(client))["key"])
    assert (
        await client.post("/api/v1/app", json={"name": "x"}, headers=lets_in)
    ).status_code == 201
    assert (await client.post(KEYS, json={}, headers=lets_in)).status_code == 403


async def test_a_revoked_key_opens_nothing_soon(client: httpx.AsyncClient) -> None:
    new = await created(client, scopes=["read"])
    assert (await client.get("/api/v1/app", headers=bearing(new["key"]))).status_code == 200
    assert (await client.delete(f"{KEYS}/{new['id']}")).status_code == 204

    async with asyncio.timeout(120):  # how soon is told by a pushed clock below
        while (await client.get("/api/v1/app", headers=bearing(new["key"]))).status_code != 401:
            pass
    (listed,) = (await client.get(KEYS)).json()["data"]
    assert listed["revokedAt"] is not None
    assert (await client.delete(f"{KEYS}/key_nobody")).status_code == 404


async def test_a_revoked_key_opens_nothing_within_a_second(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    clock = PushedClock()
    access = Access(hooks.store, await hooks.pepper(), clock=lambda: clock.now)
    new = await created(client, scopes=["read"])
    header = f"Bearer {new['key']}".encode()
    assert await access.caller(header) is not None
    assert (await client.delete(f"{KEYS}/{new['id']}")).status_code == 204
    clock.push(0.99)
    assert await access.caller(header) is None


async def test_nothing_of_a_key_is_kept_in_the_database(
    client: httpx.AsyncClient, path: Path
) -> None:
    headers = {"idempotency-key": "again"}
    answer = await client.post(KEYS, json={"name": "what-it-is-called"}, headers=headers)
    text = answer.json()["key"]
    await client.get("/api/v1/app", headers=bearing(text))
    again = await client.post(KEYS, json={"name": "what-it-is-called"}, headers=headers)
    assert again.json()["key"] != text, "the answer was kept somewhere"
    files = [file for file in path.parent.iterdir() if file.name.startswith(path.name)]
    stored = b"".join(file.read_bytes() for file in files)
    assert path.with_name(f"{path.name}-wal") in files
    assert b"what-it-is-called" in stored, "the key is not in there at all"
    part = text.removeprefix("tarry_")
    for secret in (part, part[:16], part[-16:]):
        assert secret.encode() not in stored


async def test_a_key_may_end_as_late_as_can_be_written(client: httpx.AsyncClient) -> None:
    new = await created(client, expiresAt="9999-12-31T23:59:59-12:00")
    (listed,) = (await client.get(KEYS)).json()["data"]
    assert listed["expiresAt"] == new["expiresAt"]


@pytest.mark.parametrize(
    ("fields", "loc"),
    [
        ({"scopes": []}, ["body", "scopes"]),
        ({"scopes": ["ViewBase"]}, ["body", "scopes"]),
        ({"scopes": ["king"]}, ["body", "scopes", "0"]),
        ({"expiresAt": "2020-01-01T00:00:00Z"}, ["body", "expiresAt"]),
        ({"expiresAt": "2020-01-01T00:00:00"}, ["body", "expiresAt"]),
    ],
)
async def test_a_key_that_cannot_be_is_not_made(
    client: httpx.AsyncClient, fields: dict[str, Any], loc: list[str]
) -> None:
    answer = await client.post(KEYS, json=fields)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"][: len(loc)] == loc
