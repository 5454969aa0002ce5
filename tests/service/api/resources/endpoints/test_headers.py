from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.anyio

APP = "/api/v1/app/shop"


@pytest.fixture
async def url_path(client: httpx.AsyncClient) -> str:
    """Where an endpoint's headers are."""
    (endpoint,) = (await client.get(f"{APP}/endpoint")).json()["data"]
    return f"{APP}/endpoint/{endpoint['id']}/headers"


async def put(client: httpx.AsyncClient, url_path: str, headers: dict[str, str]) -> None:
    answer = await client.put(url_path, json={"headers": headers})
    assert (answer.status_code, answer.content) == (204, b"")


async def headers_at(client: httpx.AsyncClient, url_path: str) -> dict[str, str]:
    headers: dict[str, str] = (await client.get(url_path)).json()["headers"]
    return headers


async def test_headers_are_set_all_at_once(client: httpx.AsyncClient, url_path: str) -> None:
    assert (await client.get(url_path)).json() == {"headers": {}, "sensitive": []}
    await put(client, url_path, {"x-one": "1", "X-Two": "2"})
    assert await headers_at(client, url_path) == {"x-one": "1", "X-Two": "2"}
    await put(client, url_path, {"x-three": "3"})
    assert await headers_at(client, url_path) == {"x-three": "3"}
    await put(client, url_path, {})
    assert await headers_at(client, url_path) == {}


async def test_what_opens_doors_is_not_shown_again(
    client: httpx.AsyncClient, url_path: str
) -> None:
    names = ["Authorization", "X-API-Key", "x-auth-token", "WWW-Authenticate"]
    await put(client, url_path, {"x-plain": "1", **dict.fromkeys(names, "hush")})
    shown = (await client.get(url_path)).json()
    assert shown == {"headers": {"x-plain": "1"}, "sensitive": sorted(names)}


async def test_a_patch_sets_some_and_takes_some_away(
    client: httpx.AsyncClient, url_path: str
) -> None:
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
    for patch, remaining in patches:
        answer = await client.patch(url_path, json=patch)
        assert (answer.status_code, answer.content) == (204, b""), answer.text
        assert await headers_at(client, url_path) == remaining


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
    client: httpx.AsyncClient, url_path: str, name: str
) -> None:
    for method in ("PUT", "PATCH"):
        answer = await client.request(method, url_path, json={"headers": {name: "123"}})
        assert answer.status_code == 422, answer.text
        assert answer.json()["detail"][0]["loc"][:2] == ["body", "headers"]


async def test_a_value_of_two_lines_is_refused_and_not_repeated(
    client: httpx.AsyncClient, url_path: str
) -> None:
    answer = await client.put(url_path, json={"headers": {"x-a": "hush\r\nx-b: 1"}})
    assert answer.status_code == 422
    assert "hush" not in answer.text


async def test_headers_go_out_with_every_message(live: Any) -> None:  # noqa: ANN401  see conftest
    headers_at = {"url": live.receiver.url, "headers": {"X-Custom": "one", "Authorization": "hush"}}
    new = (await live.client.post(f"{APP}/endpoint", json=headers_at)).json()
    message = {"eventType": "order.paid", "payload": {}}
    await live.client.post(f"{APP}/msg", json=message)
    (first,) = await live.arrived(1)
    assert (first.header("x-custom"), first.header("authorization")) == ("one", "hush")
    patch = {"headers": {"x-custom": "two", "authorization": None}}
    await live.client.patch(f"{APP}/endpoint/{new['id']}/headers", json=patch)
    await live.client.post(f"{APP}/msg", json=message)
    _, second = await live.arrived(2)
    assert (second.header("x-custom"), second.header("authorization")) == ("two", "")
