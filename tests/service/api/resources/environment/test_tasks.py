"""Background tasks over HTTP."""

from typing import Any

import httpx
import pytest

from tarry.service.api.resources.environment import tasks
from tarry.service.hooks import Hooks
from tarry.service.model import ids
from tarry.service.model.listing import Cut
from tarry.service.model.task import Task, Work
from tarry.service.store.kinds import Endpoints, Environment

pytestmark = pytest.mark.anyio

TASKS = "/api/v1/background-task"


async def added(hooks: Hooks, number: int, work: Work, **more: Any) -> str:  # noqa: ANN401  fields
    """A task that somebody asked for."""
    shop = await hooks.application("shop")
    (endpoint,) = (await hooks.store.page(Endpoints(shop.id), Cut())).entries
    task = Task(
        id=f"{ids.TASK}{number:027}",
        work=work,
        environment=hooks.environment,
        application=shop.id,
        endpoint=endpoint.id,
        lane=endpoint.lane,
        created_at=1_700_000_000.0 + number,
        **more,
    )
    await hooks.store.add_task(task)
    return task.id


@pytest.fixture
async def several(hooks: Hooks) -> dict[str, str]:
    """One running, one finished, one failed; and one that nobody asked for."""
    over: dict[str, Any] = {"finished_at": 1_700_000_009.0}
    return {
        "running": await added(hooks, 1, Work.RECOVER),
        "finished": await added(hooks, 2, Work.REPLAY_MISSING, data={"messagesSent": 3}, **over),
        "failed": await added(hooks, 3, Work.BULK_REPLAY, failed="it cannot be read", **over),
        "own": await added(hooks, 4, Work.DISCARD),
    }


async def listed(client: httpx.AsyncClient, **query: Any) -> list[str]:  # noqa: ANN401  a query
    answer = await client.get(TASKS, params=query)
    assert answer.status_code == 200, answer.text
    return [one["id"] for one in answer.json()["data"]]


async def test_tasks_are_listed_with_the_newest_first(
    client: httpx.AsyncClient, several: dict[str, str]
) -> None:
    known = [several["failed"], several["finished"], several["running"]]
    assert await listed(client) == known
    assert await listed(client, order="ascending") == known[::-1]


async def test_filters_hold_alone_and_together(
    client: httpx.AsyncClient, several: dict[str, str]
) -> None:
    for status in ("running", "finished", "failed"):
        assert await listed(client, status=status) == [several[status]]
    assert await listed(client, task="endpoint.replay") == [several["finished"]]
    assert await listed(client, task="endpoint.replay", status="finished") == [several["finished"]]
    assert await listed(client, task="endpoint.replay", status="running") == []
    assert await listed(client, task="message.broadcast") == []
    for wrong in ({"task": "endpoint.discard"}, {"status": "late"}):
        assert (await client.get(TASKS, params=wrong)).status_code == 422


async def test_a_task_tells_what_came_out(
    client: httpx.AsyncClient, several: dict[str, str]
) -> None:
    told = (await client.get(f"{TASKS}/{several['finished']}")).json()
    assert told == {
        "id": several["finished"],
        "status": "finished",
        "task": "endpoint.replay",
        "updatedAt": "2023-11-14T22:13:29Z",
        "data": {"messagesSent": 3},
    }
    told = (await client.get(f"{TASKS}/{several['running']}")).json()
    assert (told["status"], told["updatedAt"]) == ("running", "2023-11-14T22:13:21Z")
    told = (await client.get(f"{TASKS}/{several['failed']}")).json()
    assert (told["status"], told["data"]) == ("failed", {"error": "it cannot be read"})


async def test_a_task_of_somebody_else_is_not_there(
    client: httpx.AsyncClient, hooks: Hooks, several: dict[str, str]
) -> None:
    await hooks.store.put(Environment("org_other"))
    other = await hooks.within("org_other").application("other")
    task = await hooks.within("org_other").purge(other)
    for known in (task.id, several["own"], "qtask_nobody", "a%20b"):
        answer = await client.get(f"{TASKS}/{known}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert task.id not in await listed(client)


async def test_a_list_is_walked_past_what_nobody_asked_for(
    client: httpx.AsyncClient, hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "MOST", 3)
    works = [Work.RECOVER, *[Work.DISCARD] * 4, Work.RECOVER, Work.DISCARD, Work.RECOVER]
    made = [await added(hooks, number, work) for number, work in enumerate(works)]
    known = [made[7], made[5], made[0]]
    first = (await client.get(TASKS, params={"limit": 2})).json()
    assert ([one["id"] for one in first["data"]], first["done"]) == (known[:2], False)
    last = (await client.get(TASKS, params={"limit": 2, "iterator": first["iterator"]})).json()
    assert ([one["id"] for one in last["data"]], last["done"]) == (known[2:], True)
    back = {"limit": 1, "iterator": last["prevIterator"]}
    told = (await client.get(TASKS, params=back)).json()
    assert ([one["id"] for one in told["data"]], told["done"]) == (known[1:2], False)


async def test_payloads_of_an_application_are_purged_in_the_background(
    client: httpx.AsyncClient,
) -> None:
    answer = await client.post("/api/v1/app/shop/msg/expunge-all-contents")
    assert answer.status_code == 202
    told = answer.json()
    assert (told["status"], told["task"]) == ("running", "application.purge_content")
    found = (await client.get(f"{TASKS}/{told['id']}")).json()
    assert found == {**told, "data": {}}
