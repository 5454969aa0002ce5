"""Statistics of an environment over HTTP."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tarry.service.hooks import Hooks
from tarry.service.model.endpoint import Standing
from tarry.service.model.listing import Cut
from tarry.service.store.kinds import Environment, Tasks

pytestmark = pytest.mark.anyio

USAGE, TYPES = "/api/v1/stats/usage/app", "/api/v1/stats/usage/event-types"
NOW = datetime.now(UTC)
TODAY = {
    "since": (NOW - timedelta(hours=1)).isoformat(),
    "until": (NOW + timedelta(hours=1)).isoformat(),
}


async def data_of(
    client: httpx.AsyncClient, hooks: Hooks, started: dict[str, Any]
) -> dict[str, Any]:
    """What comes out of a task that was started, once a dispatcher is at work."""
    assert started["status"] == "running"
    path = f"/api/v1/background-task/{started['id']}"
    task = (await client.get(path)).json()
    assert (task["status"], task["data"]) == ("running", {})
    async with asyncio.timeout(120), hooks.dispatching():
        while task["status"] == "running":
            await asyncio.sleep(0.02)
            task = (await client.get(path)).json()
    assert (task["status"], task["task"]) == ("finished", started["task"])
    data: dict[str, Any] = task["data"]
    return data


async def test_what_applications_sent_is_counted_by_where_it_went(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    shop, idle = await hooks.application("shop"), await hooks.application("idle")
    await hooks.add_endpoint(shop, "https://example.com/2", standing=Standing.PAUSED)
    await hooks.add_endpoint(shop, "https://example.com/3", standing=Standing.DISABLED)
    for _ in range(3):
        await hooks.send(shop, "order.paid", {})
    answer = await client.post(USAGE, json=TODAY)
    assert answer.status_code == 202
    started = answer.json()
    assert (started["task"], started["unresolvedAppIds"]) == ("application.stats", [])
    stats = (await data_of(client, hooks, started))["appStats"]
    assert stats == [
        {"appId": shop.id, "appUid": "shop", "messageDestinations": 6},
        {"appId": idle.id, "appUid": "idle", "messageDestinations": 0},
    ]
    past = {"since": "2020-01-01T00:00:00Z", "until": "2020-02-01T00:00:00Z"}
    started = (await client.post(USAGE, json=past)).json()
    stats = (await data_of(client, hooks, started))["appStats"]
    assert [usage["messageDestinations"] for usage in stats] == [0, 0]


async def test_applications_can_be_named_and_those_that_are_not_there_are_told(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    shop = await hooks.application("shop")
    await hooks.store.put(Environment("org_other"))
    await hooks.within("org_other").application("foreign")
    names = ["nobody", "shop", shop.id, "foreign"]
    started = (await client.post(USAGE, json={**TODAY, "appIds": names})).json()
    assert started["unresolvedAppIds"] == ["nobody", "foreign"]
    assert [usage["appId"] for usage in (await data_of(client, hooks, started))["appStats"]] == [
        shop.id
    ]
    answer = await client.post(USAGE, json={**TODAY, "appIds": ["nobody"]})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "appIds"]


async def test_a_time_that_ends_before_it_begins_cannot_be_counted(
    client: httpx.AsyncClient,
) -> None:
    turned = {"since": TODAY["until"], "until": TODAY["since"]}
    answer = await client.post(USAGE, json=turned)
    assert answer.json()["detail"][0]["loc"] == ["body", "until"]


async def test_the_types_that_endpoints_are_sent_are_found_out(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    shop, other = await hooks.application("shop"), await hooks.application("other")
    for types in (["b", "a"], ["a", "c"]):
        await hooks.add_endpoint(other, "https://example.com/", event_types=types)
    answer = await client.put(TYPES)
    assert answer.status_code == 202
    assert answer.json()["task"] == "event-type.aggregate"
    assert (await data_of(client, hooks, answer.json()))["event_types"] == [
        {
            "appId": shop.id,
            "explicitlySubscribedEventTypes": [],
            "hasCatchAllEndpoint": True,
        },
        {
            "appId": other.id,
            "explicitlySubscribedEventTypes": ["a", "b", "c"],
            "hasCatchAllEndpoint": False,
        },
    ]
    assert ((await hooks.store.page(Tasks(hooks.environment), Cut())).entries)[0].application == ""
