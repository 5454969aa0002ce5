"""What is not delivered, over HTTP."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tarry.service.api.resources.attempts import undelivered
from tarry.service.hooks import Hooks
from tarry.service.model.application import Application
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.listing import Cut
from tarry.service.store.kinds import Endpoints, Environment

pytestmark = pytest.mark.anyio

ALL, SHOP = "/api/v1/undelivered", "/api/v1/app/shop/undelivered"
LATER = datetime(2099, 1, 1, tzinfo=UTC).timestamp()


@pytest.fixture
async def shop(hooks: Hooks) -> Application:
    return await hooks.application("shop")


@pytest.fixture
async def endpoint(hooks: Hooks, shop: Application) -> Endpoint:
    """The one that is paused."""
    (endpoint,) = (await hooks.store.page(Endpoints(shop.id), Cut())).entries
    return endpoint


async def read_page(client: httpx.AsyncClient, path: str, **query: Any) -> dict[str, Any]:  # noqa: ANN401  a query
    answer = await client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def listed(client: httpx.AsyncClient, path: str, **query: Any) -> list[str]:  # noqa: ANN401  a query
    return [delivery["msgId"] for delivery in (await read_page(client, path, **query))["data"]]


async def test_what_waits_is_told_with_its_reason(
    client: httpx.AsyncClient, hooks: Hooks, shop: Application, endpoint: Endpoint
) -> None:
    accepted = await hooks.send(shop, "order.paid", {})
    for path in (ALL, SHOP):
        page = await read_page(client, path)
        assert page["done"]
        (delivery,) = page["data"]
        assert datetime.fromisoformat(delivery.pop("acceptedAt")).year > 2000
        assert delivery == {
            "appId": shop.id,
            "endpointId": endpoint.id,
            "msgId": accepted.message.id,
            "state": "ready",
            "reason": "paused",
            "nextAt": None,
            "attempts": 0,
            "tries": 0,
            "endedAt": None,
        }


async def test_what_is_for_later_was_accepted_when_it_came(
    client: httpx.AsyncClient, hooks: Hooks, shop: Application
) -> None:
    accepted = await hooks.send(shop, "order.paid", {}, deliver_at=LATER)
    (delivery,) = (await read_page(client, SHOP))["data"]
    accepted_at = datetime.fromisoformat(delivery["acceptedAt"]).timestamp()
    assert accepted_at == pytest.approx(accepted.message.accepted_at, abs=0.01)


async def test_what_is_over_is_not_told(
    client: httpx.AsyncClient, hooks: Hooks, shop: Application
) -> None:
    accepted = await hooks.send(shop, "order.paid", {})
    await hooks.cancel(accepted.message)
    assert await listed(client, ALL) == []


async def test_filters_hold_alone_and_together(
    client: httpx.AsyncClient, hooks: Hooks, shop: Application, endpoint: Endpoint
) -> None:
    other = await hooks.add_endpoint(shop, "https://example.com/b", uid="other", event_types=["b"])
    paused = (await hooks.send(shop, "a", {})).message.id
    later = (await hooks.send(shop, "b", {}, deliver_at=LATER)).message.id
    assert await listed(client, SHOP) == [paused, later, later]
    assert await listed(client, SHOP, endpoint_id="other") == [later]
    assert await listed(client, SHOP, endpoint_id=endpoint.id) == [paused, later]
    assert await listed(client, ALL, state="ready") == [paused]
    assert await listed(client, ALL, state="waiting") == [later, later]
    assert await listed(client, ALL, state="failed") == []
    assert await listed(client, ALL, reason="paused") == [paused, later]
    assert await listed(client, ALL, reason="scheduled") == [later]
    assert await listed(client, ALL, reason="paused", state="waiting") == [later]
    (delivery,) = (await read_page(client, SHOP, endpoint_id=other.id))["data"]
    assert datetime.fromisoformat(delivery["nextAt"]).year == 2099
    for wrong in ({"state": "delivered"}, {"reason": "x"}, {"limit": 0}):
        assert (await client.get(ALL, params=wrong)).status_code == 422
    for iterator in ("1", "1.1", "AQNvbmU=", "x" * 300):
        refused = await client.get(ALL, params={"iterator": iterator})
        assert refused.status_code == 422
        assert "of another page of this list" in refused.text
    assert (await client.get(SHOP, params={"endpoint_id": "nobody"})).status_code == 404


async def test_pages_lead_on_across_applications(client: httpx.AsyncClient, hooks: Hooks) -> None:
    message_ids = []
    for name in ("shop", "second", "third"):
        application = await hooks.application(name)
        await hooks.add_endpoint(application, "https://example.com/", standing=Standing.PAUSED)
        message_ids += [(await hooks.send(application, "a", {})).message.id for _ in range(2)]
    whole = await listed(client, ALL)
    assert sorted(whole) == sorted([*message_ids, *message_ids[:2]])  # the shop has two endpoints
    for limit in (1, 3, 8):
        walked, mark = list[str](), dict[str, str]()
        while True:
            page = await read_page(client, ALL, limit=limit, **mark)
            walked += [delivery["msgId"] for delivery in page["data"]]
            if page["done"]:
                break
            assert len(page["data"]) == limit
            mark = {"iterator": page["iterator"]}
        assert walked == whole


async def test_of_each_endpoint_the_first_tells_where_anything_waits(
    client: httpx.AsyncClient,
    hooks: Hooks,
    shop: Application,
    endpoint: Endpoint,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = await hooks.add_endpoint(shop, "https://example.com/b", standing=Standing.PAUSED)
    first = (await hooks.send(shop, "a", {}, deliver_at=LATER)).message.id
    second = (await hooks.send(shop, "a", {})).message.id
    for _ in range(5):
        await hooks.send(shop, "a", {})
    for most in (2, 250):  # pieces that end within a lane, and that do not
        monkeypatch.setattr(undelivered, "MOST_PER_PAGE", most)
        for path in (ALL, SHOP):
            whole = (await read_page(client, path, first_of_each=True))["data"]
            assert [delivery["msgId"] for delivery in whole] == [first, first]
            assert {delivery["endpointId"] for delivery in whole} == {endpoint.id, other.id}
            ready = (await read_page(client, path, first_of_each=True, state="ready"))["data"]
            assert [delivery["msgId"] for delivery in ready] == [second, second]
            live = (await read_page(client, path, first_of_each=True, state="live"))["data"]
            assert live == whole
        page = await read_page(client, ALL, first_of_each=True, limit=1)
        rest = await read_page(client, ALL, first_of_each=True, iterator=page["iterator"])
        endpoint_ids = [delivery["endpointId"] for delivery in page["data"] + rest["data"]]
        assert sorted(endpoint_ids) == sorted([endpoint.id, other.id])


async def settled(client: httpx.AsyncClient) -> None:
    """Wait until nothing waits for the endpoint that refuses."""
    async with asyncio.timeout(120):
        lane = "/api/v1/app/shop/endpoint/refuses/lane"
        while (await client.get(lane)).json()["backlog"]:  # noqa: ASYNC110  nobody tells
            await asyncio.sleep(0.01)


async def test_where_nothing_waits_what_failed_is_passed_over(
    live: Any,  # noqa: ANN401  see conftest
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(undelivered, "MOST_PER_PAGE", 2)
    monkeypatch.setattr(undelivered, "MOST_QUERIES", 2)
    shop = await live.hooks.application("shop")
    await live.hooks.add_endpoint(shop, live.receiver.url, uid="refuses")
    live.receiver.script([400] * 8)
    for _ in range(8):
        await live.hooks.send(shop, "a", {})
    await settled(live.client)
    waits = {"standing": Standing.PAUSED, "channels": ["b"]}
    await live.hooks.add_endpoint(shop, "https://example.com/", **waits)
    live.receiver.script([400])
    last = (await live.hooks.send(shop, "a", {}, channels=["b"])).message.id
    await settled(live.client)
    for path in (ALL, SHOP):
        assert await listed(live.client, path, state="live") == [last]
        assert await listed(live.client, path, state="live", first_of_each=True) == [last]
        assert await listed(live.client, path, state="ready") == [], "it looks no further"


async def test_a_page_that_would_take_too_long_is_shown_as_it_is(
    client: httpx.AsyncClient,
    hooks: Hooks,
    shop: Application,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(undelivered, "MOST_PER_PAGE", 2)
    monkeypatch.setattr(undelivered, "MOST_QUERIES", 2)
    for _ in range(5):
        await hooks.send(shop, "a", {})
    last = (await hooks.send(shop, "a", {}, deliver_at=LATER)).message.id
    first = await read_page(client, ALL, state="waiting")
    assert (first["data"], first["done"]) == ([], False)
    second = await read_page(client, ALL, state="waiting", iterator=first["iterator"])
    assert [delivery["msgId"] for delivery in second["data"]] == [last]
    third = await read_page(client, ALL, state="waiting", iterator=second["iterator"])
    assert (third["data"], third["iterator"], third["done"]) == ([], None, True)


async def test_what_belongs_to_another_environment_is_not_told(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    await hooks.store.put(Environment("org_other"))
    elsewhere = hooks.within("org_other")
    foreign = await elsewhere.application("foreign")
    await elsewhere.add_endpoint(foreign, "https://example.com/", standing=Standing.PAUSED)
    await elsewhere.send(foreign, "a", {})
    assert await listed(client, ALL) == []
    assert (await client.get("/api/v1/app/foreign/undelivered")).status_code == 404
