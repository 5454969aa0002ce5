"""Where messages went and how far they came, looked at over HTTP while a dispatcher is at work."""

import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from tarry.service.hooks import Hooks
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.testing.receiver import Receiver
from tests.migrated_file import make_migrated_file
from tests.service.api.delivering import APP, PATIENT, SLOW, delivering, got, sent, until

pytestmark = pytest.mark.anyio

MESSAGES = "/endpoint/main/msg"
EXPANDED = {"expanded_statuses": "true"}


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
    return await hooks.add_endpoint(
        shop, receiver.url, uid="main", description="the main one", rate=1000.0
    )


@pytest.fixture
async def paused(hooks: Hooks, receiver: Receiver) -> Endpoint:
    shop = await hooks.application("shop")
    return await hooks.add_endpoint(shop, receiver.url, uid="main", standing=Standing.PAUSED)


def stand(messages: list[dict[str, Any]]) -> dict[str, tuple[int, str]]:
    return {message["id"]: (message["status"], message["statusText"]) for message in messages}


def all_are(status: int, count: int) -> Any:  # noqa: ANN401  a test of a list
    return lambda entries: [entry["status"] for entry in entries] == [status] * count


async def waiting(client: httpx.AsyncClient, receiver: Receiver, **fields: Any) -> str:  # noqa: ANN401  JSON
    """A message that was tried once, and waits for an hour."""
    receiver.script([500])
    message_id = await sent(client, **fields)
    await until(client, f"/attempt/msg/{message_id}", len)
    return message_id


async def test_a_delivered_message_is_a_success(
    client: httpx.AsyncClient, endpoint: Endpoint
) -> None:
    message_id = await sent(client, tags=["a"], eventId="e-1")
    (message,) = await until(client, MESSAGES, all_are(0, 1))
    shown = (await client.get(f"{APP}/msg/{message_id}")).json()
    assert message == {**shown, "status": 0, "statusText": "success", "nextAttempt": None}
    (bare,) = await got(client, MESSAGES, with_content="false")
    assert bare == {**message, "payload": {}}
    (target,) = await got(client, "/msg/e-1/endpoint")
    assert (target["id"], target["uid"], target["url"]) == (
        endpoint.id,
        "main",
        endpoint.url,
    )
    assert (target["status"], target["statusText"], target["nextAttempt"]) == (
        0,
        "success",
        None,
    )
    assert (target["description"], target["throttleRate"]) == ("the main one", 1000)
    assert (target["disabled"], target["eventTypes"], target["channels"]) == (
        False,
        None,
        None,
    )


async def test_one_that_is_tried_again_later_is_being_sent_and_says_when(
    client: httpx.AsyncClient, hooks: Hooks, receiver: Receiver
) -> None:
    shop = await hooks.application("shop")
    await hooks.add_endpoint(shop, receiver.url, uid="main", policy=SLOW)
    message_id = await waiting(client, receiver)
    for path in (MESSAGES, f"/msg/{message_id}/endpoint"):
        (entry,) = await until(client, path, len)
        assert (entry["status"], entry["statusText"]) == (3, "sending")
        ahead = datetime.fromisoformat(entry["nextAttempt"]).timestamp() - time.time()
        assert 60 < ahead < 3 * 3600


@pytest.mark.usefixtures("endpoint")
async def test_one_that_failed_for_good_is_a_failure(
    client: httpx.AsyncClient, receiver: Receiver
) -> None:
    receiver.script([400])
    message_id = await sent(client)
    (message,) = await until(client, MESSAGES, all_are(2, 1))
    assert (message["id"], message["statusText"], message["nextAttempt"]) == (
        message_id,
        "fail",
        None,
    )


async def test_one_that_was_never_tried_is_pending(
    client: httpx.AsyncClient, hooks: Hooks, paused: Endpoint
) -> None:
    message_id = await sent(client)
    assert stand(await got(client, MESSAGES)) == {message_id: (1, "pending")}
    at = datetime(2099, 1, 1, tzinfo=UTC)
    await hooks.change_endpoint(paused, standing=Standing.ENABLED)
    later = await sent(client, deliverAt=at.isoformat())
    messages = await until(client, MESSAGES, lambda messages: stand(messages)[message_id][0] == 0)
    assert stand(messages)[later] == (1, "pending")
    assert datetime.fromisoformat(messages[0]["nextAttempt"]) == at


async def test_one_that_was_skipped_was_never_on_its_way(
    client: httpx.AsyncClient, hooks: Hooks, endpoint: Endpoint
) -> None:
    await hooks.change_endpoint(endpoint, standing=Standing.DISABLED)
    message_id = await sent(client)
    assert await got(client, MESSAGES) == []
    assert await got(client, f"/msg/{message_id}/endpoint") == []


@pytest.mark.usefixtures("paused")
async def test_one_that_was_cancelled_is_a_success_for_who_does_not_know_of_that(
    client: httpx.AsyncClient,
) -> None:
    message_id = await sent(client)
    await client.post(f"{APP}/msg/{message_id}/cancel")
    for path in (MESSAGES, f"/msg/{message_id}/endpoint"):
        (entry,) = await got(client, path)
        assert (entry["status"], entry["statusText"]) == (0, "success")
        (entry,) = await got(client, path, **EXPANDED)
        assert (entry["status"], entry["statusText"]) == (4, "canceled")
    assert len(await got(client, MESSAGES, status=0)) == 1
    assert await got(client, MESSAGES, status=0, **EXPANDED) == []
    assert len(await got(client, MESSAGES, status=4, **EXPANDED)) == 1


@pytest.mark.slow
async def test_an_outage_is_waited_out_and_each_status_can_be_asked_for(
    client: httpx.AsyncClient, hooks: Hooks, receiver: Receiver
) -> None:
    shop = await hooks.application("shop")
    await hooks.add_endpoint(shop, receiver.url, uid="main", policy=PATIENT)
    receiver.go_down(503)
    message_ids = [await sent(client) for _ in range(12)]
    await until(client, MESSAGES, len, status=3)
    (target,) = await got(client, f"/msg/{message_ids[0]}/endpoint")
    assert target["status"] in (1, 3)
    new = await got(client, MESSAGES, status=1)
    tried = await got(client, MESSAGES, status=3)
    assert {message["id"] for message in [*new, *tried]} == set(message_ids)
    for status in (0, 2, 4):
        assert await got(client, MESSAGES, status=status, **EXPANDED) == []
    receiver.come_back()
    await client.post(f"{APP}/endpoint/main/probe")
    await until(client, MESSAGES, all_are(0, 12))
    assert await got(client, MESSAGES, status=3) == []


@pytest.mark.usefixtures("endpoint")
async def test_filters_hold_alone_and_together(
    client: httpx.AsyncClient, receiver: Receiver
) -> None:
    paid = await sent(client, "order.paid", channels=["eu"], tags=["a"])
    await until(client, MESSAGES, all_are(0, 1))
    receiver.script([400])
    lost = await sent(client, "order.lost", channels=["us"], tags=["a", "b"])
    messages = await until(
        client, MESSAGES, lambda messages: len(messages) == 2 and messages[0]["status"] == 2
    )
    assert [message["id"] for message in messages] == [lost, paid]

    async def of(**query: Any) -> list[str]:  # noqa: ANN401  a query
        return [message["id"] for message in await got(client, MESSAGES, **query)]

    assert await of(channel="eu") == [paid]
    assert await of(tag="a") == [lost, paid]
    assert await of(tag="b") == [lost]
    assert await of(event_types="order.paid") == [paid]
    assert await of(status=2) == [lost]
    assert await of(status=0) == [paid]
    assert await of(status=0, tag="b") == []
    assert await of(before=messages[0]["timestamp"]) == [paid]
    assert await of(after=messages[0]["timestamp"]) == [lost]
    assert await of(tag="a", channel="us", event_types="order.lost", status=2) == [lost]


@pytest.mark.usefixtures("endpoint")
async def test_messages_of_an_endpoint_are_walked_forwards_and_back(
    client: httpx.AsyncClient,
) -> None:
    message_ids = sorted([await sent(client) for _ in range(5)], reverse=True)
    await until(client, MESSAGES, all_are(0, 5))

    async def read_page(**query: Any) -> tuple[list[str], dict[str, Any]]:  # noqa: ANN401  a query
        page = (await client.get(APP + MESSAGES, params={"limit": 2, **query})).json()
        return [message["id"] for message in page["data"]], page

    first, page = await read_page()
    assert (first, page["done"]) == (message_ids[:2], False)
    second, page = await read_page(iterator=page["iterator"])
    assert (second, page["done"]) == (message_ids[2:4], False)
    third, last = await read_page(iterator=page["iterator"])
    assert (third, last["done"]) == (message_ids[4:], True)
    again, page = await read_page(iterator=last["prevIterator"])
    assert (again, page["done"]) == (message_ids[2:4], False)


async def test_destinations_are_by_id_also_deleted_ones_and_are_walked_both_ways(
    client: httpx.AsyncClient, hooks: Hooks, receiver: Receiver
) -> None:
    shop = await hooks.application("shop")
    endpoints = [await hooks.add_endpoint(shop, receiver.url) for _ in range(3)]
    endpoint_ids = sorted(target.id for target in endpoints)
    message_id = await sent(client)
    path = f"/msg/{message_id}/endpoint"
    await until(client, path, all_are(0, 3))
    await hooks.delete_endpoint(endpoints[1])
    assert [target["id"] for target in await got(client, path)] == endpoint_ids

    async def read_page(**query: Any) -> tuple[list[str], dict[str, Any]]:  # noqa: ANN401  a query
        page = (await client.get(APP + path, params=query)).json()
        return [target["id"] for target in page["data"]], page

    first, page = await read_page(limit=2)
    assert (first, page["done"]) == (endpoint_ids[:2], False)
    last, page = await read_page(limit=2, iterator=page["iterator"])
    assert (last, page["done"]) == (endpoint_ids[2:], True)
    back, page = await read_page(limit=1, iterator=page["prevIterator"])
    assert (back, page["done"]) == (endpoint_ids[1:2], False)
    back, page = await read_page(limit=1, iterator=page["prevIterator"])
    assert (back, page["done"]) == (endpoint_ids[:1], True)


async def test_a_deleted_destination_has_its_uid_no_more_which_may_be_another_ones(
    client: httpx.AsyncClient, hooks: Hooks, receiver: Receiver
) -> None:
    shop = await hooks.application("shop")
    gone = await hooks.add_endpoint(shop, receiver.url, uid="main")
    path = f"/msg/{await sent(client)}/endpoint"
    await until(client, path, all_are(0, 1))
    await hooks.delete_endpoint(gone)
    await hooks.add_endpoint(shop, receiver.url, uid="main")
    (target,) = await got(client, path)
    assert (target["id"], target["uid"]) == (gone.id, None)


async def test_what_belongs_to_another_application_is_not_there(
    client: httpx.AsyncClient, hooks: Hooks, endpoint: Endpoint
) -> None:
    message_id = await sent(client)
    await hooks.application("other")
    for path in (f"endpoint/{endpoint.id}/msg", f"msg/{message_id}/endpoint"):
        answer = await client.get(f"/api/v1/app/other/{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
