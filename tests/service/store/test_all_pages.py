"""Whole lists, page by page."""

import pytest

from tarry.service.model.application import Application
from tarry.service.model.listing import Cut, Found
from tarry.service.store.all_pages import PAGE, all_pages

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("many", [0, 1, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE])
async def test_everything_is_walked_through_once(many: int) -> None:
    there = [
        Application(id=f"app_{n:05}", environment="org", name="", created_at=0.0, updated_at=0.0)
        for n in range(many)
    ]
    asked: list[Cut] = []

    async def ask(cut: Cut) -> Found[Application]:
        asked.append(cut)
        return Found([one for one in there if one.id > cut.mark][: cut.limit])

    assert [one async for one in all_pages(ask)] == there
    assert len(asked) <= many // PAGE + 1
