"""A tenant fills the service: with endpoints, with their fields, with answers that are kept.

Measured on a `tarry serve` with an SQLite file, before these limits and with them:

| attack | before | now |
|---|---|---|
| 3,000 endpoints by one token | 3,000 created | 1,000 created, 2,000 refused |
| 300 endpoints with 900 KB of metadata each, then a message | 60 to 348 MB | all refused, +1 MB |
| the same, after they were deleted | 523 MB | |
| 1,000 endpoints with 16 KB of metadata each, then messages | | 60 to 68 MB |
| the same, after they were deleted | | 71 MB |
| 100 empty POSTs with fresh keys to an endpoint with much metadata | 101 MB kept | 2 MB kept |
| any number of them about one application | without end | 16 MiB kept in 12 hours |
"""

import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from tarry.service import Sizes, open_hooks
from tarry.service.api.http import kept_answers
from tarry.service.api.open import make_api
from tarry.service.api.server import serving as serving_api
from tarry.service.model.key import Scope
from tests.attacks.growth import MOST_GROWTH
from tests.conformance.server import SEALING, Server, serving
from tests.plain_http import PLAIN

URL = "https://example.com/in"
KEY = "let-me-in"
HUGE = {f"k{number}": "x" * 4000 for number in range(220)}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(f"sqlite:////{str(tmp_path / 'hooks.db')[1:]}", tmp_path / "log") as server:
        yield server


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A tenant's token on a service with small limits, for an application that it may fill."""
    db = f"sqlite:////{str(tmp_path / 'hooks.db')[1:]}"
    sizes = Sizes(endpoints=3, metadata=100, filters=50)
    async with (
        open_hooks(db, sizes=sizes) as hooks,
        serving_api(await make_api(hooks, KEY), "127.0.0.1:0") as url,
    ):
        shop = await hooks.application("shop")
        token, _ = await hooks.make_key((Scope.MANAGE_ENDPOINT,), application=shop.id)
        headers = {"authorization": f"Bearer {token}"}
        base = f"{url}/api/v1/app/shop"
        async with httpx.AsyncClient(base_url=base, headers=headers, **PLAIN) as client:
            yield client


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_tenant_fills_the_memory_of_a_server_with_endpoints(server: Server) -> None:
    with server.client() as client:
        client.post("/app", json={"name": "shop", "uid": "shop"})
        before = server.memory
        answers = [
            client.post("/app/shop/endpoint", json={"url": URL, "metadata": HUGE})
            for _ in range(50)
        ]
        client.post("/app/shop/msg", json={"eventType": "a", "payload": {}})
        grown = server.memory - before
        assert {answer.status_code for answer in answers} == {413}
        assert grown < MOST_GROWTH
        metadata = {"k" + str(number): "x" * 4000 for number in range(4)}
        body = {"url": URL, "metadata": metadata, "description": "x" * 4096}
        made = [client.post("/app/shop/endpoint", json=body).status_code for _ in range(1050)]
        assert (made.count(201), made.count(400)) == (1000, 50)
        for _ in range(20):
            client.post("/app/shop/msg", json={"eventType": "a", "payload": {}})
        grown = server.memory - before
        assert grown < MOST_GROWTH


@pytest.mark.anyio
async def test_endpoints_are_refused_from_the_limit_on_however_they_are_made(
    client: httpx.AsyncClient,
) -> None:
    names = list[str]()
    for number in range(3):
        made = await client.post("/endpoint", json={"url": URL, "uid": f"u{number}"})
        assert made.status_code == 201
        names.append(made.json()["id"])
    for answer in (
        await client.post("/endpoint", json={"url": URL}),
        await client.put("/endpoint/another", json={"url": URL}),
        await client.post("/endpoint", json={"url": URL}, headers={"idempotency-key": "x"}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (400, "limit_reached")
        assert "at most 3 endpoints" in answer.json()["detail"]
    changed = await client.put("/endpoint/u1", json={"url": URL, "uid": "u1"})
    assert changed.status_code == 200
    assert (await client.delete(f"/endpoint/{names[0]}")).status_code == 204
    assert (await client.post("/endpoint", json={"url": URL})).status_code == 201


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("metadata", {"a": "x" * 100}),
        ("eventTypes", [f"order.paid.{number}" for number in range(10)]),
        ("channels", ["x" * 51]),
        ("description", "x" * 5000),
        ("url", "https://example.com/" + "x" * 2100),
    ],
)
async def test_a_field_that_is_too_large_is_refused_in_every_request_that_sets_it(
    client: httpx.AsyncClient,
    field: str,
    value: object,
) -> None:
    stored = (await client.post("/endpoint", json={"url": URL, "uid": "mine"})).json()
    for method, path, body in (
        ("POST", "/endpoint", {"url": URL}),
        ("PUT", "/endpoint/mine", {"url": URL, "uid": "mine"}),
        ("PUT", "/endpoint/another", {"url": URL}),
        ("PATCH", "/endpoint/mine", {}),
    ):
        answer = await client.request(method, path, json={**body, field: value})
        assert answer.status_code == 422, (method, path)
        (error,) = answer.json()["detail"]
        assert error["loc"][:2] == ["body", field]
    assert (await client.get("/endpoint/mine")).json() == stored


@pytest.mark.anyio
async def test_headers_that_are_too_large_are_refused_in_every_request_that_sets_them(
    client: httpx.AsyncClient,
) -> None:
    await client.post("/endpoint", json={"url": URL, "uid": "mine"})
    large = {f"x-{number}": "x" * 1000 for number in range(9)}
    many = {f"x-{number}": "x" for number in range(33)}
    for headers in (large, many):
        body = {"headers": headers}
        for method, path in (("PUT", "mine/headers"), ("PATCH", "mine/headers"), ("POST", "")):
            sent = {**body, "url": URL} if method == "POST" else body
            answer = await client.request(method, f"/endpoint/{path}".rstrip("/"), json=sent)
            assert answer.status_code == 422, (method, answer.text)
    pieces = [{"headers": {f"x-{number}": "x" * 1000}} for number in range(9)]
    answers = [await client.patch("/endpoint/mine/headers", json=piece) for piece in pieces]
    assert [answer.status_code for answer in answers] == [204] * 8 + [422]
    assert "8192" in answers[-1].text


@pytest.mark.anyio
async def test_an_applications_metadata_is_limited_too(
    client: httpx.AsyncClient,
) -> None:
    root = str(client.base_url).removesuffix("app/shop/")
    headers = {"authorization": f"Bearer {KEY}"}
    large = {"a": "x" * 100}
    async with httpx.AsyncClient(base_url=root, headers=headers, **PLAIN) as operator:
        for method, path, body in (
            ("POST", "/app", {"name": "new", "metadata": large}),
            ("PUT", "/app/shop", {"name": "new", "metadata": large}),
            ("PUT", "/app/new", {"name": "new", "metadata": large}),
            ("PATCH", "/app/shop", {"metadata": large}),
        ):
            answer = await operator.request(method, path, json=body)
            assert answer.status_code == 422, (method, path)
            (error,) = answer.json()["detail"]
            assert error["loc"] == ["body", "metadata"]
            assert error["msg"] == "'metadata' is '108 bytes'; it must be at most 100 bytes"


@pytest.mark.anyio
async def test_answers_under_fresh_idempotency_keys_do_not_fill_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 200_000
    monkeypatch.setattr(kept_answers, "MOST_OF_APPLICATION", most)
    path = tmp_path / "hooks.db"
    async with (
        open_hooks(f"sqlite:////{str(path)[1:]}") as hooks,
        serving_api(await make_api(hooks, KEY), "127.0.0.1:0") as url,
    ):
        shop = await hooks.application("shop")
        metadata = {f"k{number}": "x" * 4000 for number in range(4)}
        endpoint = await hooks.add_endpoint(shop, URL, metadata=metadata)
        token, _ = await hooks.make_key((Scope.MANAGE_ENDPOINT,), application=shop.id)
        base = f"{url}/api/v1/app/shop/endpoint/{endpoint.id}"
        headers = {"authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=base, headers=headers, **PLAIN) as client:
            first = await client.post("/pause", headers={"idempotency-key": "k0"})
            for number in range(100):
                done = await client.post("/pause", headers={"idempotency-key": f"k{number}"})
                assert done.status_code == 200
            again = await client.post("/pause", headers={"idempotency-key": "k0"})
            assert (again.status_code, again.content) == (200, first.content)
            last = await client.post("/pause", headers={"idempotency-key": "k99"})
            assert (last.status_code, last.json()["code"]) == (409, "answer_not_kept")
    with sqlite3.connect(path) as database:
        ((count, kept),) = database.execute("SELECT count(*), sum(length(body)) FROM claim")
    database.close()
    assert count == 100
    assert kept < most + count * 300


@pytest.mark.anyio
async def test_an_application_uses_up_nothing_of_one_with_its_uid_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kept_answers, "MOST_OF_APPLICATION", 1000)
    async with (
        open_hooks("memory:", sealing_keys=SEALING) as hooks,
        serving_api(await make_api(hooks, KEY), "127.0.0.1:0") as url,
        httpx.AsyncClient(base_url=f"{url}/api/v1", **PLAIN) as client,
    ):
        statuses = list[int]()
        for environment in ("org_1", "org_2"):
            within = hooks.within(environment)
            await within.application("shop")
            key, _ = await within.make_key((Scope.ADMIN,))
            headers = {"authorization": f"Bearer {key}", "idempotency-key": "k"}
            for _ in range(2):
                path = "/app/shop/endpoint"
                body = {"url": URL, "description": "x" * 300}
                answer = await client.post(path, json=body, headers=headers)
                statuses.append(answer.status_code)
        assert statuses == [201] * 4
