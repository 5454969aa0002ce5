import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tarry.service.hooks import Hooks
from tarry.service.model.key import Scope
from tarry.service.store.kinds import Messages

pytestmark = pytest.mark.anyio

APP = "/api/v1/app/shop"
KIND = {"name": "order.paid", "description": ""}
SCHEMAS = {
    "1": {"examples": [{"old": 1}]},
    "2": {"type": "object", "examples": [{"n": 1}, {"n": 2}]},
}


@pytest.fixture
async def way(client: httpx.AsyncClient) -> str:
    """Where an endpoint is tried out."""
    (one,) = (await client.get(f"{APP}/endpoint")).json()["data"]
    return f"{APP}/endpoint/{one['id']}/send-example"


@pytest.mark.parametrize(
    ("told", "payload"),
    [
        ({"eventType": "svix.ping"}, {"success": True}),
        ({"eventType": "tarry.ping"}, {"success": True}),
        ({"eventType": "order.paid"}, {"n": 1}),
        ({"eventType": "order.paid", "exampleIndex": 1}, {"n": 2}),
        ({"eventType": "order.paid", "exampleIndex": 9}, {"n": 1}),
        ({"eventType": "order.lost", "payload": {"own": [1]}}, {"own": [1]}),
    ],
)
async def test_an_example_is_sent_as_a_message(
    client: httpx.AsyncClient, way: str, told: dict[str, Any], payload: object
) -> None:
    await client.post("/api/v1/event-type", json={**KIND, "schemas": SCHEMAS})
    answer = await client.post(way, json=told)
    assert answer.status_code == 200, answer.text
    new = answer.json()
    assert (new["eventType"], new["payload"]) == (told["eventType"], payload)
    assert (await client.get(f"{APP}/msg/{new['id']}")).json()["payload"] == payload


async def test_without_an_example_nothing_is_sent(client: httpx.AsyncClient, way: str) -> None:
    answer = await client.post(way, json={"eventType": "order.lost"})
    assert answer.status_code == 404
    for schemas in (None, {}, {"1": {"type": "object"}}, {"1": {"examples": [1]}}):
        told = {"description": "", "schemas": schemas}
        await client.put("/api/v1/event-type/order.paid", json=told)
        answer = await client.post(way, json={"eventType": "order.paid"})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_scheme")
    answer = await client.post(way, json={"eventType": "order.paid", "payload": [1]})
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "payload"])


async def test_tenants_send_only_examples_that_they_may_see(
    client: httpx.AsyncClient, hooks: Hooks, way: str
) -> None:
    told = {**KIND, "schemas": SCHEMAS, "featureFlags": ["beta"]}
    await client.post("/api/v1/event-type", json=told)
    shop = await hooks.application("shop")
    token, _ = await hooks.make_key((Scope.CREATE_ATTEMPTS,), application=shop.id)
    theirs = {"authorization": f"Bearer {token}"}

    async def send(**body: object) -> int:
        return (await client.post(way, json=body, headers=theirs)).status_code

    assert await send(eventType="svix.ping") == 200
    assert await send(eventType="order.paid") == 404
    assert await send(eventType="svix.ping", payload={}) == 422


async def test_an_example_is_not_kept_in_plain_text_with_its_answer(
    client: httpx.AsyncClient, way: str, path: Path
) -> None:
    told, key = {"eventType": "a", "payload": {"who": "jane@example.com"}}, {"idempotency-key": "k"}
    first, again = [await client.post(way, json=told, headers=key) for _ in range(2)]
    assert (first.status_code, first.content) == (200, again.content)
    with closing(sqlite3.connect(path)) as db:
        ((kept,),) = db.execute("SELECT body FROM claim")
    assert kept
    assert b"jane" not in kept


async def test_an_example_goes_to_one_endpoint_only(live: Any) -> None:  # noqa: ANN401  see conftest
    ids = []
    for channels in (None, ["eu"]):
        told = {"url": live.receiver.url, "channels": channels}
        ids.append((await live.client.post(f"{APP}/endpoint", json=told)).json()["id"])
    way = f"{APP}/endpoint/{ids[1]}/send-example"
    key = {"idempotency-key": "once"}
    first, second = [
        await live.client.post(way, json={"eventType": "svix.ping"}, headers=key) for _ in range(2)
    ]
    assert first.json() == second.json()
    (arrival,) = await live.arrived(1)
    assert arrival.body == b'{"success": true}'
    message = await live.hooks.store.get(
        Messages((await live.hooks.application("shop")).id), first.json()["id"]
    )
    assert [to.id for to, _ in await live.hooks.deliveries(message)] == [ids[1]]
