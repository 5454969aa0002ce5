"""Whole lists, page by page."""

import pytest

from tarry.service.model.application import Application
from tarry.service.model.listing import Cut, Found
from tarry.service.store.all_pages import PAGE_SIZE, all_pages

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("many", [0, 1, PAGE_SIZE - 1, PAGE_SIZE, PAGE_SIZE + 1, 3 * PAGE_SIZE])
async def test_everything_is_walked_through_once(many: int) -> None:
    applications = [
        Application(id=f"app_{n:05}", environment="org", name="", created_at=0.0, updated_at=0.0)
        for n in range(many)
    ]
    cuts: list[Cut] = []

    async def read_page(cut: Cut) -> Found[Application]:
        cuts.append(cut)
        return Found([entry for entry in applications if entry.id > cut.mark][: cut.limit])

    assert [application async for application in all_pages(read_page)] == applications
    assert len(cuts) <= many // PAGE_SIZE + 1
