"""Attempts, looked at over HTTP while a dispatcher makes them."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from tarry.service.api.resources.attempts.attempts import written
from tarry.service.hooks import Hooks
from tarry.service.model.attempt import Attempt, Trigger
from tarry.service.model.endpoint import Endpoint
from tarry.testing.receiver import Receiver
from tests.service.api.delivering import APP, SLOW, delivering, got, sent, until

pytestmark = pytest.mark.anyio


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture(params=["sqlite", "postgresql"])
async def hooks(request: pytest.FixtureRequest, path: Path) -> AsyncIterator[Hooks]:
    db = path if request.param == "sqlite" else request.getfixturevalue("database_url")
    async with delivering(db) as hooks:
        yield hooks


@pytest.fixture
async def endpoint(hooks: Hooks, receiver: Receiver) -> Endpoint:
    shop = await hooks.application("shop")
    return await hooks.add_endpoint(shop, receiver.url, uid="main")


def ids_of(found: list[dict[str, Any]], what: str = "id") -> list[str]:
    return [one[what] for one in found]


async def test_an_attempt_that_was_taken_is_told(
    client: httpx.AsyncClient, endpoint: Endpoint
) -> None:
    known = await sent(client)
    (one,) = await until(client, f"/attempt/endpoint/{endpoint.id}", len)
    assert one["id"].startswith("atmpt_")
    assert (one["msgId"], one["endpointId"], one["url"]) == (known, endpoint.id, endpoint.url)
    assert (one["status"], one["statusText"]) == (0, "success")
    assert (one["responseStatusCode"], one["response"], one["triggerType"]) == (200, "", 0)
    assert 0 <= one["responseDurationMs"] < 10_000
    assert one["msg"] is None
    for way in (
        f"/attempt/msg/{known}",
        f"/msg/{known}/attempt",
        f"/msg/{known}/endpoint/main/attempt",
    ):
        assert await got(client, way) == [one]
    assert (await client.get(f"{APP}/msg/{known}/attempt/{one['id']}")).json() == one


async def test_a_failing_endpoint_that_recovers_leaves_one_attempt_of_each_kind(
    client: httpx.AsyncClient, endpoint: Endpoint, receiver: Receiver
) -> None:
    receiver.script([503])
    known = await sent(client)
    way = f"/attempt/msg/{known}"
    taken, failed = await until(client, way, lambda found: len(found) == 2)
    assert (taken["status"], taken["responseStatusCode"]) == (0, 200)
    assert (failed["status"], failed["statusText"], failed["responseStatusCode"]) == (
        2,
        "fail",
        503,
    )
    assert taken["timestamp"] > failed["timestamp"]
    to = f"/attempt/endpoint/{endpoint.id}"
    for where in (way, to):
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
    way = f"/attempt/endpoint/{endpoint.id}"
    *_, first = await until(client, way, len, status_code_class=0)
    assert (first["responseStatusCode"], first["status"]) == (0, 2)
    assert first["response"]
    *_, bare = await got(client, way, with_content="false")
    assert bare == {**first, "response": "{}"}


async def test_filters_by_message_hold_alone_and_together(
    client: httpx.AsyncClient, endpoint: Endpoint
) -> None:
    paid = await sent(client, "order.paid", channels=["eu"], tags=["a"])
    lost = await sent(client, "order.lost", channels=["us"], tags=["a", "b"])
    way = f"/attempt/endpoint/{endpoint.id}"
    await until(client, way, lambda found: len(found) == 2)

    async def of(**query: Any) -> list[str]:  # noqa: ANN401  a query
        return sorted(ids_of(await got(client, way, **query), "msgId"))

    assert await of(channel="eu") == [paid]
    assert await of(tag="a") == sorted([paid, lost])
    assert await of(tag="b") == [lost]
    assert await of(event_types="order.paid") == [paid]
    assert await of(event_types="order.paid,order.lost") == sorted([paid, lost])
    assert await of(tag="a", channel="us", event_types="order.lost", status=0) == [lost]
    assert await of(tag="b", channel="eu") == []
    way = f"/attempt/msg/{paid}"
    assert await of(channel="eu", tag="a", event_types="order.paid") == [paid]
    assert await of(channel="us") == []
    assert await of(tag="b") == []
    assert await of(event_types="order.lost") == []


async def test_attempts_of_a_message_can_be_those_at_one_endpoint(
    client: httpx.AsyncClient, hooks: Hooks, endpoint: Endpoint, receiver: Receiver
) -> None:
    shop = await hooks.application("shop")
    other = await hooks.add_endpoint(shop, receiver.url)
    known = await sent(client)
    way = f"/attempt/msg/{known}"
    found = await until(client, way, lambda found: len(found) == 2)
    assert set(ids_of(found, "endpointId")) == {endpoint.id, other.id}
    for name in ("main", endpoint.id):
        assert ids_of(await got(client, way, endpoint_id=name), "endpointId") == [endpoint.id]
    assert len(await got(client, f"/msg/{known}/endpoint/{other.id}/attempt")) == 1
    for wrong in (f"{way}?endpoint_id=nobody", f"/msg/{known}/endpoint/nobody/attempt"):
        assert (await client.get(APP + wrong)).status_code == 404


async def test_the_message_is_told_with_its_attempt_if_asked_for_but_not_its_payload(
    client: httpx.AsyncClient, endpoint: Endpoint
) -> None:
    known = await sent(client, tags=["a"])
    way = f"/attempt/endpoint/{endpoint.id}"
    (one,) = await until(client, way, len, with_msg="true")
    assert (one["msg"]["id"], one["msg"]["tags"], one["msg"]["payload"]) == (known, ["a"], {})


async def test_attempts_are_walked_forwards_and_back(
    client: httpx.AsyncClient, endpoint: Endpoint
) -> None:
    for _ in range(5):
        await sent(client)
    way = f"{APP}/attempt/endpoint/{endpoint.id}"
    await until(client, way.removeprefix(APP), lambda found: len(found) == 5)
    known = ids_of((await client.get(way)).json()["data"])

    async def ask(**query: Any) -> tuple[list[str], dict[str, Any]]:  # noqa: ANN401  a query
        told = (await client.get(way, params={"limit": 2, **query})).json()
        return ids_of(told["data"]), told

    first, told = await ask()
    assert (first, told["done"]) == (known[:2], False)
    second, told = await ask(iterator=told["iterator"])
    assert (second, told["done"]) == (known[2:4], False)
    third, last = await ask(iterator=told["iterator"])
    assert (third, last["done"]) == (known[4:], True)
    again, told = await ask(iterator=last["prevIterator"])
    assert (again, told["done"]) == (known[2:4], False)
    again, told = await ask(iterator=told["prevIterator"])
    assert (again, told["done"]) == (known[:2], True)


async def test_a_resend_is_an_attempt_by_hand_and_what_had_failed_has_arrived(
    client: httpx.AsyncClient, endpoint: Endpoint, receiver: Receiver
) -> None:
    receiver.script([400])
    known = await sent(client, eventId="e-1")
    way = f"/attempt/msg/{known}"
    await until(client, way, len)
    answer = await client.post(f"{APP}/msg/e-1/endpoint/main/resend", json={})
    assert (answer.status_code, answer.json()) == (202, {})
    again, first = await until(client, way, lambda found: len(found) == 2)
    assert (again["triggerType"], again["status"]) == (1, 0)
    assert (first["triggerType"], first["status"]) == (0, 2)
    (message,) = await got(client, f"/endpoint/{endpoint.id}/msg")
    assert (message["id"], message["status"]) == (known, 0)


async def test_what_is_gone_cannot_be_sent_again(
    client: httpx.AsyncClient, endpoint: Endpoint
) -> None:
    known = await sent(client)
    await until(client, f"/attempt/msg/{known}", len)
    await client.delete(f"{APP}/msg/{known}/content")
    answer = await client.post(f"{APP}/msg/{known}/endpoint/{endpoint.id}/resend")
    assert (answer.status_code, answer.json()["code"]) == (400, "missing_payload")
    for wrong in (f"nobody/endpoint/{endpoint.id}", f"{known}/endpoint/nobody"):
        answer = await client.post(f"{APP}/msg/{wrong}/resend")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_what_was_answered_can_be_forgotten(
    client: httpx.AsyncClient, endpoint: Endpoint
) -> None:
    known = await sent(client)
    (one,) = await until(client, f"/attempt/endpoint/{endpoint.id}", len)
    way = f"{APP}/msg/{known}/attempt/{one['id']}"
    answer = await client.delete(f"{way}/content")
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await client.get(way)).json() == {**one, "response": "EXPUNGED"}


async def test_an_attempt_is_that_of_one_message_of_one_application(
    client: httpx.AsyncClient, hooks: Hooks, endpoint: Endpoint
) -> None:
    known, other = await sent(client), await sent(client)
    (one,) = await until(client, f"/attempt/msg/{known}", len)
    await hooks.application("elsewhere")
    ways = [f"shop/msg/{other}", f"elsewhere/msg/{known}", "shop/msg/nobody"]
    for way in ways:
        for method, rest in (("GET", ""), ("DELETE", "/content")):
            answer = await client.request(method, f"/api/v1/app/{way}/attempt/{one['id']}{rest}")
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    for way in (f"attempt/endpoint/{endpoint.id}", f"attempt/msg/{known}"):
        assert (await client.get(f"/api/v1/app/elsewhere/{way}")).status_code == 404


async def test_one_that_waits_long_has_had_one_attempt(
    client: httpx.AsyncClient, hooks: Hooks, receiver: Receiver
) -> None:
    shop = await hooks.application("shop")
    await hooks.add_endpoint(shop, receiver.url, uid="main", policy=SLOW)
    receiver.script([500])
    known = await sent(client)
    (one,) = await until(client, f"/attempt/msg/{known}", len)
    assert (one["status"], one["statusText"]) == (2, "fail")


@pytest.mark.parametrize("query", ["status=5", "status=x", "status_code_class=201", "with_msg=2"])
async def test_what_cannot_be_asked_for_is_refused(
    client: httpx.AsyncClient, endpoint: Endpoint, query: str
) -> None:
    answer = await client.get(f"{APP}/attempt/endpoint/{endpoint.id}?{query}")
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["query", query.partition("=")[0]]


def an_attempt(**more: Any) -> Attempt:  # noqa: ANN401  fields
    return Attempt(
        **{
            "id": "atmpt_1",
            "lane": 1,
            "message": "msg_1",
            "number": 1,
            "at": 1_700_000_000.0,
            "took": 0.0426,
            "url": "https://example.com",
            **more,
        }
    )


def test_what_was_answered_is_told_as_text_whatever_it_was() -> None:
    one = written(an_attempt(status=200, body=b'{"ok": "\xff"}'), "ep_1")
    assert (one.response, one.response_duration_ms) == ('{"ok": "\ufffd"}', 43)
    assert one.timestamp == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    failed = an_attempt(kind="dns", trigger=Trigger.MANUAL, now=1_700_000_001.5)
    one = written(failed, "ep_1")
    assert (one.response, one.response_status_code, one.trigger_type) == ("dns", 0, 1)
    assert one.timestamp.microsecond == 500_000
    assert written(an_attempt(kind="dns", detail="no such host"), "ep_1").response == "no such host"
    assert written(an_attempt(status=500, kind="transient"), "ep_1").response == ""
