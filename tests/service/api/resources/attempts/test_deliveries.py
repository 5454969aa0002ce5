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
    db = path if request.param == "sqlite" else request.getfixturevalue("database_url")
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


def stand(found: list[dict[str, Any]]) -> dict[str, tuple[int, str]]:
    return {one["id"]: (one["status"], one["statusText"]) for one in found}


def all_are(status: int, count: int) -> Any:  # noqa: ANN401  a test of a list
    return lambda found: [one["status"] for one in found] == [status] * count


async def waiting(client: httpx.AsyncClient, receiver: Receiver, **more: Any) -> str:  # noqa: ANN401  JSON
    """A message that was tried once, and waits for an hour."""
    receiver.script([500])
    known = await sent(client, **more)
    await until(client, f"/attempt/msg/{known}", len)
    return known


async def test_a_delivered_message_is_a_success(
    client: httpx.AsyncClient, endpoint: Endpoint
) -> None:
    known = await sent(client, tags=["a"], eventId="e-1")
    (one,) = await until(client, MESSAGES, all_are(0, 1))
    told = (await client.get(f"{APP}/msg/{known}")).json()
    assert one == {**told, "status": 0, "statusText": "success", "nextAttempt": None}
    (bare,) = await got(client, MESSAGES, with_content="false")
    assert bare == {**one, "payload": {}}
    (there,) = await got(client, "/msg/e-1/endpoint")
    assert (there["id"], there["uid"], there["url"]) == (endpoint.id, "main", endpoint.url)
    assert (there["status"], there["statusText"], there["nextAttempt"]) == (0, "success", None)
    assert (there["description"], there["throttleRate"]) == ("the main one", 1000)
    assert (there["disabled"], there["eventTypes"], there["channels"]) == (False, None, None)


async def test_one_that_is_tried_again_later_is_being_sent_and_says_when(
    client: httpx.AsyncClient, hooks: Hooks, receiver: Receiver
) -> None:
    shop = await hooks.application("shop")
    await hooks.add_endpoint(shop, receiver.url, uid="main", policy=SLOW)
    known = await waiting(client, receiver)
    for way in (MESSAGES, f"/msg/{known}/endpoint"):
        (one,) = await until(client, way, len)
        assert (one["status"], one["statusText"]) == (3, "sending")
        ahead = datetime.fromisoformat(one["nextAttempt"]).timestamp() - time.time()
        assert 60 < ahead < 3 * 3600


@pytest.mark.usefixtures("endpoint")
async def test_one_that_failed_for_good_is_a_failure(
    client: httpx.AsyncClient, receiver: Receiver
) -> None:
    receiver.script([400])
    known = await sent(client)
    (one,) = await until(client, MESSAGES, all_are(2, 1))
    assert (one["id"], one["statusText"], one["nextAttempt"]) == (known, "fail", None)


async def test_one_that_was_never_tried_is_pending(
    client: httpx.AsyncClient, hooks: Hooks, paused: Endpoint
) -> None:
    known = await sent(client)
    assert stand(await got(client, MESSAGES)) == {known: (1, "pending")}
    at = datetime(2099, 1, 1, tzinfo=UTC)
    await hooks.change_endpoint(paused, standing=Standing.ENABLED)
    later = await sent(client, deliverAt=at.isoformat())
    found = await until(client, MESSAGES, lambda found: stand(found)[known][0] == 0)
    assert stand(found)[later] == (1, "pending")
    assert datetime.fromisoformat(found[0]["nextAttempt"]) == at


async def test_one_that_was_skipped_was_never_on_its_way(
    client: httpx.AsyncClient, hooks: Hooks, endpoint: Endpoint
) -> None:
    await hooks.change_endpoint(endpoint, standing=Standing.DISABLED)
    known = await sent(client)
    assert await got(client, MESSAGES) == []
    assert await got(client, f"/msg/{known}/endpoint") == []


@pytest.mark.usefixtures("paused")
async def test_one_that_was_cancelled_is_a_success_for_who_does_not_know_of_that(
    client: httpx.AsyncClient,
) -> None:
    known = await sent(client)
    await client.post(f"{APP}/msg/{known}/cancel")
    for way in (MESSAGES, f"/msg/{known}/endpoint"):
        (one,) = await got(client, way)
        assert (one["status"], one["statusText"]) == (0, "success")
        (one,) = await got(client, way, **EXPANDED)
        assert (one["status"], one["statusText"]) == (4, "canceled")
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
    known = [await sent(client) for _ in range(12)]
    await until(client, MESSAGES, len, status=3)
    (there,) = await got(client, f"/msg/{known[0]}/endpoint")
    assert there["status"] in (1, 3)
    new = await got(client, MESSAGES, status=1)
    tried = await got(client, MESSAGES, status=3)
    assert {one["id"] for one in [*new, *tried]} == set(known)
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
    found = await until(client, MESSAGES, lambda found: len(found) == 2 and found[0]["status"] == 2)
    assert [one["id"] for one in found] == [lost, paid]

    async def of(**query: Any) -> list[str]:  # noqa: ANN401  a query
        return [one["id"] for one in await got(client, MESSAGES, **query)]

    assert await of(channel="eu") == [paid]
    assert await of(tag="a") == [lost, paid]
    assert await of(tag="b") == [lost]
    assert await of(event_types="order.paid") == [paid]
    assert await of(status=2) == [lost]
    assert await of(status=0) == [paid]
    assert await of(status=0, tag="b") == []
    assert await of(before=found[0]["timestamp"]) == [paid]
    assert await of(after=found[0]["timestamp"]) == [lost]
    assert await of(tag="a", channel="us", event_types="order.lost", status=2) == [lost]


@pytest.mark.usefixtures("endpoint")
async def test_messages_of_an_endpoint_are_walked_forwards_and_back(
    client: httpx.AsyncClient,
) -> None:
    known = sorted([await sent(client) for _ in range(5)], reverse=True)
    await until(client, MESSAGES, all_are(0, 5))

    async def ask(**query: Any) -> tuple[list[str], dict[str, Any]]:  # noqa: ANN401  a query
        told = (await client.get(APP + MESSAGES, params={"limit": 2, **query})).json()
        return [one["id"] for one in told["data"]], told

    first, told = await ask()
    assert (first, told["done"]) == (known[:2], False)
    second, told = await ask(iterator=told["iterator"])
    assert (second, told["done"]) == (known[2:4], False)
    third, last = await ask(iterator=told["iterator"])
    assert (third, last["done"]) == (known[4:], True)
    again, told = await ask(iterator=last["prevIterator"])
    assert (again, told["done"]) == (known[2:4], False)


async def test_destinations_are_by_id_also_deleted_ones_and_are_walked_both_ways(
    client: httpx.AsyncClient, hooks: Hooks, receiver: Receiver
) -> None:
    shop = await hooks.application("shop")
    made = [await hooks.add_endpoint(shop, receiver.url) for _ in range(3)]
    names = sorted(one.id for one in made)
    known = await sent(client)
    way = f"/msg/{known}/endpoint"
    await until(client, way, all_are(0, 3))
    await hooks.delete_endpoint(made[1])
    assert [one["id"] for one in await got(client, way)] == names

    async def ask(**query: Any) -> tuple[list[str], dict[str, Any]]:  # noqa: ANN401  a query
        told = (await client.get(APP + way, params=query)).json()
        return [one["id"] for one in told["data"]], told

    first, told = await ask(limit=2)
    assert (first, told["done"]) == (names[:2], False)
    last, told = await ask(limit=2, iterator=told["iterator"])
    assert (last, told["done"]) == (names[2:], True)
    back, told = await ask(limit=1, iterator=told["prevIterator"])
    assert (back, told["done"]) == (names[1:2], False)
    back, told = await ask(limit=1, iterator=told["prevIterator"])
    assert (back, told["done"]) == (names[:1], True)


async def test_a_deleted_destination_has_its_uid_no_more_which_may_be_another_ones(
    client: httpx.AsyncClient, hooks: Hooks, receiver: Receiver
) -> None:
    shop = await hooks.application("shop")
    gone = await hooks.add_endpoint(shop, receiver.url, uid="main")
    way = f"/msg/{await sent(client)}/endpoint"
    await until(client, way, all_are(0, 1))
    await hooks.delete_endpoint(gone)
    await hooks.add_endpoint(shop, receiver.url, uid="main")
    (told,) = await got(client, way)
    assert (told["id"], told["uid"]) == (gone.id, None)


async def test_what_belongs_to_another_application_is_not_there(
    client: httpx.AsyncClient, hooks: Hooks, endpoint: Endpoint
) -> None:
    known = await sent(client)
    await hooks.application("other")
    for way in (f"endpoint/{endpoint.id}/msg", f"msg/{known}/endpoint"):
        answer = await client.get(f"/api/v1/app/other/{way}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
