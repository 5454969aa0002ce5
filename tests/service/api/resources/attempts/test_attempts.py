"""Attempts, looked at over HTTP while a dispatcher makes them."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from tarry.service.api.resources.attempts.attempts import AttemptOut, attempt_out
from tarry.service.hooks import Hooks
from tarry.service.model.attempt import Attempt, Trigger
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.redaction import Redaction
from tarry.testing.receiver import Receiver
from tests.migrated_file import make_migrated_file
from tests.service.api.delivering import APP, SLOW, delivering, got, sent, until

pytestmark = pytest.mark.anyio


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture(params=["sqlite", "postgresql"])
async def hooks(request: pytest.FixtureRequest, path: Path) -> AsyncIterator[Hooks]:
    sqlite = request.param == "sqlite"
    db = make_migrated_file(path) if sqlite else request.getfixturevalue("tarry_url")
    async with delivering(db) as hooks:
        yield hooks


@pytest.fixture
async def endpoint(hooks: Hooks, receiver: Receiver) -> Endpoint:
    shop = await hooks.application("shop")
    return await hooks.add_endpoint(shop, receiver.url, uid="main")


def ids_of(entries: list[dict[str, Any]], field: str = "id") -> list[str]:
    return [entry[field] for entry in entries]


async def test_an_attempt_that_was_taken_is_told(
    client: httpx.AsyncClient, endpoint: Endpoint
) -> None:
    message_id = await sent(client)
    (attempt,) = await until(client, f"/attempt/endpoint/{endpoint.id}", len)
    assert attempt["id"].startswith("atmpt_")
    assert (attempt["msgId"], attempt["endpointId"], attempt["url"]) == (
        message_id,
        endpoint.id,
        endpoint.url,
    )
    assert (attempt["status"], attempt["statusText"]) == (0, "success")
    assert (attempt["responseStatusCode"], attempt["response"], attempt["triggerType"]) == (
        200,
        "",
        0,
    )
    assert 0 <= attempt["responseDurationMs"] < 10_000
    assert attempt["msg"] is None
    for path in (
        f"/attempt/msg/{message_id}",
        f"/msg/{message_id}/attempt",
        f"/msg/{message_id}/endpoint/main/attempt",
    ):
        assert await got(client, path) == [attempt]
    assert (await client.get(f"{APP}/msg/{message_id}/attempt/{attempt['id']}")).json() == attempt


async def test_a_failing_endpoint_that_recovers_leaves_one_attempt_of_each_kind(
    client: httpx.AsyncClient, endpoint: Endpoint, receiver: Receiver
) -> None:
    receiver.script([503])
    message_id = await sent(client)
    path = f"/attempt/msg/{message_id}"
    taken, failed = await until(client, path, lambda attempts: len(attempts) == 2)
    assert (taken["status"], taken["responseStatusCode"]) == (0, 200)
    assert (failed["status"], failed["statusText"], failed["responseStatusCode"]) == (
        2,
        "fail",
        503,
    )
    assert taken["timestamp"] > failed["timestamp"]
    to = f"/attempt/endpoint/{endpoint.id}"
    for where in (path, to):
        assert await got(client, where, status=0) == [taken]
        assert await got(client, where, status=2) == [failed]
        for never in (1, 3, 4):
            assert await got(client, where, status=never) == []
        assert await got(client, where, status_code_class=200) == [taken]
        assert await got(client, where, status_code_class=500) == [failed]
        assert await got(client, where, status_code_class=0) == []
        assert await got(client, where, status=2, status_code_class=200) == []
        assert await got(client, where, before=taken["timestamp"]) == [failed]
        assert await got(client, where, after=taken["timestamp"]) == [taken]
        between = {"after": failed["timestamp"], "before": taken["timestamp"]}
        assert await got(client, where, **between, status=2) == [failed]


async def test_one_without_an_answer_says_why(
    client: httpx.AsyncClient, endpoint: Endpoint, receiver: Receiver
) -> None:
    receiver.go_down("refuse")
    await sent(client)
    path = f"/attempt/endpoint/{endpoint.id}"
    *_, first = await until(client, path, len, status_code_class=0)
    assert (first["responseStatusCode"], first["status"]) == (0, 2)
    assert first["response"]
    *_, bare = await got(client, path, with_content="false")
    assert bare == {**first, "response": "{}"}


async def test_filters_by_message_hold_alone_and_together(
    client: httpx.AsyncClient, endpoint: Endpoint
) -> None:
    paid = await sent(client, "order.paid", channels=["eu"], tags=["a"])
    lost = await sent(client, "order.lost", channels=["us"], tags=["a", "b"])
    path = f"/attempt/endpoint/{endpoint.id}"
    await until(client, path, lambda attempts: len(attempts) == 2)

    async def of(**query: Any) -> list[str]:  # noqa: ANN401  a query
        return sorted(ids_of(await got(client, path, **query), "msgId"))

    assert await of(channel="eu") == [paid]
    assert await of(tag="a") == sorted([paid, lost])
    assert await of(tag="b") == [lost]
    assert await of(event_types="order.paid") == [paid]
    assert await of(event_types="order.paid,order.lost") == sorted([paid, lost])
    assert await of(tag="a", channel="us", event_types="order.lost", status=0) == [lost]
    assert await of(tag="b", channel="eu") == []
    path = f"/attempt/msg/{paid}"
    assert await of(channel="eu", tag="a", event_types="order.paid") == [paid]
    assert await of(channel="us") == []
    assert await of(tag="b") == []
    assert await of(event_types="order.lost") == []


async def test_attempts_of_a_message_can_be_those_at_one_endpoint(
    client: httpx.AsyncClient, hooks: Hooks, endpoint: Endpoint, receiver: Receiver
) -> None:
    shop = await hooks.application("shop")
    other = await hooks.add_endpoint(shop, receiver.url)
    message_id = await sent(client)
    path = f"/attempt/msg/{message_id}"
    attempts = await until(client, path, lambda attempts: len(attempts) == 2)
    assert set(ids_of(attempts, "endpointId")) == {endpoint.id, other.id}
    for name in ("main", endpoint.id):
        assert ids_of(await got(client, path, endpoint_id=name), "endpointId") == [endpoint.id]
    assert len(await got(client, f"/msg/{message_id}/endpoint/{other.id}/attempt")) == 1
    for wrong in (f"{path}?endpoint_id=nobody", f"/msg/{message_id}/endpoint/nobody/attempt"):
        assert (await client.get(APP + wrong)).status_code == 404


async def test_the_message_is_told_with_its_attempt_if_asked_for_but_not_its_payload(
    client: httpx.AsyncClient, endpoint: Endpoint
) -> None:
    message_id = await sent(client, tags=["a"])
    path = f"/attempt/endpoint/{endpoint.id}"
    (attempt,) = await until(client, path, len, with_msg="true")
    assert (attempt["msg"]["id"], attempt["msg"]["tags"], attempt["msg"]["payload"]) == (
        message_id,
        ["a"],
        {},
    )


async def test_attempts_are_walked_forwards_and_back(
    client: httpx.AsyncClient, endpoint: Endpoint
) -> None:
    for _ in range(5):
        await sent(client)
    path = f"{APP}/attempt/endpoint/{endpoint.id}"
    await until(client, path.removeprefix(APP), lambda attempts: len(attempts) == 5)
    attempt_ids = ids_of((await client.get(path)).json()["data"])

    async def read_page(**query: Any) -> tuple[list[str], dict[str, Any]]:  # noqa: ANN401  a query
        page = (await client.get(path, params={"limit": 2, **query})).json()
        return ids_of(page["data"]), page

    first, page = await read_page()
    assert (first, page["done"]) == (attempt_ids[:2], False)
    second, page = await read_page(iterator=page["iterator"])
    assert (second, page["done"]) == (attempt_ids[2:4], False)
    third, last = await read_page(iterator=page["iterator"])
    assert (third, last["done"]) == (attempt_ids[4:], True)
    again, page = await read_page(iterator=last["prevIterator"])
    assert (again, page["done"]) == (attempt_ids[2:4], False)
    again, page = await read_page(iterator=page["prevIterator"])
    assert (again, page["done"]) == (attempt_ids[:2], True)


async def test_a_resend_is_an_attempt_by_hand_and_what_had_failed_has_arrived(
    client: httpx.AsyncClient, endpoint: Endpoint, receiver: Receiver
) -> None:
    receiver.script([400])
    message_id = await sent(client, eventId="e-1")
    path = f"/attempt/msg/{message_id}"
    await until(client, path, len)
    answer = await client.post(f"{APP}/msg/e-1/endpoint/main/resend", json={})
    assert (answer.status_code, answer.json()) == (202, {})
    again, first = await until(client, path, lambda attempts: len(attempts) == 2)
    assert (again["triggerType"], again["status"]) == (1, 0)
    assert (first["triggerType"], first["status"]) == (0, 2)
    (message,) = await got(client, f"/endpoint/{endpoint.id}/msg")
    assert (message["id"], message["status"]) == (message_id, 0)


async def test_what_is_gone_cannot_be_sent_again(
    client: httpx.AsyncClient, endpoint: Endpoint
) -> None:
    message_id = await sent(client)
    await until(client, f"/attempt/msg/{message_id}", len)
    await client.delete(f"{APP}/msg/{message_id}/content")
    answer = await client.post(f"{APP}/msg/{message_id}/endpoint/{endpoint.id}/resend")
    assert (answer.status_code, answer.json()["code"]) == (400, "missing_payload")
    for wrong in (f"nobody/endpoint/{endpoint.id}", f"{message_id}/endpoint/nobody"):
        answer = await client.post(f"{APP}/msg/{wrong}/resend")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_what_was_answered_can_be_forgotten(
    client: httpx.AsyncClient, endpoint: Endpoint
) -> None:
    message_id = await sent(client)
    (attempt,) = await until(client, f"/attempt/endpoint/{endpoint.id}", len)
    path = f"{APP}/msg/{message_id}/attempt/{attempt['id']}"
    answer = await client.delete(f"{path}/content")
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await client.get(path)).json() == {**attempt, "response": "EXPUNGED"}


async def test_an_attempt_is_that_of_one_message_of_one_application(
    client: httpx.AsyncClient, hooks: Hooks, endpoint: Endpoint
) -> None:
    message_id, other = await sent(client), await sent(client)
    (attempt,) = await until(client, f"/attempt/msg/{message_id}", len)
    await hooks.application("elsewhere")
    paths = [f"shop/msg/{other}", f"elsewhere/msg/{message_id}", "shop/msg/nobody"]
    for path in paths:
        for method, rest in (("GET", ""), ("DELETE", "/content")):
            answer = await client.request(
                method, f"/api/v1/app/{path}/attempt/{attempt['id']}{rest}"
            )
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    for path in (f"attempt/endpoint/{endpoint.id}", f"attempt/msg/{message_id}"):
        assert (await client.get(f"/api/v1/app/elsewhere/{path}")).status_code == 404


async def test_one_that_waits_long_has_had_one_attempt(
    client: httpx.AsyncClient, hooks: Hooks, receiver: Receiver
) -> None:
    shop = await hooks.application("shop")
    await hooks.add_endpoint(shop, receiver.url, uid="main", policy=SLOW)
    receiver.script([500])
    message_id = await sent(client)
    (attempt,) = await until(client, f"/attempt/msg/{message_id}", len)
    assert (attempt["status"], attempt["statusText"]) == (2, "fail")


@pytest.mark.parametrize("query", ["status=5", "status=x", "status_code_class=201", "with_msg=2"])
async def test_what_cannot_be_asked_for_is_refused(
    client: httpx.AsyncClient, endpoint: Endpoint, query: str
) -> None:
    answer = await client.get(f"{APP}/attempt/endpoint/{endpoint.id}?{query}")
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["query", query.partition("=")[0]]


def an_attempt(**fields: Any) -> Attempt:  # noqa: ANN401  fields
    return Attempt(
        **{
            "id": "atmpt_1",
            "lane": 1,
            "message": "msg_1",
            "number": 1,
            "at": 1_700_000_000.0,
            "took": 0.0426,
            "url": "https://example.com",
            **fields,
        }
    )


async def show(attempt: Attempt, *rules: str) -> AttemptOut:
    return await attempt_out(attempt, "ep_1", Redaction.of(rules))


async def test_what_was_answered_is_told_as_text_whatever_it_was() -> None:
    attempt = await show(an_attempt(status=200, body=b'{"ok": "\xff"}'))
    assert (attempt.response, attempt.response_duration_ms) == ('{"ok": "\ufffd"}', 43)
    assert attempt.timestamp == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    failed = an_attempt(kind="dns", trigger=Trigger.MANUAL, now=1_700_000_001.5)
    attempt = await show(failed)
    assert (attempt.response, attempt.response_status_code, attempt.trigger_type) == ("dns", 0, 1)
    assert attempt.timestamp.microsecond == 500_000
    unknown = await show(an_attempt(kind="dns", detail="no such host"))
    assert unknown.response == "no such host"
    assert (await show(an_attempt(status=500, kind="transient"))).response == ""


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b'{"token": "t", "ok": true}', '{"token": "[redacted]", "ok": true}'),
        (b'{"token": "t", "ok": tr', "[redacted: not complete JSON]"),
        (b"Bad gateway", "Bad gateway"),
    ],
)
async def test_a_response_is_redacted(body: bytes, shown: str) -> None:
    attempt = await show(an_attempt(status=200, body=body), "$.token")
    assert attempt.response == shown
