"""Messages that were sent, looked at over HTTP."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from tarry.service.hooks import Hooks
from tarry.service.model import ids
from tarry.service.model.endpoint import Standing
from tarry.service.model.listing import Cut
from tarry.service.model.message import NewMessage
from tarry.service.store.kinds import Endpoints

pytestmark = pytest.mark.anyio

MESSAGES = "/api/v1/app/shop/msg"


async def sent(client: httpx.AsyncClient, event: str = "order.paid", **fields: Any) -> str:  # noqa: ANN401  JSON
    body = {"eventType": event, "payload": {"n": 1}, **fields}
    answer = await client.post(MESSAGES, json=body)
    assert answer.status_code == 202, answer.text
    message_id: str = answer.json()["id"]
    return message_id


async def listed(client: httpx.AsyncClient, **query: Any) -> list[str]:  # noqa: ANN401  a query
    answer = await client.get(MESSAGES, params=query)
    assert answer.status_code == 200, answer.text
    return [message["id"] for message in answer.json()["data"]]


async def sent_at(hooks: Hooks, at: float) -> str:
    """Have a message kept as if it had come then."""
    shop = await hooks.application("shop")
    now_then = hooks.within(hooks.environment, now=lambda: at)
    await now_then.send_many([NewMessage(message := now_then.message(shop, "order.paid", {}))])
    return message.id


def text(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()


async def test_messages_are_listed_with_the_newest_first(client: httpx.AsyncClient) -> None:
    message_ids = [await sent(client) for _ in range(3)]
    assert await listed(client) == sorted(message_ids, reverse=True)


async def test_a_page_of_large_messages_ends_at_8_mb_and_the_next_one_goes_on(
    client: httpx.AsyncClient,
) -> None:
    large = [await sent(client, payload={"text": "a" * 900_000}) for _ in range(11)]
    newest = (await client.get(MESSAGES)).json()
    oldest = (await client.get(MESSAGES, params={"iterator": newest["iterator"]})).json()
    pages = [[message["id"] for message in page["data"]] for page in (newest, oldest)]
    assert [len(ids) for ids in pages] == [9, 2]
    assert pages[0] + pages[1] == sorted(large, reverse=True)
    assert (newest["done"], oldest["done"]) == (False, True)


async def test_a_list_has_payloads_unless_told_otherwise(client: httpx.AsyncClient) -> None:
    await sent(client, tags=["t"], channels=["eu"], eventId="e-1")
    (message,) = (await client.get(MESSAGES)).json()["data"]
    assert (message["payload"], message["tags"], message["channels"]) == ({"n": 1}, ["t"], ["eu"])
    assert (message["eventId"], message["deliverAt"]) == ("e-1", None)
    (message,) = (await client.get(MESSAGES, params={"with_content": "false"})).json()["data"]
    assert message["payload"] == {}


async def test_filters_hold_alone_and_together(client: httpx.AsyncClient) -> None:
    paid = await sent(client, "order.paid", channels=["eu"], tags=["a"])
    sent_eu = await sent(client, "order.sent", channels=["eu", "us"], tags=["b"])
    lost = await sent(client, "order.lost", tags=["a", "b"])
    assert await listed(client, channel="eu") == [sent_eu, paid]
    assert await listed(client, channel="asia") == []
    assert await listed(client, tag="a") == [lost, paid]
    assert await listed(client, event_types="order.lost") == [lost]
    assert await listed(client, event_types="order.lost,order.paid") == [lost, paid]
    assert await listed(client, event_types=["order.lost", "order.sent"]) == [lost, sent_eu]
    assert await listed(client, channel="eu", tag="a") == [paid]
    assert await listed(client, tag="a", event_types="order.lost") == [lost]
    assert await listed(client, channel="us", tag="a") == []


@pytest.mark.parametrize(
    "query",
    ["before=soon", "after=2020-13-01T00:00:00", "channel=a%20b", "tag=%00", "with_content=maybe"],
)
async def test_what_cannot_be_asked_for_is_refused(client: httpx.AsyncClient, query: str) -> None:
    answer = await client.get(f"{MESSAGES}?{query}")
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["query", query.partition("=")[0]]


async def test_a_list_is_walked_forwards_and_back(client: httpx.AsyncClient) -> None:
    message_ids = sorted([await sent(client) for _ in range(5)], reverse=True)

    async def read_page(mark: str | None) -> tuple[list[str], dict[str, Any]]:
        query = {"limit": 2} | ({} if mark is None else {"iterator": mark})
        page = (await client.get(MESSAGES, params=query)).json()
        return [message["id"] for message in page["data"]], page

    first, page = await read_page(None)
    assert (first, page["done"]) == (message_ids[:2], False)
    second, page = await read_page(page["iterator"])
    assert (second, page["done"]) == (message_ids[2:4], False)
    third, last = await read_page(page["iterator"])
    assert (third, last["done"]) == (message_ids[4:], True)
    again, page = await read_page(last["prevIterator"])
    assert (again, page["done"]) == (message_ids[2:4], False)
    again, page = await read_page(page["prevIterator"])
    assert (again, page["done"]) == (message_ids[:2], True)


async def test_before_and_after_are_instants_of_messages(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    now = time.time()
    old, middle, new = [await sent_at(hooks, now - ago) for ago in (30, 20, 10)]
    assert await listed(client, before=text(now - 20)) == [old]
    assert await listed(client, after=text(now - 20)) == [new, middle]
    assert await listed(client, after=text(now - 25), before=text(now - 15)) == [middle]
    assert await listed(client, after=text(now - 5)) == []
    message = (await client.get(f"{MESSAGES}/{middle}")).json()
    assert await listed(client, before=message["timestamp"]) == [old]
    assert await listed(client, after=message["timestamp"]) == [new, middle]


async def test_a_list_that_only_has_a_beginning_is_shown_from_there(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    now = time.time()
    message_ids = [await sent_at(hooks, now - ago) for ago in (40, 30, 20, 10)]
    after = text(now - 35)
    answer = await client.get(MESSAGES, params={"after": after, "limit": 2})
    page = answer.json()
    assert [message["id"] for message in page["data"]] == [message_ids[2], message_ids[1]]
    assert not page["done"]
    newer = {"after": after, "limit": 2, "iterator": page["prevIterator"]}
    answer = await client.get(MESSAGES, params=newer)
    assert [message["id"] for message in answer.json()["data"]] == [message_ids[3]]
    assert answer.json()["done"]


async def test_a_list_covers_90_days_unless_told_otherwise(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    day, now = 86_400.0, time.time()
    oldest, older, old = [await sent_at(hooks, now - ago * day) for ago in (300, 150, 100)]
    new = await sent(client)
    assert await listed(client) == [new]
    assert await listed(client, before=text(now - 99 * day)) == [old, older]
    assert await listed(client, after=text(now - 310 * day)) == [oldest]
    wide = {"after": text(now - 310 * day), "before": text(now - 1)}
    assert await listed(client, **wide) == [old, older, oldest]
    assert await listed(client, iterator=old) == [older]
    assert await listed(client, iterator=f"-{older}") == [old]


async def test_times_that_nobody_lives_in_find_nothing_or_everything(
    client: httpx.AsyncClient,
) -> None:
    await sent(client)
    for query in (
        {"before": "9999-12-31T23:59:59-14:00"},
        {"after": "9999-12-31T23:59:59Z"},
        {"before": "0001-01-01T00:00:00+14:00"},
        {"after": "0001-01-01T00:00:00Z"},
    ):
        assert await listed(client, **query) == []


async def test_a_message_is_got_by_its_id_and_its_event_id(client: httpx.AsyncClient) -> None:
    at = datetime.now(UTC) + timedelta(hours=1)
    message_id = await sent(client, eventId="e-1", deliverAt=at.isoformat())
    message = (await client.get(f"{MESSAGES}/{message_id}")).json()
    assert (await client.get(f"{MESSAGES}/e-1")).json() == message
    assert datetime.fromisoformat(message["deliverAt"]) == at
    bare = (await client.get(f"{MESSAGES}/e-1", params={"with_content": "false"})).json()
    assert bare == {**message, "payload": {}}
    assert (await client.get(f"{MESSAGES}/e-2")).status_code == 404


async def test_what_belongs_to_another_application_is_not_there(client: httpx.AsyncClient) -> None:
    message_id = await sent(client)
    await client.post("/api/v1/app", json={"name": "other", "uid": "other"})
    for method, path in (
        ("GET", ""),
        ("DELETE", "/content"),
        ("POST", "/cancel"),
    ):
        answer = await client.request(method, f"/api/v1/app/other/msg/{message_id}{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_an_expunged_message_says_nothing_any_more(client: httpx.AsyncClient) -> None:
    message_id = await sent(client)
    answer = await client.delete(f"{MESSAGES}/{message_id}/content")
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await client.get(f"{MESSAGES}/{message_id}")).json()["payload"] == {"expired": True}


async def test_several_are_expunged_at_once_and_what_is_not_there_is_told(
    client: httpx.AsyncClient,
) -> None:
    first, second, third = await sent(client), await sent(client, eventId="e-2"), await sent(client)
    answer = await client.post(f"{MESSAGES}/bulk-expunge", json={"ids": [first, "e-2", "nobody"]})
    results = {first: "expunged", "e-2": "expunged", "nobody": "not-found"}
    assert (answer.status_code, answer.json()) == (200, {"results": results})
    payloads = [
        (await client.get(f"{MESSAGES}/{message_id}")).json()["payload"]
        for message_id in (second, third)
    ]
    assert payloads == [{"expired": True}, {"n": 1}]


async def test_a_cancelled_message_waits_for_nothing(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    message_id = await sent(client)
    shop = await hooks.application("shop")
    (endpoint,) = (await hooks.store.page(Endpoints(shop.id), Cut())).entries
    assert (await hooks.lane(endpoint)).waiting == 1
    assert (await client.post(f"{MESSAGES}/{message_id}/cancel")).json() == {"cancelled": 1}
    assert (await client.post(f"{MESSAGES}/{message_id}/cancel")).json() == {"cancelled": 0}
    assert (await hooks.lane(endpoint)).waiting == 0


async def test_a_precheck_tells_whether_anybody_would_get_it(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    async def active(event: str, *channels: str) -> bool:
        body = {"eventType": event, "channels": list(channels) or None}
        answer = await client.post(f"{MESSAGES}/precheck/active", json=body)
        assert answer.status_code == 200
        is_active: bool = answer.json()["active"]
        return is_active

    shop = await hooks.application("shop")
    (all_of_it,) = (await hooks.store.page(Endpoints(shop.id), Cut())).entries
    assert await active("order.paid")
    await hooks.change_endpoint(all_of_it, standing=Standing.DISABLED)
    assert not await active("order.paid")
    await hooks.add_endpoint(
        shop, "https://example.com/eu", event_types=["order.paid"], channels=["eu"]
    )
    assert await active("order.paid", "eu")
    assert not await active("order.paid")
    assert not await active("order.sent", "eu")


async def test_a_precheck_looks_at_all_endpoints(client: httpx.AsyncClient, hooks: Hooks) -> None:
    many = await hooks.application("many")
    first = await hooks.add_endpoint(many, "https://example.com/", event_types=["nothing"])
    await hooks.store.put(replace(first, uid="zero"))
    await asyncio.gather(
        *(
            hooks.store.put(replace(first, id=ids.ENDPOINT + f"{number:027}", uid=None))
            for number in range(300)
        )
    )
    last = replace(first, id=ids.ENDPOINT + "z" * 27, uid=None, event_types=("order.paid",))
    await hooks.store.put(last)
    path = "/api/v1/app/many/msg/precheck/active"
    for event, active in (("order.paid", True), ("order.sent", False)):
        answer = await client.post(path, json={"eventType": event})
        assert answer.json() == {"active": active}
