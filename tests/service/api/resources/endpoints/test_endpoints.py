from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from tarry.service.hooks import Hooks
from tarry.service.model.endpoint import Standing
from tarry.service.model.event_type import EventType
from tarry.service.model.key import Scope
from tarry.service.model.listing import Cut
from tarry.service.store.kinds import Endpoints, EventTypes

pytestmark = pytest.mark.anyio

PATH = "/api/v1/app/shop/endpoint"
URL = "https://example.com/there"


async def created(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:  # noqa: ANN401  JSON
    answer = await client.post(PATH, json={"url": URL, **fields})
    assert answer.status_code == 201, answer.text
    body: dict[str, Any] = answer.json()
    return body


@pytest.fixture
async def types(hooks: Hooks) -> tuple[str, ...]:
    """Types of events that are there, and one that is archived."""
    names = ("order.paid", "order.sent", "order.old")
    for name in names:
        kind = EventType(
            environment=hooks.environment,
            name=name,
            description="",
            archived=name == "order.old",
            created_at=1.0,
            updated_at=1.0,
        )
        await hooks.store.create(kind)
    return names


async def test_an_endpoint_is_made_and_found_by_id_and_uid(
    client: httpx.AsyncClient, types: tuple[str, ...]
) -> None:
    fields = {
        "uid": "main",
        "description": "the one",
        "eventTypes": list(types[:2]),
        "channels": ["a", "b"],
        "throttleRate": 7,
        "metadata": {"plan": "pro"},
        "version": 1,
    }
    new = await created(client, **fields)
    assert new["id"].startswith("ep_")
    assert {name: new[name] for name in fields} == fields
    assert (new["url"], new["disabled"], new["standing"]) == (URL, False, "enabled")
    assert (new["rateLimit"], new["filterTypes"]) == (7, new["eventTypes"])
    assert "secret" not in new
    for name_in_path in (new["id"], "main"):
        assert (await client.get(f"{PATH}/{name_in_path}")).json() == new


async def test_what_is_left_out_has_its_usual_value(client: httpx.AsyncClient) -> None:
    new = await created(client)
    absent = {name: new[name] for name in ("uid", "eventTypes", "channels", "throttleRate")}
    assert set(absent.values()) == {None}
    assert (new["description"], new["metadata"], new["version"]) == ("", {}, 1)
    assert (new["fifo"], new["blocking"], new["concurrency"]) == (False, False, None)


async def test_older_names_of_fields_are_read(
    client: httpx.AsyncClient, types: tuple[str, ...]
) -> None:
    new = await created(client, rateLimit=9, filterTypes=[types[0], types[0]])
    assert (new["throttleRate"], new["eventTypes"]) == (9, [types[0]])
    fields = {"rateLimit": None, "filterTypes": None}
    changed = (await client.patch(f"{PATH}/{new['id']}", json=fields)).json()
    assert (changed["throttleRate"], changed["eventTypes"]) == (None, None)


@pytest.mark.parametrize(
    ("fields", "loc"),
    [
        ({}, ["body", "url"]),
        ({"url": ""}, ["body", "url"]),
        ({"url": "example.com/in"}, ["body", "url"]),
        ({"url": "gopher://example.com"}, ["body", "url"]),
        ({"url": "http://[:::1]"}, ["body", "url"]),
        ({"url": "http://127.0.0.1/in"}, ["body", "url"]),
        ({"url": URL, "uid": "a b"}, ["body", "uid"]),
        ({"url": URL, "uid": "ep_2srLA0nTDcLVjNTc8YYKnpKbgcX"}, ["body", "uid"]),
        ({"url": URL, "eventTypes": []}, ["body", "eventTypes"]),
        ({"url": URL, "eventTypes": ["&&"]}, ["body", "eventTypes", "0"]),
        ({"url": URL, "eventTypes": ["order.paid", "nope"]}, ["body", "eventTypes"]),
        ({"url": URL, "eventTypes": ["order.old"]}, ["body", "eventTypes"]),
        ({"url": URL, "channels": []}, ["body", "channels"]),
        ({"url": URL, "channels": list("abcdefghijk")}, ["body", "channels"]),
        ({"url": URL, "throttleRate": 0}, ["body", "throttleRate"]),
        ({"url": URL, "version": 0}, ["body", "version"]),
        ({"url": URL, "secret": "whsec_short"}, ["body", "secret"]),
        (
            {"url": URL, "secret": "hwsec_C2FVsBQIhrscChlQIM+b5sSYspob7oDazfgh"},
            ["body", "secret"],
        ),
        ({"url": URL, "headers": {"svix-id": "mine"}}, ["body", "headers"]),
        ({"url": URL, "standing": "parked"}, ["body", "standing"]),
        ({"url": URL, "concurrency": 0}, ["body", "concurrency"]),
        ({"url": URL, "description": "a\0b"}, ["body", "description"]),
    ],
)
@pytest.mark.usefixtures("types")
async def test_what_cannot_be_is_refused_with_its_place(
    client: httpx.AsyncClient, fields: dict[str, Any], loc: list[str]
) -> None:
    for method, path in (("POST", PATH), ("PUT", f"{PATH}/new")):
        if method == "PUT" and "headers" in fields:
            continue
        answer = await client.request(method, path, json=fields)
        assert answer.status_code == 422, answer.text
        assert answer.json()["detail"][0]["loc"] == loc
    assert len((await client.get(PATH)).json()["data"]) == 1


async def test_types_that_are_not_there_are_said_to_be_made_first(
    client: httpx.AsyncClient, types: tuple[str, ...]
) -> None:
    fields = {"url": URL, "eventTypes": [types[0], "order.lost"]}
    (wrong,) = (await client.post(PATH, json=fields)).json()["detail"]
    assert wrong["loc"] == ["body", "eventTypes"]
    assert "order.lost; create them first: POST /api/v1/event-type" in wrong["msg"]
    assert types[0] not in wrong["msg"]


async def test_tenants_do_not_learn_of_types_that_they_do_not_see(
    client: httpx.AsyncClient, hooks: Hooks, types: tuple[str, ...]
) -> None:
    hidden, other, _ = types
    for name in (hidden, other):
        await hooks.store.change(
            EventTypes(hooks.environment), name, lambda kind: replace(kind, feature_flags=("beta",))
        )
    await created(client, uid="main", eventTypes=[hidden])
    shop = await hooks.application("shop")
    token, _ = await hooks.make_key((Scope.MANAGE_ENDPOINT,), application=shop.id)
    headers = {"authorization": f"Bearer {token}"}

    async def request(method: str, path: str, *names: str) -> httpx.Response:
        fields = {"url": URL, "uid": "main", "eventTypes": names}
        return await client.request(method, path, json=fields, headers=headers)

    for method, path in (("POST", PATH), ("PUT", f"{PATH}/new"), ("PATCH", f"{PATH}/main")):
        hidden_type, absent = (
            await request(method, path, other),
            await request(method, path, "order.lost"),
        )
        assert hidden_type.status_code == absent.status_code == 422
        assert hidden_type.text == absent.text.replace("order.lost", other)
    for method in ("PUT", "PATCH"):  # what it has it may keep
        assert (await request(method, f"{PATH}/main", hidden)).status_code == 200
    answer = await client.post(PATH, json={"url": URL, "eventTypes": [hidden]})
    assert answer.status_code == 201


async def test_a_uid_is_given_once_in_an_application(client: httpx.AsyncClient) -> None:
    first = await created(client, uid="main")
    other = await created(client, uid="other")
    assert (await client.post(PATH, json={"url": URL, "uid": "main"})).status_code == 409
    path = f"{PATH}/{other['id']}"
    assert (await client.patch(path, json={"uid": "main"})).status_code == 409
    assert (await client.put(path, json={"url": URL, "uid": "main"})).status_code == 409
    await client.post("/api/v1/app", json={"name": "x", "uid": "mill"})
    elsewhere = {"url": URL, "uid": "main"}
    assert (await client.post("/api/v1/app/mill/endpoint", json=elsewhere)).status_code == 201
    assert (await client.delete(f"{PATH}/{first['id']}")).status_code == 204
    assert (await client.patch(path, json={"uid": "main"})).json()["uid"] == "main"


async def test_putting_makes_it_anew_or_makes_it(client: httpx.AsyncClient) -> None:
    first = await client.put(f"{PATH}/main", json={"url": URL, "uid": "main", "throttleRate": 3})
    assert first.status_code == 201
    fields = {"url": "https://example.com/else", "uid": "main", "metadata": {"a": "b"}}
    second = await client.put(f"{PATH}/main", json=fields)
    assert (second.status_code, second.json()["id"]) == (200, first.json()["id"])
    assert (second.json()["url"], second.json()["throttleRate"]) == (fields["url"], None)
    third = await client.put(f"{PATH}/{first.json()['id']}", json={"url": URL})
    assert (third.json()["uid"], third.json()["metadata"]) == (None, {})


async def test_what_cannot_be_a_name_is_not_made(client: httpx.AsyncClient) -> None:
    for name in ("a b", "x" * 257):
        answer = await client.put(f"{PATH}/{name}", json={"url": URL})
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_putting_leaves_alone_what_only_tarry_knows(client: httpx.AsyncClient) -> None:
    new = await created(client, fifo=True, blocking=True, concurrency=4)
    again = (await client.put(f"{PATH}/{new['id']}", json={"url": URL})).json()
    assert (again["fifo"], again["blocking"], again["concurrency"]) == (True, True, 4)


NULLABLE: dict[str, tuple[Any, Any]] = {
    "uid": ("main", "other"),
    "eventTypes": (["order.paid"], ["order.sent"]),
    "channels": (["a"], ["b", "c"]),
    "throttleRate": (7, 8),
    "concurrency": (3, 4),
}


@pytest.mark.parametrize("field", NULLABLE)
@pytest.mark.usefixtures("types")
async def test_patching_what_may_be_null(client: httpx.AsyncClient, field: str) -> None:
    old, other = NULLABLE[field]
    new = await created(client, **{field: old})
    path = f"{PATH}/{new['id']}"
    assert (await client.patch(path, json={})).json()[field] == old
    assert (await client.patch(path, json={field: other})).json()[field] == other
    assert (await client.patch(path, json={field: None})).json()[field] is None
    assert (await client.get(path)).json()[field] is None


FIXED: dict[str, tuple[Any, Any]] = {
    "url": (URL, "https://example.com/else"),
    "description": ("one", ""),
    "disabled": (False, True),
    "fifo": (False, True),
    "blocking": (False, True),
}


@pytest.mark.parametrize("field", FIXED)
async def test_patching_what_may_not_be_null(client: httpx.AsyncClient, field: str) -> None:
    old, other = FIXED[field]
    new = await created(client, **{field: old})
    path = f"{PATH}/{new['id']}"
    assert (await client.patch(path, json={})).json()[field] == old
    assert (await client.patch(path, json={field: other})).json()[field] == other
    assert (await client.patch(path, json={field: None})).status_code == 422


async def test_metadata_is_emptied_by_null(client: httpx.AsyncClient) -> None:
    new = await created(client, metadata={"a": "b"})
    path = f"{PATH}/{new['id']}"
    assert (await client.patch(path, json={})).json()["metadata"] == {"a": "b"}
    assert (await client.patch(path, json={"metadata": None})).json()["metadata"] == {}


async def test_patching_refuses_what_cannot_be(client: httpx.AsyncClient) -> None:
    new = await created(client)
    refused: list[dict[str, Any]] = [{"url": "nope"}, {"eventTypes": ["nope"]}, {"channels": []}]
    for fields in refused:
        answer = await client.patch(f"{PATH}/{new['id']}", json=fields)
        assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", *fields])


@pytest.mark.parametrize(
    ("stood", "fields", "stands"),
    [
        (Standing.PARKED, {}, ("parked", True)),
        (Standing.PARKED, {"description": "x"}, ("parked", True)),
        (Standing.PARKED, {"disabled": True}, ("parked", True)),
        (Standing.PARKED, {"disabled": False}, ("enabled", False)),
        (Standing.PAUSED, {"description": "x"}, ("paused", False)),
        (Standing.PAUSED, {"disabled": True}, ("disabled", True)),
        (Standing.PAUSED, {"disabled": False}, ("enabled", False)),
        (Standing.DISABLED, {"disabled": False}, ("enabled", False)),
        (Standing.ENABLED, {"standing": "paused"}, ("paused", False)),
        (Standing.PARKED, {"standing": "disabled"}, ("disabled", True)),
    ],
)
async def test_how_an_endpoint_stands_after_a_patch(
    client: httpx.AsyncClient,
    hooks: Hooks,
    stood: Standing,
    fields: dict[str, Any],
    stands: tuple[str, bool],
) -> None:
    shop = await hooks.application("shop")
    (stored,) = (await hooks.store.page(Endpoints(shop.id), Cut())).entries
    await hooks.store.put(replace(stored, standing=stood))
    changed = (await client.patch(f"{PATH}/{stored.id}", json=fields)).json()
    assert (changed["standing"], changed["disabled"]) == stands


async def test_putting_enables_a_parked_endpoint_unless_it_says_disabled(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    shop = await hooks.application("shop")
    (stored,) = (await hooks.store.page(Endpoints(shop.id), Cut())).entries
    parked = await hooks.store.put(replace(stored, standing=Standing.PARKED))
    path = f"{PATH}/{parked.id}"
    same = await client.put(path, json={"url": URL, "disabled": True})
    assert same.json()["standing"] == "parked"
    assert (await client.put(path, json={"url": URL})).json()["standing"] == "enabled"


@pytest.mark.parametrize(
    ("fields", "stands"),
    [
        ({}, "paused"),
        ({"disabled": False}, "paused"),
        ({"disabled": True}, "disabled"),
        ({"standing": "enabled"}, "enabled"),
    ],
)
async def test_putting_leaves_an_endpoint_paused_unless_it_says_otherwise(
    client: httpx.AsyncClient, fields: dict[str, Any], stands: str
) -> None:
    path = f"{PATH}/{(await created(client))['id']}"
    assert (await client.post(f"{path}/pause")).json()["standing"] == "paused"
    assert (await client.put(path, json={"url": URL, **fields})).json()["standing"] == stands


async def test_a_deleted_endpoint_is_not_there_any_more(client: httpx.AsyncClient) -> None:
    await created(client, uid="main")
    answer = await client.delete(f"{PATH}/main")
    assert (answer.status_code, answer.content) == (204, b"")
    for method in ("GET", "DELETE", "PATCH"):
        answer = await client.request(method, f"{PATH}/main", json={})
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_a_list_begins_with_the_newest_and_is_walked_both_ways(
    client: httpx.AsyncClient,
) -> None:
    ids = [endpoint["id"] for endpoint in (await client.get(PATH)).json()["data"]]
    ids += [(await created(client))["id"] for _ in range(4)]

    async def read_page(**query: Any) -> tuple[list[str], dict[str, Any]]:  # noqa: ANN401  a query
        page = (await client.get(PATH, params={"limit": 2, **query})).json()
        return [endpoint["id"] for endpoint in page["data"]], page

    first, page = await read_page()
    assert (first, page["done"]) == (ids[:2:-1], False)
    second, page = await read_page(iterator=page["iterator"])
    assert (second, page["done"]) == (ids[2:0:-1], False)
    back, before = await read_page(iterator=page["prevIterator"])
    assert (back, before["done"]) == (first, True)
    assert (await read_page(order="ascending"))[0] == ids[:2]


async def test_a_request_that_came_before_makes_no_second_endpoint(
    client: httpx.AsyncClient,
) -> None:
    key = {"idempotency-key": "once"}
    first, second = [await client.post(PATH, json={"url": URL}, headers=key) for _ in range(2)]
    assert first.json() == second.json()
    assert len((await client.get(PATH)).json()["data"]) == 2
