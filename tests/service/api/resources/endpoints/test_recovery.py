from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tarry.service.model.task import MOST_PENDING

pytestmark = pytest.mark.anyio

APP = "/api/v1/app/shop"


def ago(**long: float) -> str:
    return (datetime.now(UTC) - timedelta(**long)).isoformat()


@pytest.fixture
async def url_path(client: httpx.AsyncClient) -> str:
    (endpoint,) = (await client.get(f"{APP}/endpoint")).json()["data"]
    return f"{APP}/endpoint/{endpoint['id']}"


@pytest.mark.parametrize(
    ("operation", "task"),
    [
        ("recover", "endpoint.recover"),
        ("replay-missing", "endpoint.replay"),
        ("bulk-replay", "endpoint.bulk-replay"),
    ],
)
async def test_work_is_put_on_record(
    client: httpx.AsyncClient, url_path: str, operation: str, task: str
) -> None:
    answer = await client.post(f"{url_path}/{operation}", json={"since": ago(days=14)})
    assert answer.status_code == 202, answer.text
    new = answer.json()
    assert (new["status"], new["task"]) == ("running", task)
    assert new["id"].startswith("qtask_")
    assert datetime.fromisoformat(new["updatedAt"]).tzinfo is not None
    shown = (await client.get(f"/api/v1/background-task/{new['id']}")).json()
    assert shown["task"] == task
    key = {"idempotency-key": operation}
    period = {"since": ago(hours=1), "until": ago(hours=0)}
    answers = [
        await client.post(f"{url_path}/{operation}", json=period, headers=key) for _ in range(2)
    ]
    assert answers[0].json() == answers[1].json()


@pytest.mark.parametrize("operation", ["recover", "replay-missing", "bulk-replay"])
async def test_more_than_two_weeks_are_refused(
    client: httpx.AsyncClient, url_path: str, operation: str
) -> None:
    bodies: list[tuple[dict[str, Any], list[str]]] = [
        ({"since": ago(days=15)}, ["body", "since"]),
        ({}, ["body", "since"]),
        ({"since": "2026-01-01T00:00:00"}, ["body", "since"]),
        ({"since": ago(hours=1), "until": "later"}, ["body", "until"]),
    ]
    for body, loc in bodies:
        answer = await client.post(f"{url_path}/{operation}", json=body)
        assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, loc)
    answer = await client.post(f"{APP}/endpoint/nobody/{operation}", json={"since": ago(hours=1)})
    assert answer.status_code == 404


@pytest.mark.parametrize(
    ("fields", "loc"),
    [
        ({"status": 4}, ["body", "status"]),
        ({"status": 9}, ["body", "status"]),
        ({"statusCodeClass": 250}, ["body", "statusCodeClass"]),
        ({"eventTypes": []}, ["body", "eventTypes"]),
        ({"tag": ""}, ["body", "tag"]),
    ],
)
async def test_what_cannot_be_wanted_is_refused(
    client: httpx.AsyncClient, url_path: str, fields: dict[str, Any], loc: list[str]
) -> None:
    answer = await client.post(f"{url_path}/bulk-replay", json={"since": ago(hours=1), **fields})
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, loc)


@pytest.mark.parametrize("operation", ["recover", "replay-missing", "bulk-replay"])
async def test_a_request_that_a_pending_task_covers_is_answered_with_that_task(
    client: httpx.AsyncClient, url_path: str, operation: str
) -> None:
    async def post(**body: str) -> str:
        answer = await client.post(f"{url_path}/{operation}", json=body)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    first = await post(since=ago(hours=2))
    assert await post(since=ago(hours=2)) == first
    assert await post(since=ago(hours=1), until=ago(minutes=1)) == first
    earlier = await post(since=ago(hours=3))
    assert earlier != first
    assert await post(since=ago(hours=2, minutes=30)) == earlier
    listed = (await client.get("/api/v1/background-task")).json()["data"]
    assert [task["id"] for task in listed] == [earlier, first]


async def test_more_replays_than_may_be_pending_are_refused(
    client: httpx.AsyncClient, url_path: str
) -> None:
    for hours in range(MOST_PENDING):
        span = {"since": ago(hours=hours + 1), "until": ago(hours=hours)}
        assert (await client.post(f"{url_path}/bulk-replay", json=span)).status_code == 202
    answer = await client.post(f"{url_path}/recover", json={"since": ago(hours=1)})
    assert (answer.status_code, answer.json()["code"]) == (429, "too_many_replays")
    assert "10 recoveries and replays that are not done yet" in answer.json()["detail"]
    assert answer.headers["retry-after"] == "5"
    new = {"url": "https://other.example.com/in"}
    other = (await client.post(f"{APP}/endpoint", json=new)).json()["id"]
    answer = await client.post(f"{APP}/endpoint/{other}/recover", json={"since": ago(hours=1)})
    assert answer.status_code == 202, "another endpoint has its own"


async def finished(live: Any, answer: httpx.Response) -> dict[str, Any]:  # noqa: ANN401  see conftest
    """A task once it is done."""
    assert answer.status_code == 202, answer.text
    for _ in range(2000):
        task: dict[str, Any] = (
            await live.client.get(f"/api/v1/background-task/{answer.json()['id']}")
        ).json()
        if task["status"] != "running":
            return task
    raise AssertionError("it never finished")


async def test_what_failed_is_recovered_and_what_is_wanted_comes_again(
    live: Any,  # noqa: ANN401  see conftest
) -> None:
    new = (await live.client.post(f"{APP}/endpoint", json={"url": live.receiver.url})).json()
    url_path, ids = f"{APP}/endpoint/{new['id']}", []
    for status, tag in ((200, "a"), (400, "b")):
        live.receiver.script([status])
        body = {"eventType": "order.paid", "payload": {}, "tags": [tag]}
        ids.append((await live.client.post(f"{APP}/msg", json=body)).json()["id"])
        await live.arrived(len(ids))
    for _ in range(2000):
        stats = (await live.client.get(f"{url_path}/stats")).json()
        if (stats["success"], stats["fail"]) == (1, 1):
            break
    answer = await live.client.post(f"{url_path}/recover", json={"since": ago(hours=1)})
    assert (await finished(live, answer))["data"] == {"messagesSent": 1}
    assert [arrival.id for arrival in await live.arrived(3)] == [*ids, ids[1]]
    answer = await live.client.post(
        f"{url_path}/bulk-replay", json={"since": ago(hours=1), "tag": "a", "status": 0}
    )
    assert (await finished(live, answer))["data"] == {"messagesSent": 1}
    assert [arrival.id for arrival in await live.arrived(4)] == [*ids, ids[1], ids[0]]


async def test_a_new_endpoint_gets_what_was_there_before_it(
    live: Any,  # noqa: ANN401  see conftest
) -> None:
    body = {"eventType": "order.paid", "payload": {}}
    sent = (await live.client.post(f"{APP}/msg", json=body)).json()
    new = (await live.client.post(f"{APP}/endpoint", json={"url": live.receiver.url})).json()
    url_path = f"{APP}/endpoint/{new['id']}/replay-missing"
    answer = await live.client.post(url_path, json={"since": ago(hours=1)})
    assert (await finished(live, answer))["data"] == {"messagesSent": 1}
    assert [arrival.id for arrival in await live.arrived(1)] == [sent["id"]]
