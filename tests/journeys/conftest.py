"""Stories of days, in virtual time: each takes seconds. A browser for those that have pages."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser

from tarry.testing.virtual_service import VirtualService
from tests.browser.chromium import chromium
from tests.journeys.seeds import USUAL


@pytest.fixture(autouse=True)
def usual_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a service that is given no seed follow TARRY_TEST_SEED."""
    defaults = VirtualService.__init__.__kwdefaults__
    assert defaults
    monkeypatch.setitem(defaults, "seed", USUAL)


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    """One browser for all tests of a file: each looks with a profile of its own."""
    async with chromium() as browser:
        yield browser


@pytest.hookimpl(tryfirst=True)  # before those that are not asked for are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.slow)
