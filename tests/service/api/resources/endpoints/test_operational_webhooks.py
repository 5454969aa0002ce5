import json
from typing import Any

import httpx
import pytest

from tarry.service.hooks import Hooks
from tarry.service.model import operational
from tarry.service.store.kinds import Endpoints, Environment

pytestmark = pytest.mark.anyio

PATH = "/api/v1/operational-webhook/endpoint"
APP = "/api/v1/app"
URL = "https://example.com/news"


async def created(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:  # noqa: ANN401  JSON
    answer = await client.post(PATH, json={"url": URL, **fields})
    assert answer.status_code == 201, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def test_an_endpoint_is_made_looked_at_made_anew_and_deleted(
    client: httpx.AsyncClient,
) -> None:
    assert (await client.get(PATH)).json()["data"] == []
    assert (await client.get(f"{PATH}/main")).status_code == 404
    fields = {"uid": "main", "eventTypes": ["endpoint.disabled"], "metadata": {"a": "b"}}
    new = await created(client, **fields, channels=["eu"])
    assert {name: new[name] for name in fields} == fields
    assert new["channels"] is None
    assert (await client.get(f"{PATH}/main")).json() == new
    assert (await client.post(PATH, json={"url": URL, "uid": "main"})).status_code == 409
    answer = await client.put(f"{PATH}/main", json={"url": URL, "uid": "main", "disabled": True})
    assert (answer.status_code, answer.json()["disabled"]) == (200, True)
    answer = await client.put(f"{PATH}/other", json={"url": URL, "uid": "other"})
    assert answer.status_code == 201
    uids = [endpoint["uid"] for endpoint in (await client.get(PATH)).json()["data"]]
    assert uids == ["other", "main"]
    assert (await client.delete(f"{PATH}/main")).status_code == 204
    assert (await client.get(f"{PATH}/main")).status_code == 404


async def test_its_secret_and_headers_are_those_of_any_endpoint(client: httpx.AsyncClient) -> None:
    new = await created(client, headers={"x-a": "1"})
    path = f"{PATH}/{new['id']}"
    old = (await client.get(f"{path}/secret")).json()["key"]
    assert old.startswith("whsec_")
    answer = await client.post(f"{path}/secret/rotate", json={"gracePeriodSeconds": 5})
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await client.get(f"{path}/secret")).json()["key"] != old
    assert (await client.get(f"{path}/headers")).json()["headers"] == {"x-a": "1"}
    body = {"headers": {"authorization": "hush"}}
    assert (await client.put(f"{path}/headers", json=body)).status_code == 204
    shown = (await client.get(f"{path}/headers")).json()
    assert shown == {"headers": {}, "sensitive": ["authorization"]}


async def test_the_application_behind_it_is_nobodys_to_see(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    new = await created(client)
    hidden = operational.application(hooks.environment, now=0.0)
    assert [application["uid"] for application in (await client.get(APP)).json()["data"]] == [
        "shop"
    ]
    for name_of_hidden in (hidden.id, operational.UID, f"{hooks.environment}/operational"):
        for path in ("", "/endpoint", f"/endpoint/{new['id']}", "/msg"):
            answer = await client.get(f"{APP}/{name_of_hidden}{path}")
            assert answer.status_code in {404, 501}, f"{name_of_hidden}{path}"
    assert (await client.get(f"{APP}/shop/endpoint/{new['id']}")).status_code == 404
    body = {"name": "x", "uid": operational.UID}
    assert (await client.post(APP, json=body)).status_code == 201  # the name is free


async def test_environments_hear_of_themselves_only(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    await hooks.store.put(Environment("org_other"))
    other = hooks.within("org_other")
    hidden = operational.application("org_other", now=1.0)
    await other.store.put(Environment(hidden.environment))
    await other.store.put(hidden)
    theirs = await other.add_endpoint(hidden, URL)
    assert (await client.get(PATH)).json()["data"] == []
    assert (await client.get(f"{PATH}/{theirs.id}")).status_code == 404


async def test_what_happens_to_endpoints_is_told(live: Any) -> None:  # noqa: ANN401  see conftest
    fields = {"url": live.receiver.url, "eventTypes": ["endpoint.updated", "endpoint.deleted"]}
    listener = (await live.client.post(PATH, json=fields)).json()
    new = (await live.client.post(f"{APP}/shop/endpoint", json={"url": URL, "uid": "main"})).json()
    path = f"{APP}/shop/endpoint/{new['id']}"
    await live.client.patch(path, json={"description": "x"})
    await live.client.put(f"{path}/headers", json={"headers": {"x-a": "1"}})
    await live.client.post(f"{path}/secret/rotate", json={})
    await live.client.delete(path)
    arrivals = [json.loads(arrival.body) for arrival in await live.arrived(4)]
    kinds = ["endpoint.updated"] * 3 + ["endpoint.deleted"]
    assert sorted(arrival["type"] for arrival in arrivals) == sorted(kinds)
    for arrival in arrivals:
        assert arrival["data"]["endpointId"] == new["id"]
        assert (arrival["data"]["endpointUid"], arrival["data"]["appUid"]) == ("main", "shop")
    hidden = operational.application(live.hooks.environment, now=0.0)
    sent = await live.hooks.store.get(Endpoints(hidden.id), listener["id"])
    assert sent.event_types == tuple(fields["eventTypes"])


async def test_an_endpoint_that_is_gone_is_told_as_disabled(live: Any) -> None:  # noqa: ANN401  see conftest
    await live.client.post(PATH, json={"url": live.receiver.url})
    new = (
        await live.client.post(f"{APP}/shop/endpoint", json={"url": f"{live.receiver.url}/gone"})
    ).json()
    (first,) = await live.arrived(1)
    assert json.loads(first.body)["type"] == "endpoint.created"
    live.receiver.script([410])
    await live.client.post(f"{APP}/shop/msg", json={"eventType": "a", "payload": {}})
    last = (await live.arrived(3))[-1]
    notice = json.loads(last.body)
    assert (notice["type"], notice["data"]["endpointId"]) == ("endpoint.disabled", new["id"])
    assert notice["data"]["failSince"].endswith("Z")
