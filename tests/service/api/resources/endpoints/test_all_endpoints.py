"""All of something that an operation has to look at."""

import httpx
import pytest

from tarry.service.hooks import Hooks
from tarry.service.model.endpoint import Standing
from tarry.service.store import all_pages

pytestmark = pytest.mark.anyio


async def test_an_operation_looks_at_every_endpoint_however_many_there_are(
    client: httpx.AsyncClient, hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_pages, "PAGE_SIZE", 2)
    many = await hooks.application("many")
    for number in range(5):
        await hooks.add_endpoint(many, "https://example.com/", event_types=[f"kind.{number}"])

    async def active(kind: str) -> bool:
        answer = await client.post("/api/v1/app/many/msg/precheck/active", json={"eventType": kind})
        is_active: bool = answer.json()["active"]
        return is_active

    assert all([await active(f"kind.{number}") for number in range(5)])
    assert not await active("kind.5")
    other = await hooks.application("other")
    await hooks.add_endpoint(other, "https://example.com/", standing=Standing.PAUSED)
    assert not await active("kind.5"), "another application's is no matter"
