"""Lanes over HTTP: how the sending to an endpoint goes, and a hand on it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from tarry.service.api.resources.attempts.statuses import StatusText
from tarry.service.hooks import Hooks
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.wire.egress import origin_of
from tarry.testing.receiver import Receiver
from tests.migrated_file import make_migrated_file
from tests.service.api.delivering import APP, PATIENT, SLOW, delivering, sent, until

pytestmark = pytest.mark.anyio

MAIN = f"{APP}/endpoint/main"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
async def hooks(path: Path) -> AsyncIterator[Hooks]:
    async with delivering(make_migrated_file(path)) as hooks:
        yield hooks


@pytest.fixture
async def endpoint(hooks: Hooks, receiver: Receiver) -> Endpoint:
    shop = await hooks.application("shop")
    return await hooks.add_endpoint(shop, receiver.url, uid="main")


async def lane(client: httpx.AsyncClient) -> dict[str, Any]:
    answer = await client.get(f"{MAIN}/lane")
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


@pytest.mark.usefixtures("endpoint")
async def test_a_lane_without_anything_to_do_is_closed(client: httpx.AsyncClient) -> None:
    assert await lane(client) == {
        "state": "closed",
        "phase": "closed",
        "shared": False,
        "scope": "endpoint",
        "standing": "enabled",
        "backlog": 0,
        "pace": None,
        "capacity": None,
        "acceptedAt": None,
        "failingSince": None,
        "failures": 0,
        "failedAt": None,
        "downSince": None,
        "probeAt": None,
        "doneAt": None,
    }


async def test_a_tenant_does_not_learn_that_a_whole_host_fails(
    client: httpx.AsyncClient, hooks: Hooks, endpoint: Endpoint
) -> None:
    await hooks.store.learn({origin_of(endpoint.url): b'{"phase": "open"}'})
    whole = await lane(client)
    access = (await client.post("/api/v1/auth/app-portal-access/shop", json={})).json()
    headers = {"authorization": f"Bearer {access['token']}"}
    shown = (await client.get(f"{MAIN}/lane", headers=headers)).json()
    assert (whole["phase"], whole["scope"], whole["shared"]) == ("open", "origin", True)
    assert (shown["phase"], shown["scope"], shown["shared"]) == ("open", "endpoint", False)


@pytest.mark.slow
async def test_an_endpoint_that_is_down_is_probed_when_somebody_asks(
    client: httpx.AsyncClient, hooks: Hooks, receiver: Receiver
) -> None:
    shop = await hooks.application("shop")
    await hooks.add_endpoint(shop, receiver.url, uid="main", policy=PATIENT)
    receiver.go_down(503)
    for _ in range(20):
        await sent(client)
    list_path = "/endpoint/main/msg"
    while (shown := await lane(client))["phase"] != "open":
        await until(client, list_path, len)
    assert shown["backlog"] == 20
    assert shown["failures"] >= 5
    for field in ("failingSince", "downSince", "probeAt"):
        assert datetime.fromisoformat(shown[field]).year > 2000
    before = len(receiver.arrivals)
    while len(receiver.arrivals) < before + 4:  # probes alone come ever later
        answer = await client.post(f"{MAIN}/probe")
        assert answer.status_code == 202
        assert answer.json()["phase"] == "open"
        await until(client, list_path, len)
    receiver.come_back()
    await client.post(f"{MAIN}/probe")
    await until(
        client, list_path, lambda messages: {message["status"] for message in messages} == {0}
    )
    shown = await lane(client)
    assert (shown["backlog"], shown["failingSince"], shown["probeAt"]) == (0, None, None)
    assert shown["acceptedAt"] is not None


async def none_is_sent_to(hooks: Hooks) -> None:
    """Wait until the dispatcher has no endpoint at hand that it takes for enabled."""
    assert hooks.dispatcher is not None
    held = hooks.dispatcher.shards.owned
    async with asyncio.timeout(120):
        while any(  # noqa: ASYNC110  nobody tells
            lane.endpoint.standing is Standing.ENABLED
            for shard in held.values()
            for lane in shard.lanes.values()
        ):
            await asyncio.sleep(0.01)


async def test_a_paused_endpoint_gets_nothing_until_it_is_resumed(
    client: httpx.AsyncClient, hooks: Hooks, receiver: Receiver
) -> None:
    shop = await hooks.application("shop")
    await hooks.add_endpoint(shop, receiver.url, uid="main")
    await until(client, f"/attempt/msg/{await sent(client)}", len)  # it is known by now
    for _ in range(2):
        answer = await client.post(f"{MAIN}/pause")
        assert (answer.status_code, answer.json()["standing"]) == (200, "paused")
    await none_is_sent_to(hooks)
    message_id = await sent(client)
    shown = await lane(client)
    assert (shown["standing"], shown["backlog"]) == ("paused", 1)
    answer = await client.post(f"{MAIN}/probe")
    assert (answer.status_code, answer.json()["code"]) == (400, "not_enabled")
    why = (await client.get(f"{APP}/msg/{message_id}/endpoint/main/explain")).json()
    assert (why["state"], why["reason"], why["nextAt"]) == ("ready", "paused", None)
    assert len(receiver.arrivals) == 1
    answer = await client.post(f"{MAIN}/resume")
    assert (answer.status_code, answer.json()["standing"]) == (200, "enabled")
    await until(client, f"/attempt/msg/{message_id}", len)


async def test_a_disabled_endpoint_is_resumed_too(
    client: httpx.AsyncClient, hooks: Hooks, endpoint: Endpoint
) -> None:
    await hooks.change_endpoint(endpoint, standing=Standing.DISABLED)
    resumed = (await client.post(f"{MAIN}/resume")).json()
    assert (resumed["standing"], resumed["disabled"]) == ("enabled", False)


async def test_a_delivery_is_explained_while_it_waits_and_when_it_ended(
    client: httpx.AsyncClient, hooks: Hooks, receiver: Receiver
) -> None:
    shop = await hooks.application("shop")
    await hooks.add_endpoint(shop, receiver.url, uid="main", policy=SLOW)
    receiver.script([500])
    message_id = await sent(client, eventId="e-1")
    await until(client, f"/attempt/msg/{message_id}", len)
    list_path = f"{APP}/msg/e-1/endpoint/main/explain"
    why = (await client.get(list_path)).json()
    assert (why["state"], why["reason"]) == ("waiting", "backoff")
    assert datetime.fromisoformat(why["nextAt"]).year > 2000
    first, attempt = why["sentences"]
    assert first.startswith("Waiting: backoff. The last attempt failed")
    assert ": 500" in attempt
    shown, attempts = await lane(client), await until(client, f"/attempt/msg/{message_id}", len)
    assert (shown["state"], shown["phase"]) == ("failing", "closed")
    assert shown["failedAt"] == attempts[0]["timestamp"]
    await client.post(f"{APP}/msg/{message_id}/cancel")
    assert (await lane(client))["state"] == "closed"
    why = (await client.get(list_path)).json()
    assert (why["state"], why["reason"], why["nextAt"]) == ("cancelled", "cancelled", None)


async def test_the_words_for_states_and_reasons_are_listed(client: httpx.AsyncClient) -> None:
    tables = (await client.get("/api/v1/vocabulary")).json()
    names = {table: [words["name"] for words in entries] for table, entries in tables.items()}
    assert names["states"] == list(State)
    assert names["reasons"] == list(Reason)
    assert set(names["statuses"]) == set(StatusText)
    assert {"closed", "open", "paced", "paused", "disabled", "parked"} <= set(names["lanes"])
    (down,) = (words for words in tables["reasons"] if words["name"] == "lane open")
    assert down.pop("meaning").startswith("Only probes are sent until one succeeds.")
    assert down == {
        "name": "lane open",
        "label": "endpoint down",
        "endedBy": "a probe that succeeds",
        "state": "waiting",
    }


async def test_what_is_not_there_cannot_be_looked_at(
    client: httpx.AsyncClient, hooks: Hooks, endpoint: Endpoint
) -> None:
    await hooks.application("other")
    message_id = await sent(client)
    later = await hooks.add_endpoint(await hooks.application("shop"), endpoint.url)
    for method, list_path in (
        ("GET", f"/app/other/endpoint/{endpoint.id}/lane"),
        ("POST", f"/app/other/endpoint/{endpoint.id}/pause"),
        ("POST", f"/app/other/endpoint/{endpoint.id}/resume"),
        ("POST", f"/app/other/endpoint/{endpoint.id}/probe"),
        ("GET", f"/app/other/msg/{message_id}/endpoint/{endpoint.id}/explain"),
        ("GET", f"/app/shop/msg/{message_id}/endpoint/{later.id}/explain"),
    ):
        answer = await client.request(method, f"/api/v1{list_path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
