import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from tarry.service import open_hooks
from tarry.service.api.open import make_api
from tarry.service.api.server import serving
from tests.service.api.conftest import KEY

pytestmark = pytest.mark.anyio

APPS = "/api/v1/app"


async def created(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:  # noqa: ANN401  JSON
    answer = await client.post(APPS, json={"name": "an application", **fields})
    assert answer.status_code == 201, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def test_an_application_is_made_and_found_by_id_and_uid(client: httpx.AsyncClient) -> None:
    new = await created(client, uid="acme", throttleRate=7, metadata={"plan": "pro"})
    assert new["id"].startswith("app_")
    assert (new["uid"], new["throttleRate"], new["metadata"]) == ("acme", 7, {"plan": "pro"})
    for name in (new["id"], "acme"):
        assert (await client.get(f"{APPS}/{name}")).json() == new


async def test_a_uid_that_is_taken_is_a_conflict_or_answers_what_is_there(
    client: httpx.AsyncClient,
) -> None:
    new = await created(client, uid="acme")
    again = {"name": "other", "uid": "acme"}
    answer = await client.post(APPS, json=again)
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    answer = await client.post(f"{APPS}?get_if_exists=true", json=again)
    assert (answer.status_code, answer.json()) == (200, new)


@pytest.mark.parametrize(
    ("fields", "loc"),
    [
        ({}, ["body", "name"]),
        ({"name": ""}, ["body", "name"]),
        ({"name": "x", "uid": "a b"}, ["body", "uid"]),
        ({"name": "x", "uid": "app_2srLA0nTDcLVjNTc8YYKnpKbgcX"}, ["body", "uid"]),
        ({"name": "x", "throttleRate": 0}, ["body", "throttleRate"]),
        ({"name": "x", "throttleRate": 70_000}, ["body", "throttleRate"]),
        ({"name": "x", "metadata": {"a": 1}}, ["body", "metadata", "..."]),
    ],
)
async def test_what_cannot_be_is_refused_with_its_place(
    client: httpx.AsyncClient, fields: dict[str, Any], loc: list[str]
) -> None:
    answer = await client.post(APPS, json=fields)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == loc


async def test_erasing_makes_sealed_payloads_unreadable_and_no_others(
    path: Path, client: httpx.AsyncClient
) -> None:
    messages = f"{APPS}/shop/msg"
    new = {"eventType": "order.paid", "payload": {"card": "4000"}}
    plain = (await client.post(messages, json=new)).json()["id"]
    assert (await client.post(f"{APPS}/shop/erase")).json() == {"erased": False}
    sealing = open_hooks(f"sqlite:////{str(path).lstrip('/')}", seal_payloads=True)
    async with sealing as hooks, serving(await make_api(hooks, KEY), "127.0.0.1:0") as url:
        made = await client.post(f"{url}{messages}", json=new, headers={"idempotency-key": "k"})
        sealed = made.json()["id"]
        assert made.json()["payload"] == new["payload"]
        assert (await client.get(f"{messages}/{sealed}")).json()["payload"] == new["payload"]
        assert (await client.post(f"{url}{APPS}/shop/erase")).json() == {"erased": True}
        again = await client.post(f"{url}{messages}", json=new, headers={"idempotency-key": "k"})
        assert (again.status_code, again.json()["code"]) == (409, "conflict")
        listed = (await client.get(f"{url}{messages}")).json()["data"]
        payloads = {message["id"]: message["payload"] for message in listed}
        assert payloads == {plain: new["payload"], sealed: {"erased": True}}
        (endpoint,) = (await client.get(f"{APPS}/shop/endpoint")).json()["data"]
        resend = f"{url}{messages}/{sealed}/endpoint/{endpoint['id']}/resend"
        answer = await client.post(resend)
        assert (answer.status_code, answer.json()["code"]) == (400, "missing_payload")


async def test_putting_makes_it_anew_or_makes_it(client: httpx.AsyncClient) -> None:
    first = await client.put(f"{APPS}/acme", json={"name": "one", "uid": "acme"})
    assert first.status_code == 201
    fields = {"name": "two", "uid": "acme", "metadata": {"a": "b"}}
    second = await client.put(f"{APPS}/acme", json=fields)
    assert second.status_code == 200
    assert second.json()["id"] == first.json()["id"]
    assert second.json()["name"] == "two"
    third = await client.put(f"{APPS}/acme", json={"name": "three"})
    assert (third.json()["uid"], third.json()["metadata"]) == (None, {})


async def test_patching_changes_what_is_told_and_null_takes_away(
    client: httpx.AsyncClient,
) -> None:
    new = await created(client, uid="acme", throttleRate=7, metadata={"a": "b"})
    path = f"{APPS}/{new['id']}"
    assert (await client.patch(path, json={})).json()["throttleRate"] == 7
    patched = (await client.patch(path, json={"throttleRate": None, "name": "other"})).json()
    assert (patched["throttleRate"], patched["name"], patched["uid"]) == (None, "other", "acme")
    patched = (await client.patch(path, json={"uid": None})).json()
    assert (patched["uid"], patched["metadata"]) == (None, {"a": "b"})
    assert (await client.patch(path, json={"name": None})).status_code == 422


async def test_a_deleted_application_is_not_there_any_more(client: httpx.AsyncClient) -> None:
    await created(client, uid="acme")
    answer = await client.delete(f"{APPS}/acme")
    assert (answer.status_code, answer.content) == (204, b"")
    for method in ("GET", "DELETE"):
        answer = await client.request(method, f"{APPS}/acme")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_of_changes_at_once_none_undoes_another(client: httpx.AsyncClient) -> None:
    path = f"{APPS}/{(await created(client))['id']}"
    for number in range(1, 6):
        answers = await asyncio.gather(
            client.patch(path, json={"name": f"name {number}"}),
            client.patch(path, json={"throttleRate": number}),
            client.patch(path, json={"metadata": {"number": f"{number}"}}),
            client.put(f"{path}/policy", json={"attempts": number}),
        )
        assert {answer.status_code for answer in answers} == {200}
        changed = (await client.get(path)).json()
        assert (changed["name"], changed["throttleRate"]) == (f"name {number}", number)
        assert changed["metadata"] == {"number": f"{number}"}
        policy = (await client.get(f"{path}/policy")).json()
        assert policy["policy"]["attempts"] == number


async def test_a_list_is_walked_forwards_and_back(client: httpx.AsyncClient) -> None:
    made_ids = [(await client.get(f"{APPS}/shop")).json()["id"]]
    made_ids += [(await created(client))["id"] for _ in range(4)]

    async def read_page(**query: Any) -> tuple[list[str], dict[str, Any]]:  # noqa: ANN401  a query
        page = (await client.get(APPS, params={"limit": 2, **query})).json()
        return [application["id"] for application in page["data"]], page

    first, page = await read_page()
    assert (first, page["done"]) == (made_ids[:2], False)
    second, page = await read_page(iterator=page["iterator"])
    assert (second, page["done"]) == (made_ids[2:4], False)
    back, before = await read_page(iterator=page["prevIterator"])
    assert (back, before["done"]) == (made_ids[:2], True)
    last, page = await read_page(iterator=page["iterator"])
    assert (last, page["done"]) == (made_ids[4:], True)
    assert (await read_page(order="descending"))[0] == made_ids[:2:-1]
    nothing, page = await read_page(iterator=page["iterator"])
    assert (nothing, page["iterator"], page["done"]) == ([], None, True)


@pytest.mark.parametrize("query", ["limit=251", "limit=0", "limit=x", "order=up", "iterator=a/b"])
async def test_a_list_is_not_asked_for_in_ways_that_cannot_be(
    client: httpx.AsyncClient, query: str
) -> None:
    answer = await client.get(f"{APPS}?{query}")
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["query", query.partition("=")[0]]
