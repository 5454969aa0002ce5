import json
from typing import Any

import httpx
import pytest

from tarry.service.hooks import Hooks
from tarry.service.model import operational
from tarry.service.store.kinds import Endpoints, Environment

pytestmark = pytest.mark.anyio

WAY = "/api/v1/operational-webhook/endpoint"
APP = "/api/v1/app"
THERE = "https://example.com/news"


async def made(client: httpx.AsyncClient, **told: Any) -> dict[str, Any]:  # noqa: ANN401  JSON
    answer = await client.post(WAY, json={"url": THERE, **told})
    assert answer.status_code == 201, answer.text
    said: dict[str, Any] = answer.json()
    return said


async def test_an_endpoint_is_made_looked_at_made_anew_and_deleted(
    client: httpx.AsyncClient,
) -> None:
    assert (await client.get(WAY)).json()["data"] == []
    assert (await client.get(f"{WAY}/main")).status_code == 404
    told = {"uid": "main", "eventTypes": ["endpoint.disabled"], "metadata": {"a": "b"}}
    new = await made(client, **told, channels=["eu"])
    assert {name: new[name] for name in told} == told
    assert new["channels"] is None
    assert (await client.get(f"{WAY}/main")).json() == new
    assert (await client.post(WAY, json={"url": THERE, "uid": "main"})).status_code == 409
    answer = await client.put(f"{WAY}/main", json={"url": THERE, "uid": "main", "disabled": True})
    assert (answer.status_code, answer.json()["disabled"]) == (200, True)
    answer = await client.put(f"{WAY}/other", json={"url": THERE, "uid": "other"})
    assert answer.status_code == 201
    found = [one["uid"] for one in (await client.get(WAY)).json()["data"]]
    assert found == ["other", "main"]
    assert (await client.delete(f"{WAY}/main")).status_code == 204
    assert (await client.get(f"{WAY}/main")).status_code == 404


async def test_its_secret_and_headers_are_those_of_any_endpoint(client: httpx.AsyncClient) -> None:
    new = await made(client, headers={"x-a": "1"})
    way = f"{WAY}/{new['id']}"
    old = (await client.get(f"{way}/secret")).json()["key"]
    assert old.startswith("whsec_")
    answer = await client.post(f"{way}/secret/rotate", json={"gracePeriodSeconds": 5})
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await client.get(f"{way}/secret")).json()["key"] != old
    assert (await client.get(f"{way}/headers")).json()["headers"] == {"x-a": "1"}
    told = {"headers": {"authorization": "hush"}}
    assert (await client.put(f"{way}/headers", json=told)).status_code == 204
    found = (await client.get(f"{way}/headers")).json()
    assert found == {"headers": {}, "sensitive": ["authorization"]}


async def test_the_application_behind_it_is_nobodys_to_see(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    new = await made(client)
    hidden = operational.application(hooks.environment, now=0.0)
    assert [one["uid"] for one in (await client.get(APP)).json()["data"]] == ["shop"]
    for known_as in (hidden.id, operational.UID, f"{hooks.environment}/operational"):
        for way in ("", "/endpoint", f"/endpoint/{new['id']}", "/msg"):
            answer = await client.get(f"{APP}/{known_as}{way}")
            assert answer.status_code in {404, 501}, f"{known_as}{way}"
    assert (await client.get(f"{APP}/shop/endpoint/{new['id']}")).status_code == 404
    told = {"name": "x", "uid": operational.UID}
    assert (await client.post(APP, json=told)).status_code == 201  # the name is free


async def test_environments_hear_of_themselves_only(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    await hooks.store.put(Environment("org_other"))
    other = hooks.within("org_other")
    hidden = operational.application("org_other", now=1.0)
    await other.store.put(Environment(hidden.environment))
    await other.store.put(hidden)
    theirs = await other.add_endpoint(hidden, THERE)
    assert (await client.get(WAY)).json()["data"] == []
    assert (await client.get(f"{WAY}/{theirs.id}")).status_code == 404


async def test_what_happens_to_endpoints_is_told(live: Any) -> None:  # noqa: ANN401  see conftest
    told = {"url": live.receiver.url, "eventTypes": ["endpoint.updated", "endpoint.deleted"]}
    listener = (await live.client.post(WAY, json=told)).json()
    new = (
        await live.client.post(f"{APP}/shop/endpoint", json={"url": THERE, "uid": "main"})
    ).json()
    way = f"{APP}/shop/endpoint/{new['id']}"
    await live.client.patch(way, json={"description": "x"})
    await live.client.put(f"{way}/headers", json={"headers": {"x-a": "1"}})
    await live.client.post(f"{way}/secret/rotate", json={})
    await live.client.delete(way)
    arrivals = [json.loads(one.body) for one in await live.arrived(4)]
    kinds = ["endpoint.updated"] * 3 + ["endpoint.deleted"]
    assert sorted(one["type"] for one in arrivals) == sorted(kinds)
    for one in arrivals:
        assert one["data"]["endpointId"] == new["id"]
        assert (one["data"]["endpointUid"], one["data"]["appUid"]) == ("main", "shop")
    hidden = operational.application(live.hooks.environment, now=0.0)
    sent = await live.hooks.store.get(Endpoints(hidden.id), listener["id"])
    assert sent.event_types == tuple(told["eventTypes"])


async def test_an_endpoint_that_is_gone_is_told_as_disabled(live: Any) -> None:  # noqa: ANN401  see conftest
    await live.client.post(WAY, json={"url": live.receiver.url})
    new = (
        await live.client.post(f"{APP}/shop/endpoint", json={"url": f"{live.receiver.url}/gone"})
    ).json()
    (first,) = await live.arrived(1)
    assert json.loads(first.body)["type"] == "endpoint.created"
    live.receiver.script([410])
    await live.client.post(f"{APP}/shop/msg", json={"eventType": "a", "payload": {}})
    last = (await live.arrived(3))[-1]
    said = json.loads(last.body)
    assert (said["type"], said["data"]["endpointId"]) == ("endpoint.disabled", new["id"])
    assert said["data"]["failSince"].endswith("Z")
