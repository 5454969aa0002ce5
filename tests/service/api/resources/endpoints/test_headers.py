from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.anyio

APP = "/api/v1/app/shop"


@pytest.fixture
async def way(client: httpx.AsyncClient) -> str:
    """Where an endpoint's headers are."""
    (one,) = (await client.get(f"{APP}/endpoint")).json()["data"]
    return f"{APP}/endpoint/{one['id']}/headers"


async def put(client: httpx.AsyncClient, way: str, headers: dict[str, str]) -> None:
    answer = await client.put(way, json={"headers": headers})
    assert (answer.status_code, answer.content) == (204, b"")


async def told(client: httpx.AsyncClient, way: str) -> dict[str, str]:
    found: dict[str, str] = (await client.get(way)).json()["headers"]
    return found


async def test_headers_are_set_all_at_once(client: httpx.AsyncClient, way: str) -> None:
    assert (await client.get(way)).json() == {"headers": {}, "sensitive": []}
    await put(client, way, {"x-one": "1", "X-Two": "2"})
    assert await told(client, way) == {"x-one": "1", "X-Two": "2"}
    await put(client, way, {"x-three": "3"})
    assert await told(client, way) == {"x-three": "3"}
    await put(client, way, {})
    assert await told(client, way) == {}


async def test_what_opens_doors_is_not_shown_again(client: httpx.AsyncClient, way: str) -> None:
    names = ["Authorization", "X-API-Key", "x-auth-token", "WWW-Authenticate"]
    await put(client, way, {"x-plain": "1", **dict.fromkeys(names, "hush")})
    found = (await client.get(way)).json()
    assert found == {"headers": {"x-plain": "1"}, "sensitive": sorted(names)}


async def test_a_patch_sets_some_and_takes_some_away(client: httpx.AsyncClient, way: str) -> None:
    patches: list[tuple[dict[str, Any], dict[str, str]]] = [
        ({"headers": {"x-a": "1", "x-none": None}}, {"x-a": "1"}),
        ({"headers": {"x-b": "2", "X-A": "3"}}, {"x-b": "2", "X-A": "3"}),
        ({"headers": {}}, {"x-b": "2", "X-A": "3"}),
        ({"headers": {"x-a": None}}, {"x-b": "2"}),
        ({"headers": {"x-c": "4"}, "deleteHeaders": ["X-B"]}, {"x-c": "4"}),
        ({"headers": {}, "deleteHeaders": None}, {"x-c": "4"}),
        ({"headers": {"x-d": "5"}}, {"x-c": "4", "x-d": "5"}),
        ({"headers": None, "deleteHeaders": ["x-d"]}, {"x-c": "4"}),
        ({"deleteHeaders": ["x-c"]}, {}),
    ]
    for patch, left in patches:
        answer = await client.patch(way, json=patch)
        assert (answer.status_code, answer.content) == (204, b""), answer.text
        assert await told(client, way) == left


@pytest.mark.parametrize(
    "name",
    [
        "content-length",
        "some:thing",
        "some\0thing",
        "svix-foo",
        "x-svix-foo",
        "x-amzn-foo",
        "webhook-id",
        "Transfer-Encoding",
        "host",
        "",
    ],
)
async def test_headers_that_are_not_the_owners_to_set_are_refused(
    client: httpx.AsyncClient, way: str, name: str
) -> None:
    for method in ("PUT", "PATCH"):
        answer = await client.request(method, way, json={"headers": {name: "123"}})
        assert answer.status_code == 422, answer.text
        assert answer.json()["detail"][0]["loc"][:2] == ["body", "headers"]


async def test_a_value_of_two_lines_is_refused_and_not_repeated(
    client: httpx.AsyncClient, way: str
) -> None:
    answer = await client.put(way, json={"headers": {"x-a": "hush\r\nx-b: 1"}})
    assert answer.status_code == 422
    assert "hush" not in answer.text


async def test_headers_go_out_with_every_message(live: Any) -> None:  # noqa: ANN401  see conftest
    told = {"url": live.receiver.url, "headers": {"X-Custom": "one", "Authorization": "hush"}}
    new = (await live.client.post(f"{APP}/endpoint", json=told)).json()
    message = {"eventType": "order.paid", "payload": {}}
    await live.client.post(f"{APP}/msg", json=message)
    (first,) = await live.arrived(1)
    assert (first.header("x-custom"), first.header("authorization")) == ("one", "hush")
    patch = {"headers": {"x-custom": "two", "authorization": None}}
    await live.client.patch(f"{APP}/endpoint/{new['id']}/headers", json=patch)
    await live.client.post(f"{APP}/msg", json=message)
    _, second = await live.arrived(2)
    assert (second.header("x-custom"), second.header("authorization")) == ("two", "")
