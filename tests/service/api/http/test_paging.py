from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from tarry.service.api.http import paging
from tarry.service.api.http.paging import MOST_PAGE_BYTES, ListQuery, OrderedQuery, cut, page
from tarry.service.hooks import Hooks
from tarry.service.model.application import SHARDS
from tarry.service.model.lane import Stream, Want
from tarry.service.model.listing import Cut
from tarry.service.model.message import NewMessage
from tarry.service.store.kinds import Endpoints
from tarry.testing.samples import delivered

MANY, LOOK = 20, 3


@pytest.mark.parametrize(
    ("query", "part"),
    [
        (ListQuery(), Cut(51)),
        (ListQuery(limit=2, iterator="app_1"), Cut(3, "app_1")),
        (ListQuery(limit=2, iterator="-app_1"), Cut(3, "app_1", back=True)),
        (OrderedQuery(order="descending"), Cut(51, descending=True)),
    ],
)
def test_one_more_than_is_shown_is_asked_for(query: ListQuery, part: Cut) -> None:
    assert cut(query) == replace(part, most_bytes=MOST_PAGE_BYTES)


def test_the_order_that_is_asked_for_counts_more_than_the_usual_one() -> None:
    assert cut(OrderedQuery(), descending=True).descending
    assert not cut(OrderedQuery(order="ascending"), descending=True).descending


def test_a_page_leads_on_and_back() -> None:
    shown = page([1, 2, 3], ListQuery(limit=2), str, lambda entry: f"n{entry}")
    assert (shown.data, shown.done) == (["1", "2"], False)
    assert (shown.iterator, shown.prev_iterator) == ("n2", "-n1")
    shown = page([1, 2, 3], ListQuery(limit=2, iterator="-n4"), str, lambda entry: f"n{entry}")
    assert (shown.data, shown.done) == (["2", "3"], False)
    shown = page([1], ListQuery(limit=2), str, lambda entry: f"n{entry}")
    assert (shown.data, shown.done) == (["1"], True)


def test_an_empty_page_leads_nowhere() -> None:
    shown = page([], ListQuery(), str, str)
    assert (shown.data, shown.iterator, shown.prev_iterator, shown.done) == ([], None, None, True)


@pytest.mark.parametrize(
    ("entries", "iterator", "leads"),
    [
        ([], "n0", ("n9", "-n9")),
        ([3, 4], "n0", ("n9", "-n3")),
        ([], "-n20", ("n9", "-n9")),
        ([11, 12], "-n20", ("n12", "-n9")),
    ],
)
def test_a_page_that_was_left_leads_on_from_there(
    entries: list[int], iterator: str, leads: tuple[str, str]
) -> None:
    query = ListQuery(limit=2, iterator=iterator)
    shown = page(entries, query, str, lambda entry: f"n{entry}", left_at="n9")
    assert shown.data == [str(entry) for entry in entries]
    assert ((shown.iterator, shown.prev_iterator), shown.done) == (leads, False)


async def walked(
    client: httpx.AsyncClient,
    path: str,
    leads: str,
    **query: Any,  # noqa: ANN401  a query
) -> list[list[str]]:
    """Every page of a list, as an SDK asks for them."""
    pages, done = list[list[str]](), False
    while not done:
        answer = await client.get(f"/api/v1/app/shop/{path}", params={"limit": 2, **query})
        assert answer.status_code == 200, answer.text
        body = answer.json()
        pages.append([entry["id"] for entry in body["data"]])
        done, query["iterator"] = body["done"], body[leads]
        assert len(pages) <= 2 * MANY
    return pages


@pytest.mark.anyio
@pytest.mark.parametrize("url_path", ["msg", "endpoint/{}/msg", "attempt/endpoint/{}"])
async def test_what_is_rare_is_found_both_ways_however_little_is_looked_at(
    hooks: Hooks, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, url_path: str
) -> None:
    shop = await hooks.application("shop")
    rare = {4: ("rare",), 11: ("rare",), 12: ("rare",), 17: ("rare",)}
    new = [hooks.message(shop, "a", {}, tags=rare.get(number, ())) for number in range(MANY)]
    await hooks.send_many([NewMessage(entry) for entry in new])
    (endpoint,) = (await hooks.store.page(Endpoints(shop.id), Cut())).entries
    leases = await hooks.store.lease("worker", most=SHARDS, length=60)
    want = Want(lane=endpoint.lane, stream=Stream.READY, limit=MANY)
    due = (await hooks.store.fetch([want], now=1e10, most_bytes=10**9)).due
    await hooks.store.settle([delivered(entry) for entry in due], [], leases)
    await hooks.store.release(leases)

    url_path = url_path.format(endpoint.id)
    (whole,) = await walked(client, url_path, "iterator", tag="rare", limit=50)
    assert len(whole) == len(rare)
    monkeypatch.setattr(paging, "MOST_CHECKED", LOOK)
    pages = await walked(client, url_path, "iterator", tag="rare")
    assert [entry for page in pages for entry in page] == whole
    assert [] in pages, "there is nothing to be found in some"
    assert len(pages) > MANY / LOOK
    back = await walked(client, url_path, "prevIterator", tag="rare", iterator=f"-{whole[-1]}")
    assert [entry for page in reversed(back) for entry in page] == whole[:-1]
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
    paths = ["app", "key", "background-task", "operational-webhook/endpoint"]
    for path in (*paths, *(f"app/shop/{entry}" for entry in below)):
        answer = await client.get(f"/api/v1/{path}", params={"iterator": iterator})
        assert answer.status_code == 422, path
        (wrong,) = answer.json()["detail"]
        assert wrong["loc"] == ["query", "iterator"]
        assert "iterator or prevIterator of another page" in wrong["msg"]
