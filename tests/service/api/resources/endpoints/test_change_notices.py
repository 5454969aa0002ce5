import httpx
import pytest

from tarry.service.api.resources.endpoints import change_notices
from tarry.service.hooks import Hooks
from tarry.service.store.kinds import Notices

pytestmark = pytest.mark.anyio

PATH = "/api/v1/app/shop/endpoint"
OPERATIONAL = "/api/v1/operational-webhook/endpoint"
ENDPOINT = {"url": "https://example.com/there"}


async def test_while_nobody_listens_nothing_is_put_on_record(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    await client.post(PATH, json=ENDPOINT)
    assert await hooks.store.read(Notices(unsent=True)) == []


async def test_what_happens_to_an_endpoint_is_put_on_record_for_listeners(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    await client.post(OPERATIONAL, json=ENDPOINT)
    new = (await client.post(PATH, json={**ENDPOINT, "uid": "main"})).json()
    path = f"{PATH}/{new['id']}"
    await client.patch(path, json={"uid": "other"})
    await client.patch(f"{path}/headers", json={"headers": {"x-a": "1"}})
    await client.put(path, json=ENDPOINT)
    await client.delete(path)
    notices = await hooks.store.read(Notices(unsent=True))
    kinds = ["endpoint.created", *["endpoint.updated"] * 3, "endpoint.deleted"]
    assert sorted(notice.kind for notice in notices) == sorted(kinds)
    assert {notice.endpoint for notice in notices} == {new["id"]}
    uids = {notice.facts["endpoint_uid"] for notice in notices}
    assert uids == {"main", "other", None}


async def test_that_an_endpoint_is_enabled_or_disabled_is_told_as_well(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    await client.post(OPERATIONAL, json=ENDPOINT)
    new = (await client.post(PATH, json={**ENDPOINT, "uid": "main"})).json()
    path = f"{PATH}/{new['id']}"

    async def kinds() -> list[str]:
        unsent = await hooks.store.read(Notices(unsent=True))
        await hooks.store.mark_sent([notice.id for notice in unsent])
        assert {
            notice.facts.get("trigger") for notice in unsent if notice.kind.endswith("disabled")
        } <= {"manual"}
        return sorted(notice.kind for notice in unsent)

    assert await kinds() == ["endpoint.created"]
    await client.patch(path, json={"disabled": True})
    assert await kinds() == ["endpoint.disabled", "endpoint.updated"]
    await client.patch(path, json={"disabled": True})
    assert await kinds() == ["endpoint.updated"]
    await client.post(f"{path}/resume")
    assert await kinds() == ["endpoint.enabled"]
    await client.post(f"{path}/pause")
    await client.post(f"{path}/resume")
    await client.put(f"{path}/policy", json={"attempts": 3})
    assert await kinds() == []


async def test_a_change_and_its_news_are_one_commit(
    client: httpx.AsyncClient, hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    await client.post(OPERATIONAL, json=ENDPOINT)
    new = (await client.post(PATH, json=ENDPOINT)).json()
    await hooks.store.mark_sent(
        [notice.id for notice in await hooks.store.read(Notices(unsent=True))]
    )

    def broken(*_: object) -> str:
        raise RuntimeError("there are no words for this")

    monkeypatch.setattr(change_notices, "_kind_of_standing_change", broken)
    answer = await client.patch(f"{PATH}/{new['id']}", json={"description": "changed"})
    assert answer.status_code == 500
    assert (await client.get(f"{PATH}/{new['id']}")).json()["description"] == ""
    assert await hooks.store.read(Notices(unsent=True)) == []


async def test_what_is_refused_is_no_news(client: httpx.AsyncClient, hooks: Hooks) -> None:
    await client.post(OPERATIONAL, json=ENDPOINT)
    assert (await client.post(PATH, json={"url": "nope"})).status_code == 422
    assert (await client.delete(f"{PATH}/nobody")).status_code == 404
    assert await hooks.store.read(Notices(unsent=True)) == []


async def test_the_listeners_themselves_are_no_news(
    client: httpx.AsyncClient, hooks: Hooks
) -> None:
    first = (await client.post(OPERATIONAL, json=ENDPOINT)).json()
    await client.post(OPERATIONAL, json=ENDPOINT)
    await client.post(f"{OPERATIONAL}/{first['id']}/secret/rotate")
    await client.delete(f"{OPERATIONAL}/{first['id']}")
    assert await hooks.store.read(Notices(unsent=True)) == []
