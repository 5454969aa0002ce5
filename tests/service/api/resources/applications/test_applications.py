import asyncio
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.anyio

APPS = "/api/v1/app"


async def made(client: httpx.AsyncClient, **told: Any) -> dict[str, Any]:  # noqa: ANN401  JSON
    answer = await client.post(APPS, json={"name": "an application", **told})
    assert answer.status_code == 201, answer.text
    said: dict[str, Any] = answer.json()
    return said


async def test_an_application_is_made_and_found_by_id_and_uid(client: httpx.AsyncClient) -> None:
    new = await made(client, uid="acme", throttleRate=7, metadata={"plan": "pro"})
    assert new["id"].startswith("app_")
    assert (new["uid"], new["throttleRate"], new["metadata"]) == ("acme", 7, {"plan": "pro"})
    for known_as in (new["id"], "acme"):
        assert (await client.get(f"{APPS}/{known_as}")).json() == new


async def test_a_uid_that_is_taken_is_a_conflict_or_answers_what_is_there(
    client: httpx.AsyncClient,
) -> None:
    new = await made(client, uid="acme")
    again = {"name": "other", "uid": "acme"}
    answer = await client.post(APPS, json=again)
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    answer = await client.post(f"{APPS}?get_if_exists=true", json=again)
    assert (answer.status_code, answer.json()) == (200, new)


@pytest.mark.parametrize(
    ("told", "place"),
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
    client: httpx.AsyncClient, told: dict[str, Any], place: list[str]
) -> None:
    answer = await client.post(APPS, json=told)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == place


async def test_putting_makes_it_anew_or_makes_it(client: httpx.AsyncClient) -> None:
    first = await client.put(f"{APPS}/acme", json={"name": "one", "uid": "acme"})
    assert first.status_code == 201
    told = {"name": "two", "uid": "acme", "metadata": {"a": "b"}}
    second = await client.put(f"{APPS}/acme", json=told)
    assert second.status_code == 200
    assert second.json()["id"] == first.json()["id"]
    assert second.json()["name"] == "two"
    third = await client.put(f"{APPS}/acme", json={"name": "three"})
    assert (third.json()["uid"], third.json()["metadata"]) == (None, {})


async def test_patching_changes_what_is_told_and_null_takes_away(
    client: httpx.AsyncClient,
) -> None:
    new = await made(client, uid="acme", throttleRate=7, metadata={"a": "b"})
    way = f"{APPS}/{new['id']}"
    assert (await client.patch(way, json={})).json()["throttleRate"] == 7
    told = (await client.patch(way, json={"throttleRate": None, "name": "other"})).json()
    assert (told["throttleRate"], told["name"], told["uid"]) == (None, "other", "acme")
    told = (await client.patch(way, json={"uid": None})).json()
    assert (told["uid"], told["metadata"]) == (None, {"a": "b"})
    assert (await client.patch(way, json={"name": None})).status_code == 422


async def test_a_deleted_application_is_not_there_any_more(client: httpx.AsyncClient) -> None:
    await made(client, uid="acme")
    answer = await client.delete(f"{APPS}/acme")
    assert (answer.status_code, answer.content) == (204, b"")
    for method in ("GET", "DELETE"):
        answer = await client.request(method, f"{APPS}/acme")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_of_changes_at_once_none_undoes_another(client: httpx.AsyncClient) -> None:
    way = f"{APPS}/{(await made(client))['id']}"
    for number in range(1, 6):
        answers = await asyncio.gather(
            client.patch(way, json={"name": f"name {number}"}),
            client.patch(way, json={"throttleRate": number}),
            client.patch(way, json={"metadata": {"number": f"{number}"}}),
            client.put(f"{way}/policy", json={"attempts": number}),
        )
        assert {answer.status_code for answer in answers} == {200}
        told = (await client.get(way)).json()
        assert (told["name"], told["throttleRate"]) == (f"name {number}", number)
        assert told["metadata"] == {"number": f"{number}"}
        policy = (await client.get(f"{way}/policy")).json()
        assert policy["policy"]["attempts"] == number


async def test_a_list_is_walked_forwards_and_back(client: httpx.AsyncClient) -> None:
    made_ids = [(await client.get(f"{APPS}/shop")).json()["id"]]
    made_ids += [(await made(client))["id"] for _ in range(4)]

    async def ask(**query: Any) -> tuple[list[str], dict[str, Any]]:  # noqa: ANN401  a query
        told = (await client.get(APPS, params={"limit": 2, **query})).json()
        return [one["id"] for one in told["data"]], told

    first, told = await ask()
    assert (first, told["done"]) == (made_ids[:2], False)
    second, told = await ask(iterator=told["iterator"])
    assert (second, told["done"]) == (made_ids[2:4], False)
    back, before = await ask(iterator=told["prevIterator"])
    assert (back, before["done"]) == (made_ids[:2], True)
    last, told = await ask(iterator=told["iterator"])
    assert (last, told["done"]) == (made_ids[4:], True)
    assert (await ask(order="descending"))[0] == made_ids[:2:-1]
    nothing, told = await ask(iterator=told["iterator"])
    assert (nothing, told["iterator"], told["done"]) == ([], None, True)


@pytest.mark.parametrize("query", ["limit=251", "limit=0", "limit=x", "order=up", "iterator=a/b"])
async def test_a_list_is_not_asked_for_in_ways_that_cannot_be(
    client: httpx.AsyncClient, query: str
) -> None:
    answer = await client.get(f"{APPS}?{query}")
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["query", query.partition("=")[0]]
