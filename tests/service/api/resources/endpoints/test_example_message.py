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
async def url_path(client: httpx.AsyncClient) -> str:
    """Where an endpoint is tried out."""
    (endpoint,) = (await client.get(f"{APP}/endpoint")).json()["data"]
    return f"{APP}/endpoint/{endpoint['id']}/send-example"


@pytest.mark.parametrize(
    ("example", "payload"),
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
    client: httpx.AsyncClient, url_path: str, example: dict[str, Any], payload: object
) -> None:
    await client.post("/api/v1/event-type", json={**KIND, "schemas": SCHEMAS})
    answer = await client.post(url_path, json=example)
    assert answer.status_code == 200, answer.text
    new = answer.json()
    assert (new["eventType"], new["payload"]) == (example["eventType"], payload)
    assert (await client.get(f"{APP}/msg/{new['id']}")).json()["payload"] == payload


async def test_without_an_example_nothing_is_sent(client: httpx.AsyncClient, url_path: str) -> None:
    answer = await client.post(url_path, json={"eventType": "order.lost"})
    assert answer.status_code == 404
    for schemas in (None, {}, {"1": {"type": "object"}}, {"1": {"examples": [1]}}):
        example = {"description": "", "schemas": schemas}
        await client.put("/api/v1/event-type/order.paid", json=example)
        answer = await client.post(url_path, json={"eventType": "order.paid"})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_scheme")
    answer = await client.post(url_path, json={"eventType": "order.paid", "payload": [1]})
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "payload"])


async def test_tenants_send_only_examples_that_they_may_see(
    client: httpx.AsyncClient, hooks: Hooks, url_path: str
) -> None:
    event_type = {**KIND, "schemas": SCHEMAS, "featureFlags": ["beta"]}
    await client.post("/api/v1/event-type", json=event_type)
    shop = await hooks.application("shop")
    token, _ = await hooks.make_key((Scope.CREATE_ATTEMPTS,), application=shop.id)
    theirs = {"authorization": f"Bearer {token}"}

    async def send(**body: object) -> int:
        return (await client.post(url_path, json=body, headers=theirs)).status_code

    assert await send(eventType="svix.ping") == 200
    assert await send(eventType="order.paid") == 404
    assert await send(eventType="svix.ping", payload={}) == 422


async def test_an_example_is_not_kept_in_plain_text_with_its_answer(
    client: httpx.AsyncClient, url_path: str, path: Path
) -> None:
    example, key = (
        {"eventType": "a", "payload": {"who": "jane@example.com"}},
        {"idempotency-key": "k"},
    )
    first, again = [await client.post(url_path, json=example, headers=key) for _ in range(2)]
    assert (first.status_code, first.content) == (200, again.content)
    with closing(sqlite3.connect(path)) as db:
        ((stored,),) = db.execute("SELECT body FROM claim")
    assert stored
    assert b"jane" not in stored


async def test_an_example_goes_to_one_endpoint_only(live: Any) -> None:  # noqa: ANN401  see conftest
    ids = []
    for channels in (None, ["eu"]):
        example = {"url": live.receiver.url, "channels": channels}
        ids.append((await live.client.post(f"{APP}/endpoint", json=example)).json()["id"])
    url_path = f"{APP}/endpoint/{ids[1]}/send-example"
    key = {"idempotency-key": "once"}
    first, second = [
        await live.client.post(url_path, json={"eventType": "svix.ping"}, headers=key)
        for _ in range(2)
    ]
    assert first.json() == second.json()
    (arrival,) = await live.arrived(1)
    assert arrival.body == b'{"success": true}'
    message = await live.hooks.store.get(
        Messages((await live.hooks.application("shop")).id), first.json()["id"]
    )
    assert [to.id for to, _ in await live.hooks.deliveries(message)] == [ids[1]]
