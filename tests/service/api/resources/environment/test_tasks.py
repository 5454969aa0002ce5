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


async def added(hooks: Hooks, number: int, work: Work, **fields: Any) -> str:  # noqa: ANN401  fields
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
        **fields,
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
    return [task["id"] for task in answer.json()["data"]]


async def test_tasks_are_listed_with_the_newest_first(
    client: httpx.AsyncClient, several: dict[str, str]
) -> None:
    task_ids = [several["failed"], several["finished"], several["running"]]
    assert await listed(client) == task_ids
    assert await listed(client, order="ascending") == task_ids[::-1]


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
    task = (await client.get(f"{TASKS}/{several['finished']}")).json()
    assert task == {
        "id": several["finished"],
        "status": "finished",
        "task": "endpoint.replay",
        "updatedAt": "2023-11-14T22:13:29Z",
        "data": {"messagesSent": 3},
    }
    task = (await client.get(f"{TASKS}/{several['running']}")).json()
    assert (task["status"], task["updatedAt"]) == ("running", "2023-11-14T22:13:21Z")
    task = (await client.get(f"{TASKS}/{several['failed']}")).json()
    assert (task["status"], task["data"]) == ("failed", {"error": "it cannot be read"})


async def test_a_task_of_somebody_else_is_not_there(
    client: httpx.AsyncClient, hooks: Hooks, several: dict[str, str]
) -> None:
    await hooks.store.put(Environment("org_other"))
    other = await hooks.within("org_other").application("other")
    task = await hooks.within("org_other").purge(other)
    for name in (task.id, several["own"], "qtask_nobody", "a%20b"):
        answer = await client.get(f"{TASKS}/{name}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert task.id not in await listed(client)


async def test_a_list_is_walked_past_what_nobody_asked_for(
    client: httpx.AsyncClient, hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "MOST_PER_PAGE", 3)
    works = [Work.RECOVER, *[Work.DISCARD] * 4, Work.RECOVER, Work.DISCARD, Work.RECOVER]
    added_ids = [await added(hooks, number, work) for number, work in enumerate(works)]
    listed_ids = [added_ids[7], added_ids[5], added_ids[0]]
    first = (await client.get(TASKS, params={"limit": 2})).json()
    assert ([task["id"] for task in first["data"]], first["done"]) == (listed_ids[:2], False)
    last = (await client.get(TASKS, params={"limit": 2, "iterator": first["iterator"]})).json()
    assert ([task["id"] for task in last["data"]], last["done"]) == (listed_ids[2:], True)
    back = {"limit": 1, "iterator": last["prevIterator"]}
    page = (await client.get(TASKS, params=back)).json()
    assert ([task["id"] for task in page["data"]], page["done"]) == (listed_ids[1:2], False)


async def test_payloads_of_an_application_are_purged_in_the_background(
    client: httpx.AsyncClient,
) -> None:
    answer = await client.post("/api/v1/app/shop/msg/expunge-all-contents")
    assert answer.status_code == 202
    started = answer.json()
    assert (started["status"], started["task"]) == ("running", "application.purge_content")
    shown = (await client.get(f"{TASKS}/{started['id']}")).json()
    assert shown == {**started, "data": {}}
