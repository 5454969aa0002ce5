from typing import Any

import httpx
import pytest

from tarry.service.hooks import Hooks
from tarry.service.model.key import Scope

pytestmark = pytest.mark.anyio

WAY = "/api/v1/event-type"
SCHEMAS = {"1": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}}


async def made(client: httpx.AsyncClient, name: str, **told: Any) -> dict[str, Any]:  # noqa: ANN401  JSON
    answer = await client.post(WAY, json={"name": name, "description": "it happened", **told})
    assert answer.status_code == 201, answer.text
    said: dict[str, Any] = answer.json()
    return said


async def test_a_type_of_events_is_made_and_found(client: httpx.AsyncClient) -> None:
    told = {
        "archived": False,
        "deprecated": True,
        "schemas": SCHEMAS,
        "featureFlags": ["beta", "eu"],
        "groupName": "order",
        "validatePayload": True,
    }
    new = await made(client, "order.paid", **told)
    assert {name: new[name] for name in told} == told
    assert (new["name"], new["featureFlag"]) == ("order.paid", "beta")
    assert (await client.get(f"{WAY}/order.paid")).json() == new
    assert (await client.get(f"{WAY}/order.lost")).status_code == 404


async def test_what_is_left_out_has_its_usual_value(client: httpx.AsyncClient) -> None:
    new = await made(client, "order.paid")
    absent = {new[name] for name in ("schemas", "featureFlags", "featureFlag", "groupName")}
    assert absent == {None}
    assert {new[name] for name in ("archived", "deprecated", "validatePayload")} == {False}


@pytest.mark.parametrize(
    ("told", "place"),
    [
        ({"name": "a"}, ["body", "description"]),
        ({"description": "a"}, ["body", "name"]),
        ({"name": "a b", "description": "a"}, ["body", "name"]),
        ({"name": "a", "description": "a\0b"}, ["body", "description"]),
        (
            {"name": "a", "description": "", "schemas": {"1": {"readOnly": 15}}},
            ["body", "schemas", "1", "readOnly"],
        ),
        ({"name": "a", "description": "", "groupName": "a b"}, ["body", "groupName"]),
        ({"name": "a", "description": "", "featureFlags": ["a b"]}, ["body", "featureFlags", "0"]),
    ],
)
async def test_what_cannot_be_is_refused_with_its_place(
    client: httpx.AsyncClient, told: dict[str, Any], place: list[str]
) -> None:
    answer = await client.post(WAY, json=told)
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, place)


async def test_a_name_is_taken_until_it_is_archived(client: httpx.AsyncClient) -> None:
    first = await made(client, "order.paid", schemas=SCHEMAS)
    again = {"name": "order.paid", "description": "anew"}
    refused = await client.post(WAY, json=again)
    assert (refused.status_code, refused.json()["code"]) == (409, "event_type_exists")
    assert (await client.delete(f"{WAY}/order.paid")).status_code == 204
    assert (await client.get(f"{WAY}/order.paid")).json()["archived"] is True
    anew = await made(client, "order.paid", description="anew")
    assert (anew["archived"], anew["description"], anew["schemas"]) == (False, "anew", None)
    assert anew["createdAt"] == first["createdAt"]


async def test_an_expunged_type_is_not_there_any_more(client: httpx.AsyncClient) -> None:
    await made(client, "order.paid")
    way = f"{WAY}/order.paid"
    assert (await client.delete(way, params={"expunge": "true"})).status_code == 204
    for method in ("GET", "DELETE", "PATCH"):
        answer = await client.request(method, way, json={})
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert (await client.delete(way, params={"expunge": "true"})).status_code == 404


async def test_putting_makes_it_anew_or_makes_it(client: httpx.AsyncClient) -> None:
    way = f"{WAY}/order.paid"
    told = {"description": "one", "schemas": SCHEMAS, "validatePayload": True}
    first = await client.put(way, json=told)
    assert (first.status_code, first.json()["name"]) == (201, "order.paid")
    second = await client.put(way, json={"description": "two", "featureFlag": "beta"})
    assert second.status_code == 200
    assert (second.json()["schemas"], second.json()["featureFlags"]) == (None, ["beta"])
    assert second.json()["validatePayload"] is True  # only tarry knows of it
    assert second.json()["createdAt"] == first.json()["createdAt"]
    answer = await client.put(f"{WAY}/a%20b", json={"description": ""})
    assert answer.status_code == 422


NULLABLE: dict[str, tuple[Any, Any, Any]] = {
    "schemas": (SCHEMAS, {}, None),
    "featureFlags": (["a"], ["b", "c"], None),
    "featureFlag": ("a", "b", None),
    "groupName": ("a", "b", None),
    "validatePayload": (True, True, False),
}


@pytest.mark.parametrize("field", NULLABLE)
async def test_patching_what_may_be_null(client: httpx.AsyncClient, field: str) -> None:
    old, other, nothing = NULLABLE[field]
    await made(client, "order.paid", **{field: old})
    way = f"{WAY}/order.paid"
    assert (await client.patch(way, json={})).json()[field] == old
    assert (await client.patch(way, json={field: other})).json()[field] == other
    assert (await client.patch(way, json={field: None})).json()[field] == nothing
    assert (await client.get(way)).json()[field] == nothing


@pytest.mark.parametrize(
    ("field", "value"), [("description", "other"), ("archived", True), ("deprecated", True)]
)
async def test_patching_what_may_not_be_null(
    client: httpx.AsyncClient, field: str, value: object
) -> None:
    new = await made(client, "order.paid")
    way = f"{WAY}/order.paid"
    assert (await client.patch(way, json={})).json()[field] == new[field]
    assert (await client.patch(way, json={field: value})).json()[field] == value
    assert (await client.patch(way, json={field: None})).status_code == 422


async def test_a_list_is_by_name_and_walked_both_ways(client: httpx.AsyncClient) -> None:
    names = ["a", "b.1", "b.2", "c", "d"]
    for name in reversed(names):
        await made(client, name, schemas=SCHEMAS, archived=name == "c")

    async def ask(**query: Any) -> tuple[list[str], dict[str, Any]]:  # noqa: ANN401  a query
        told = (await client.get(WAY, params={"limit": 2, **query})).json()
        return [one["name"] for one in told["data"]], told

    first, told = await ask()
    assert (first, told["done"]) == (["a", "b.1"], False)
    second, told = await ask(iterator=told["iterator"])
    assert (second, told["done"]) == (["b.2", "d"], True)
    assert (await ask(iterator=told["prevIterator"]))[0] == first
    assert (await ask(order="descending"))[0] == ["d", "b.2"]
    assert (await ask(limit=9, include_archived="true"))[0] == names
    _, bare = await ask()
    _, full = await ask(with_content="true")
    assert (bare["data"][0]["schemas"], full["data"][0]["schemas"]) == (None, SCHEMAS)


async def test_tenants_do_not_see_what_is_behind_a_flag(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    for number in range(6):
        await made(client, f"kind.{number}", featureFlags=["beta"] if number in {1, 2, 3} else None)
    shop = await hooks.application("shop")
    token, _ = await hooks.make_key((Scope.VIEW_BASE,), application=shop.id)
    theirs = {"authorization": f"Bearer {token}"}

    async def ask(**query: Any) -> tuple[list[str], dict[str, Any]]:  # noqa: ANN401  a query
        told = (await client.get(WAY, params={"limit": 2, **query}, headers=theirs)).json()
        return [one["name"] for one in told["data"]], told

    first, told = await ask()
    assert (first, told["done"]) == (["kind.0", "kind.4"], False)
    last, told = await ask(iterator=told["iterator"])
    assert (last, told["done"]) == (["kind.5"], True)
    assert (await ask(iterator=told["prevIterator"]))[0] == first
    assert (await client.get(f"{WAY}/kind.1", headers=theirs)).status_code == 404
    assert (await client.get(f"{WAY}/kind.0", headers=theirs)).status_code == 200
    assert (await client.delete(f"{WAY}/kind.0", headers=theirs)).status_code == 403


async def test_tenants_see_what_is_behind_their_own_flags(client: httpx.AsyncClient) -> None:
    for name, flags in (("a", ["beta", "eu"]), ("b", ["alpha"]), ("c", None)):
        await made(client, name, featureFlags=flags)
    way = "/api/v1/auth/app-portal-access/shop"
    token = (await client.post(way, json={"featureFlags": ["eu"]})).json()["token"]
    theirs = {"authorization": f"Bearer {token}"}
    found = (await client.get(WAY, headers=theirs)).json()["data"]
    assert [one["name"] for one in found] == ["a", "c"]
    assert (await client.get(f"{WAY}/a", headers=theirs)).status_code == 200
    assert (await client.get(f"{WAY}/b", headers=theirs)).status_code == 404


async def test_messages_fit_the_schema_of_a_type_that_says_so(client: httpx.AsyncClient) -> None:
    await made(client, "order.paid", schemas=SCHEMAS, validatePayload=True)
    way = "/api/v1/app/shop/msg"

    async def send(payload: object) -> httpx.Response:
        return await client.post(way, json={"eventType": "order.paid", "payload": payload})

    assert (await send({"id": 1})).status_code == 202
    answer = await send({"id": "one"})
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (
        422,
        ["body", "payload", "id"],
    )
    answer = await send({})
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "payload"])


async def test_a_schema_that_is_checked_with_must_not_cost_without_end(
    client: httpx.AsyncClient,
) -> None:
    recursive, light = {"1": {"not": {"$ref": "#"}}}, {"1": {"$ref": "#"}, "2": {}}
    way, told = f"{WAY}/order.paid", {"description": ""}

    async def refused(method: str, where: str, **body: object) -> None:
        answer = await client.request(method, where, json={**told, **body})
        (said,) = answer.json()["detail"]
        assert (answer.status_code, said["loc"]) == (422, ["body", "schemas", "1"])
        assert "it refers to itself; write it out" in said["msg"]

    await refused("POST", WAY, name="order.paid", schemas=recursive, validatePayload=True)
    await refused("PUT", way, schemas=recursive, validatePayload=True)
    await made(client, "order.paid", schemas=recursive)  # people may read it
    await refused("PATCH", way, validatePayload=True)
    for schemas in (light, {}, None):
        answer = await client.patch(way, json={"validatePayload": True, "schemas": schemas})
        assert answer.status_code == 200
    await refused("PATCH", way, schemas=recursive)
    await refused("PUT", way, schemas=recursive)
    answer = await client.patch(way, json={"validatePayload": False, "schemas": recursive})
    assert answer.status_code == 200


async def test_messages_of_other_types_may_be_anything(client: httpx.AsyncClient) -> None:
    await made(client, "order.paid", schemas=SCHEMAS)
    way = "/api/v1/app/shop/msg"
    for name in ("order.paid", "unheard.of"):
        answer = await client.post(way, json={"eventType": name, "payload": {}})
        assert answer.status_code == 202


async def test_a_request_that_came_before_is_answered_as_before(client: httpx.AsyncClient) -> None:
    body, key = {"name": "a", "description": "b"}, {"idempotency-key": "once"}
    first, second = [await client.post(WAY, json=body, headers=key) for _ in range(2)]
    assert (first.status_code, first.json()) == (second.status_code, second.json())
