import asyncio

import httpx
import pytest

from tarry.errors import StoreUnavailable
from tarry.service.api.resources.call import Call
from tests.plain_http import PLAIN

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "url_path", ["/api/v1/streaming/stream", "/api/v1/app/shop/msg/x/y", "/api/v1/"]
)
async def test_an_operation_that_is_not_served_says_so(
    client: httpx.AsyncClient, url_path: str
) -> None:
    answer = await client.post(url_path, content=b"{}")
    assert (answer.status_code, answer.json()["code"]) == (501, "not_implemented")


async def test_a_name_with_a_slash_in_it_is_nobodys(client: httpx.AsyncClient) -> None:
    for path in ("app/shop%2Fmsg", "app/shop/endpoint/a%2fb", "event-type/%2F"):
        answer = await client.get(f"/api/v1/{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_another_method_of_a_known_path_is_told_those_that_will_do(
    client: httpx.AsyncClient,
) -> None:
    answer = await client.delete("/api/v1/auth/logout")
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    assert answer.headers["allow"] == "POST"


async def test_a_place_that_is_not_of_the_api_is_not_there(client: httpx.AsyncClient) -> None:
    answer = await client.get("/nowhere")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    answer = await client.post("/healthz")
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


async def test_whether_it_lives_can_be_asked_without_a_body(client: httpx.AsyncClient) -> None:
    assert (await client.head("/healthz")).content == b""
    assert (await client.get("/healthz")).json() == {"status": "alive"}


async def test_a_slash_at_the_end_changes_nothing(client: httpx.AsyncClient) -> None:
    assert (await client.get("/api/v1/app/shop/")).json()["uid"] == "shop"


async def test_a_repeated_request_under_one_key_is_carried_out_once(
    client: httpx.AsyncClient,
) -> None:
    headers = {"idempotency-key": "one"}

    async def create() -> httpx.Response:
        return await client.post("/api/v1/app", json={"name": "twice"}, headers=headers)

    answers = await asyncio.gather(*(create() for _ in range(10)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    listed = (await client.get("/api/v1/app")).json()["data"]
    assert [application["name"] for application in listed].count("twice") == 1
    other = await client.post("/api/v1/app", json={"name": "other"}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (409, "conflict")


async def test_what_failed_under_a_key_may_be_mended_and_asked_again(
    client: httpx.AsyncClient,
) -> None:
    headers = {"idempotency-key": "two"}
    bad = await client.post("/api/v1/app", json={"name": "x", "uid": "shop"}, headers=headers)
    assert bad.status_code == 409
    await client.delete("/api/v1/app/shop")
    good = await client.post("/api/v1/app", json={"name": "x", "uid": "shop"}, headers=headers)
    assert good.status_code == 201


async def test_an_answer_without_a_body_says_nothing_of_one(client: httpx.AsyncClient) -> None:
    path, headers = "/api/v1/auth/app/shop/expire-all", {"idempotency-key": "three"}
    for _ in range(2):
        answer = await client.post(path, json={}, headers=headers)
        assert answer.status_code == 204
        assert not {"content-length", "content-type", "transfer-encoding"} & set(answer.headers)


async def test_a_head_is_as_that_of_the_page(client: httpx.AsyncClient) -> None:
    page, head = await client.get("/docs"), await client.head("/docs")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == page.headers["content-length"]
    assert (await client.get("/healthz")).status_code == 200, "the connection is still good"


async def test_a_head_is_as_that_of_what_can_be_got(client: httpx.AsyncClient) -> None:
    path = "/api/v1/app/shop"
    answer, head = await client.get(path), await client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(answer.content))
    assert (await client.head("/api/v1/app/nothing")).status_code == 404
    assert (await client.head("/api/v1/health/ping")).status_code == 204
    assert (await client.get(path)).json() == answer.json(), "the connection is still good"


async def test_a_key_that_is_too_long_is_refused(client: httpx.AsyncClient) -> None:
    answer = await client.post(
        "/api/v1/app", json={"name": "x"}, headers={"idempotency-key": "k" * 256}
    )
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["header", "idempotency-key"]


async def test_a_body_that_is_too_long_is_refused(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/v1/app", content=b'{"name": "' + b"x" * 1_100_000 + b'"}')
    assert (answer.status_code, answer.json()["code"]) == (413, "payload_too_large")


async def test_the_operations_can_be_read_without_a_key(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, **PLAIN) as nobody:
        answer = await nobody.get("/docs")
    assert answer.status_code == 200
    assert "v1.application.create" in answer.text


async def test_a_path_writes_no_lines_of_its_own_into_the_log(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(_call: Call) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Call, "application", fail)
    assert (await client.get("/api/v1/app/a%0aERROR%20b")).status_code == 500
    (record,) = [entry for entry in caplog.records if entry.name == "tarry.service"]
    assert record.getMessage() == r"GET '/api/v1/app/a\nERROR b'"


async def test_why_it_answers_with_503_is_logged_once_in_a_while(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(_store: object) -> None:
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr("tarry.service.store.sqlite.store.SqliteStore.check", fail)
    answers = [await client.get("/readyz") for _ in range(3)]
    assert {answer.status_code for answer in answers} == {503}
    (line,) = (message for message in caplog.messages if "503" in message)
    assert line.startswith("answering with 503: ")
    assert "the disk is full" in line
