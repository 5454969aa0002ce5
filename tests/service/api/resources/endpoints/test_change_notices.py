import httpx
import pytest

from tarry.service.api.resources.endpoints import change_notices
from tarry.service.hooks import Hooks
from tarry.service.store.kinds import Notices

pytestmark = pytest.mark.anyio

WAY = "/api/v1/app/shop/endpoint"
OPERATIONAL = "/api/v1/operational-webhook/endpoint"
THERE = {"url": "https://example.com/there"}


async def test_while_nobody_listens_nothing_is_put_on_record(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    await client.post(WAY, json=THERE)
    assert await hooks.store.read(Notices(unsent=True)) == []


async def test_what_happens_to_an_endpoint_is_put_on_record_for_listeners(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    await client.post(OPERATIONAL, json=THERE)
    new = (await client.post(WAY, json={**THERE, "uid": "main"})).json()
    way = f"{WAY}/{new['id']}"
    await client.patch(way, json={"uid": "other"})
    await client.patch(f"{way}/headers", json={"headers": {"x-a": "1"}})
    await client.put(way, json=THERE)
    await client.delete(way)
    notices = await hooks.store.read(Notices(unsent=True))
    kinds = ["endpoint.created", *["endpoint.updated"] * 3, "endpoint.deleted"]
    assert sorted(one.kind for one in notices) == sorted(kinds)
    assert {one.endpoint for one in notices} == {new["id"]}
    uids = {one.facts["endpoint_uid"] for one in notices}
    assert uids == {"main", "other", None}


async def test_that_an_endpoint_is_enabled_or_disabled_is_told_as_well(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    await client.post(OPERATIONAL, json=THERE)
    new = (await client.post(WAY, json={**THERE, "uid": "main"})).json()
    way = f"{WAY}/{new['id']}"

    async def kinds() -> list[str]:
        found = await hooks.store.read(Notices(unsent=True))
        await hooks.store.mark_sent([one.id for one in found])
        assert {one.facts.get("trigger") for one in found if one.kind.endswith("disabled")} <= {
            "manual"
        }
        return sorted(one.kind for one in found)

    assert await kinds() == ["endpoint.created"]
    await client.patch(way, json={"disabled": True})
    assert await kinds() == ["endpoint.disabled", "endpoint.updated"]
    await client.patch(way, json={"disabled": True})
    assert await kinds() == ["endpoint.updated"]
    await client.post(f"{way}/resume")
    assert await kinds() == ["endpoint.enabled"]
    await client.post(f"{way}/pause")
    await client.post(f"{way}/resume")
    await client.put(f"{way}/policy", json={"attempts": 3})
    assert await kinds() == []


async def test_a_change_and_its_news_are_one_commit(
    client: httpx.AsyncClient, hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    await client.post(OPERATIONAL, json=THERE)
    new = (await client.post(WAY, json=THERE)).json()
    await hooks.store.mark_sent([one.id for one in await hooks.store.read(Notices(unsent=True))])

    def broken(*_: object) -> str:
        raise RuntimeError("there are no words for this")

    monkeypatch.setattr(change_notices, "_turned", broken)
    answer = await client.patch(f"{WAY}/{new['id']}", json={"description": "changed"})
    assert answer.status_code == 500
    assert (await client.get(f"{WAY}/{new['id']}")).json()["description"] == ""
    assert await hooks.store.read(Notices(unsent=True)) == []


async def test_what_is_refused_is_no_news(client: httpx.AsyncClient, hooks: Hooks) -> None:
    await client.post(OPERATIONAL, json=THERE)
    assert (await client.post(WAY, json={"url": "nope"})).status_code == 422
    assert (await client.delete(f"{WAY}/nobody")).status_code == 404
    assert await hooks.store.read(Notices(unsent=True)) == []


async def test_the_listeners_themselves_are_no_news(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    first = (await client.post(OPERATIONAL, json=THERE)).json()
    await client.post(OPERATIONAL, json=THERE)
    await client.post(f"{OPERATIONAL}/{first['id']}/secret/rotate")
    await client.delete(f"{OPERATIONAL}/{first['id']}")
    assert await hooks.store.read(Notices(unsent=True)) == []
