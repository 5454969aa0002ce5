import time
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tarry.errors import ServiceError
from tarry.service.api.http.problem import BadRequest
from tarry.service.api.resources.endpoints.stats import DAY, HOUR, StatsQuery, span
from tarry.service.store.kinds import Messages

pytestmark = pytest.mark.anyio

APP = "/api/v1/app/shop"
NOW = 2_000_000_000.0


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def test_without_a_word_it_is_the_last_four_weeks() -> None:
    assert span(StatsQuery(), NOW) == (NOW - 28 * DAY, NOW)
    until = StatsQuery(until=at(NOW - DAY))
    assert span(until, NOW) == (NOW - 29 * DAY, NOW - DAY)
    assert span(StatsQuery(since=at(NOW - DAY)), NOW) == (NOW - DAY, NOW)


@pytest.mark.parametrize(
    "query",
    [
        StatsQuery(until=at(NOW + HOUR)),
        StatsQuery(since=at(NOW - 29 * DAY)),
        StatsQuery(since=at(NOW - 40 * DAY), until=at(NOW - 10 * DAY)),
    ],
)
def test_a_span_that_is_to_come_or_too_long_is_refused(query: StatsQuery) -> None:
    with pytest.raises(ServiceError) as refused:
        span(query, NOW)
    assert isinstance(refused.value, BadRequest)
    assert refused.value.code == "invalid_range"


async def test_messages_are_counted_by_how_they_stand(live: Any) -> None:  # noqa: ANN401  see conftest
    new = (await live.client.post(f"{APP}/endpoint", json={"url": live.receiver.url})).json()
    path = f"{APP}/endpoint/{new['id']}"
    live.receiver.script([200, 400, 500])
    for _ in range(3):
        await live.client.post(f"{APP}/msg", json={"eventType": "a", "payload": {}})
        await live.arrived(1)
    await live.arrived(3)
    await live.client.patch(path, json={"standing": "paused"})
    ids = []
    for _ in range(3):
        sent = await live.client.post(f"{APP}/msg", json={"eventType": "a", "payload": {}})
        ids.append(sent.json()["id"])
    shop = await live.hooks.application("shop")
    await live.hooks.cancel(await live.hooks.store.get(Messages(shop.id), ids[0]))
    expected = {"success": 1, "pending": 2, "sending": 1, "fail": 1, "canceled": 1}
    stats = await settled(live, path, expected)
    assert stats == expected
    attempts = (await live.client.get(f"{path}/attempt-stats")).json()
    assert attempts == {"success": 1, "fail": 2, "canceled": 0}
    past = {"until": (datetime.now(UTC) - timedelta(hours=2)).isoformat()}
    for kind in ("stats", "attempt-stats"):
        answer = await live.client.get(f"{path}/{kind}", params=past)
        assert (answer.status_code, sum(answer.json().values())) == (200, 0)


async def settled(live: Any, path: str, expected: dict[str, int]) -> dict[str, int]:  # noqa: ANN401  see conftest
    """The counts once the dispatcher has written down what it did."""
    counts: dict[str, int] = {}
    give_up_at = time.monotonic() + 60
    while counts != expected and time.monotonic() < give_up_at:
        counts = (await live.client.get(f"{path}/stats")).json()
    return counts


async def test_a_span_is_checked_over_http(client: httpx.AsyncClient) -> None:
    (endpoint,) = (await client.get(f"{APP}/endpoint")).json()["data"]
    path = f"{APP}/endpoint/{endpoint['id']}/stats"
    answer = await client.get(path, params={"until": "2999-01-01T00:00:00Z"})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_range")
    answer = await client.get(path, params={"since": "yesterday"})
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["query", "since"])
    assert (await client.get(f"{APP}/endpoint/nobody/stats")).status_code == 404
