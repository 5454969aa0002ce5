from typing import Any

import httpx
import pytest

from tarry.service.api.http import paging
from tarry.service.api.http.paging import ListQuery, OrderedQuery, cut, page
from tarry.service.hooks import Hooks
from tarry.service.model.application import SHARDS
from tarry.service.model.lane import Stream, Want
from tarry.service.model.listing import Cut
from tarry.service.model.message import NewMessage
from tarry.service.store.kinds import Endpoints
from tarry.testing.samples import delivered

MANY, LOOK = 20, 3


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        (ListQuery(), Cut(51)),
        (ListQuery(limit=2, iterator="app_1"), Cut(3, "app_1")),
        (ListQuery(limit=2, iterator="-app_1"), Cut(3, "app_1", back=True)),
        (OrderedQuery(order="descending"), Cut(51, descending=True)),
    ],
)
def test_one_more_than_is_shown_is_asked_for(query: ListQuery, wanted: Cut) -> None:
    assert cut(query) == wanted


def test_the_order_that_is_asked_for_counts_more_than_the_usual_one() -> None:
    assert cut(OrderedQuery(), descending=True).descending
    assert not cut(OrderedQuery(order="ascending"), descending=True).descending


def test_a_page_leads_on_and_back() -> None:
    told = page([1, 2, 3], ListQuery(limit=2), str, lambda one: f"n{one}")
    assert (told.data, told.done) == (["1", "2"], False)
    assert (told.iterator, told.prev_iterator) == ("n2", "-n1")
    told = page([1, 2, 3], ListQuery(limit=2, iterator="-n4"), str, lambda one: f"n{one}")
    assert (told.data, told.done) == (["2", "3"], False)
    told = page([1], ListQuery(limit=2), str, lambda one: f"n{one}")
    assert (told.data, told.done) == (["1"], True)


def test_an_empty_page_leads_nowhere() -> None:
    told = page([], ListQuery(), str, str)
    assert (told.data, told.iterator, told.prev_iterator, told.done) == ([], None, None, True)


@pytest.mark.parametrize(
    ("found", "iterator", "leads"),
    [
        ([], "n0", ("n9", "-n9")),
        ([3, 4], "n0", ("n9", "-n3")),
        ([], "-n20", ("n9", "-n9")),
        ([11, 12], "-n20", ("n12", "-n9")),
    ],
)
def test_a_page_that_was_left_leads_on_from_there(
    found: list[int], iterator: str, leads: tuple[str, str]
) -> None:
    query = ListQuery(limit=2, iterator=iterator)
    told = page(found, query, str, lambda one: f"n{one}", left_at="n9")
    assert told.data == [str(one) for one in found]
    assert ((told.iterator, told.prev_iterator), told.done) == (leads, False)


async def walked(
    client: httpx.AsyncClient,
    way: str,
    leads: str,
    **query: Any,  # noqa: ANN401  a query
) -> list[list[str]]:
    """Every page of a list, as an SDK asks for them."""
    pages, done = list[list[str]](), False
    while not done:
        answer = await client.get(f"/api/v1/app/shop/{way}", params={"limit": 2, **query})
        assert answer.status_code == 200, answer.text
        told = answer.json()
        pages.append([one["id"] for one in told["data"]])
        done, query["iterator"] = told["done"], told[leads]
        assert len(pages) <= 2 * MANY
    return pages


@pytest.mark.anyio
@pytest.mark.parametrize("way", ["msg", "endpoint/{}/msg", "attempt/endpoint/{}"])
async def test_what_is_rare_is_found_both_ways_however_little_is_looked_at(
    hooks: Hooks, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    shop = await hooks.application("shop")
    rare = {4: ("rare",), 11: ("rare",), 12: ("rare",), 17: ("rare",)}
    new = [hooks.message(shop, "a", {}, tags=rare.get(place, ())) for place in range(MANY)]
    await hooks.send_many([NewMessage(one) for one in new])
    (endpoint,) = (await hooks.store.page(Endpoints(shop.id), Cut())).entries
    leases = await hooks.store.lease("worker", most=SHARDS, length=60)
    want = Want(lane=endpoint.lane, stream=Stream.READY, limit=MANY)
    due = (await hooks.store.fetch([want], now=1e10, most_bytes=10**9)).due
    await hooks.store.settle([delivered(one) for one in due], [], leases)
    await hooks.store.release(leases)

    way = way.format(endpoint.id)
    (whole,) = await walked(client, way, "iterator", tag="rare", limit=50)
    assert len(whole) == len(rare)
    monkeypatch.setattr(paging, "LOOK", LOOK)
    there = await walked(client, way, "iterator", tag="rare")
    assert [one for page in there for one in page] == whole
    assert [] in there, "there is nothing to be found in some"
    assert len(there) > MANY / LOOK
    back = await walked(client, way, "prevIterator", tag="rare", iterator=f"-{whole[-1]}")
    assert [one for page in reversed(back) for one in page] == whole[:-1]
    assert len(back) > 2


@pytest.mark.anyio
@pytest.mark.parametrize("iterator", ["zzz", "-zzz", "org_" + 27 * "0", "msg_1"])
async def test_what_leads_to_no_page_of_a_list_is_refused(
    hooks: Hooks, client: httpx.AsyncClient, iterator: str
) -> None:
    shop = await hooks.application("shop")
    message = (await hooks.send(shop, "a", {})).message.id
    (endpoint,) = (await hooks.store.page(Endpoints(shop.id), Cut())).entries
    below = ["endpoint", "msg", f"endpoint/{endpoint.id}/msg", f"attempt/endpoint/{endpoint.id}"]
    below += [f"attempt/msg/{message}", f"msg/{message}/endpoint", "undelivered"]
    ways = ["app", "key", "background-task", "operational-webhook/endpoint"]
    for way in (*ways, *(f"app/shop/{one}" for one in below)):
        answer = await client.get(f"/api/v1/{way}", params={"iterator": iterator})
        assert answer.status_code == 422, way
        (wrong,) = answer.json()["detail"]
        assert wrong["loc"] == ["query", "iterator"]
        assert "iterator or prevIterator of another page" in wrong["msg"]
