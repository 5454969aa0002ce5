from typing import Any

import httpx
import pytest

from tarry.service.hooks import Hooks
from tarry.service.model.key import Scope

pytestmark = pytest.mark.anyio

PATH = "/api/v1/event-type"
SCHEMAS = {"1": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}}


async def created(client: httpx.AsyncClient, name: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401  JSON
    answer = await client.post(PATH, json={"name": name, "description": "it happened", **fields})
    assert answer.status_code == 201, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def test_a_type_of_events_is_made_and_found(client: httpx.AsyncClient) -> None:
    fields = {
        "archived": False,
        "deprecated": True,
        "schemas": SCHEMAS,
        "featureFlags": ["beta", "eu"],
        "groupName": "order",
        "validatePayload": True,
    }
    new = await created(client, "order.paid", **fields)
    assert {name: new[name] for name in fields} == fields
    assert (new["name"], new["featureFlag"]) == ("order.paid", "beta")
    assert (await client.get(f"{PATH}/order.paid")).json() == new
    assert (await client.get(f"{PATH}/order.lost")).status_code == 404


async def test_what_is_left_out_has_its_usual_value(client: httpx.AsyncClient) -> None:
    new = await created(client, "order.paid")
    absent = {new[name] for name in ("schemas", "featureFlags", "featureFlag", "groupName")}
    assert absent == {None}
    assert {new[name] for name in ("archived", "deprecated", "validatePayload")} == {False}


@pytest.mark.parametrize(
    ("fields", "loc"),
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
    client: httpx.AsyncClient, fields: dict[str, Any], loc: list[str]
) -> None:
    answer = await client.post(PATH, json=fields)
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, loc)


async def test_a_name_is_taken_until_it_is_archived(client: httpx.AsyncClient) -> None:
    first = await created(client, "order.paid", schemas=SCHEMAS)
    again = {"name": "order.paid", "description": "anew"}
    refused = await client.post(PATH, json=again)
    assert (refused.status_code, refused.json()["code"]) == (409, "event_type_exists")
    assert (await client.delete(f"{PATH}/order.paid")).status_code == 204
    assert (await client.get(f"{PATH}/order.paid")).json()["archived"] is True
    anew = await created(client, "order.paid", description="anew")
    assert (anew["archived"], anew["description"], anew["schemas"]) == (False, "anew", None)
    assert anew["createdAt"] == first["createdAt"]


async def test_an_expunged_type_is_not_there_any_more(client: httpx.AsyncClient) -> None:
    await created(client, "order.paid")
    path = f"{PATH}/order.paid"
    assert (await client.delete(path, params={"expunge": "true"})).status_code == 204
    for method in ("GET", "DELETE", "PATCH"):
        answer = await client.request(method, path, json={})
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert (await client.delete(path, params={"expunge": "true"})).status_code == 404


async def test_putting_makes_it_anew_or_makes_it(client: httpx.AsyncClient) -> None:
    path = f"{PATH}/order.paid"
    fields = {"description": "one", "schemas": SCHEMAS, "validatePayload": True}
    first = await client.put(path, json=fields)
    assert (first.status_code, first.json()["name"]) == (201, "order.paid")
    second = await client.put(path, json={"description": "two", "featureFlag": "beta"})
    assert second.status_code == 200
    assert (second.json()["schemas"], second.json()["featureFlags"]) == (None, ["beta"])
    assert second.json()["validatePayload"] is True  # only tarry knows of it
    assert second.json()["createdAt"] == first.json()["createdAt"]
    answer = await client.put(f"{PATH}/a%20b", json={"description": ""})
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
    await created(client, "order.paid", **{field: old})
    path = f"{PATH}/order.paid"
    assert (await client.patch(path, json={})).json()[field] == old
    assert (await client.patch(path, json={field: other})).json()[field] == other
    assert (await client.patch(path, json={field: None})).json()[field] == nothing
    assert (await client.get(path)).json()[field] == nothing


@pytest.mark.parametrize(
    ("field", "value"), [("description", "other"), ("archived", True), ("deprecated", True)]
)
async def test_patching_what_may_not_be_null(
    client: httpx.AsyncClient, field: str, value: object
) -> None:
    new = await created(client, "order.paid")
    path = f"{PATH}/order.paid"
    assert (await client.patch(path, json={})).json()[field] == new[field]
    assert (await client.patch(path, json={field: value})).json()[field] == value
    assert (await client.patch(path, json={field: None})).status_code == 422


async def test_a_list_is_by_name_and_walked_both_ways(client: httpx.AsyncClient) -> None:
    names = ["a", "b.1", "b.2", "c", "d"]
    for name in reversed(names):
        await created(client, name, schemas=SCHEMAS, archived=name == "c")

    async def read_page(**query: Any) -> tuple[list[str], dict[str, Any]]:  # noqa: ANN401  a query
        page = (await client.get(PATH, params={"limit": 2, **query})).json()
        return [event_type["name"] for event_type in page["data"]], page

    first, page = await read_page()
    assert (first, page["done"]) == (["a", "b.1"], False)
    second, page = await read_page(iterator=page["iterator"])
    assert (second, page["done"]) == (["b.2", "d"], True)
    assert (await read_page(iterator=page["prevIterator"]))[0] == first
    assert (await read_page(order="descending"))[0] == ["d", "b.2"]
    assert (await read_page(limit=9, include_archived="true"))[0] == names
    _, bare = await read_page()
    _, full = await read_page(with_content="true")
    assert (bare["data"][0]["schemas"], full["data"][0]["schemas"]) == (None, SCHEMAS)


async def test_tenants_do_not_see_what_is_behind_a_flag(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    for number in range(6):
        await created(
            client, f"kind.{number}", featureFlags=["beta"] if number in {1, 2, 3} else None
        )
    shop = await hooks.application("shop")
    token, _ = await hooks.make_key((Scope.VIEW_BASE,), application=shop.id)
    theirs = {"authorization": f"Bearer {token}"}

    async def read_page(**query: Any) -> tuple[list[str], dict[str, Any]]:  # noqa: ANN401  a query
        page = (await client.get(PATH, params={"limit": 2, **query}, headers=theirs)).json()
        return [event_type["name"] for event_type in page["data"]], page

    first, page = await read_page()
    assert (first, page["done"]) == (["kind.0", "kind.4"], False)
    last, page = await read_page(iterator=page["iterator"])
    assert (last, page["done"]) == (["kind.5"], True)
    assert (await read_page(iterator=page["prevIterator"]))[0] == first
    assert (await client.get(f"{PATH}/kind.1", headers=theirs)).status_code == 404
    assert (await client.get(f"{PATH}/kind.0", headers=theirs)).status_code == 200
    assert (await client.delete(f"{PATH}/kind.0", headers=theirs)).status_code == 403


async def test_tenants_see_what_is_behind_their_own_flags(client: httpx.AsyncClient) -> None:
    for name, flags in (("a", ["beta", "eu"]), ("b", ["alpha"]), ("c", None)):
        await created(client, name, featureFlags=flags)
    path = "/api/v1/auth/app-portal-access/shop"
    token = (await client.post(path, json={"featureFlags": ["eu"]})).json()["token"]
    theirs = {"authorization": f"Bearer {token}"}
    event_types = (await client.get(PATH, headers=theirs)).json()["data"]
    assert [event_type["name"] for event_type in event_types] == ["a", "c"]
    assert (await client.get(f"{PATH}/a", headers=theirs)).status_code == 200
    assert (await client.get(f"{PATH}/b", headers=theirs)).status_code == 404


async def test_messages_fit_the_schema_of_a_type_that_says_so(client: httpx.AsyncClient) -> None:
    await created(client, "order.paid", schemas=SCHEMAS, validatePayload=True)
    path = "/api/v1/app/shop/msg"

    async def send(payload: object) -> httpx.Response:
        return await client.post(path, json={"eventType": "order.paid", "payload": payload})

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
    path, fields = f"{PATH}/order.paid", {"description": ""}

    async def refused(method: str, where: str, **body: object) -> None:
        answer = await client.request(method, where, json={**fields, **body})
        (error,) = answer.json()["detail"]
        assert (answer.status_code, error["loc"]) == (422, ["body", "schemas", "1"])
        assert "it refers to itself; write it out" in error["msg"]

    await refused("POST", PATH, name="order.paid", schemas=recursive, validatePayload=True)
    await refused("PUT", path, schemas=recursive, validatePayload=True)
    await created(client, "order.paid", schemas=recursive)  # people may read it
    await refused("PATCH", path, validatePayload=True)
    for schemas in (light, {}, None):
        answer = await client.patch(path, json={"validatePayload": True, "schemas": schemas})
        assert answer.status_code == 200
    await refused("PATCH", path, schemas=recursive)
    await refused("PUT", path, schemas=recursive)
    answer = await client.patch(path, json={"validatePayload": False, "schemas": recursive})
    assert answer.status_code == 200


async def test_messages_of_other_types_may_be_anything(client: httpx.AsyncClient) -> None:
    await created(client, "order.paid", schemas=SCHEMAS)
    path = "/api/v1/app/shop/msg"
    for name in ("order.paid", "unheard.of"):
        answer = await client.post(path, json={"eventType": name, "payload": {}})
        assert answer.status_code == 202


async def test_a_request_that_came_before_is_answered_as_before(client: httpx.AsyncClient) -> None:
    body, key = {"name": "a", "description": "b"}, {"idempotency-key": "once"}
    first, second = [await client.post(PATH, json=body, headers=key) for _ in range(2)]
    assert (first.status_code, first.json()) == (second.status_code, second.json())


@pytest.mark.parametrize("order", ["ascending", "descending"])
async def test_a_page_with_schemas_ends_at_eight_megabytes_and_the_next_one_continues(
    client: httpx.AsyncClient, hooks: Hooks, order: str
) -> None:
    shop = await hooks.application("shop")
    token, _ = await hooks.make_key((Scope.VIEW_BASE,), application=shop.id)
    names = [f"big.{number:02d}" for number in range(20)]
    long = {"1": {"description": "x" * 1_000_000}}
    for number, name in enumerate(names):
        await created(client, name, schemas=long, featureFlags=["hidden"] if number % 3 else [])
    for key, seen in ((None, names), (token, names[::3])):
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        way = {"order": order, "limit": "250"}
        listed, done = await page_of(client, headers, way)
        assert (listed, done) == (seen if order == "ascending" else seen[::-1], True)
        read, sizes, iterator, done = list[str](), list[int](), "", False
        while not done:
            place = {"iterator": iterator} if iterator else {}
            query = {**way, **place, "with_content": "true"}
            answer = await client.get(PATH, params=query, headers=headers)
            page = answer.json()
            read += [event_type["name"] for event_type in page["data"]]
            sizes.append(len(answer.content))
            iterator, done = page["iterator"], page["done"]
        assert read == listed
        assert max(sizes) < 8.5 * 1024 * 1024
        assert len(sizes) == 3


async def page_of(
    client: httpx.AsyncClient, headers: dict[str, str], query: dict[str, str]
) -> tuple[list[str], bool]:
    page = (await client.get(PATH, params=query, headers=headers)).json()
    return [event_type["name"] for event_type in page["data"]], page["done"]
