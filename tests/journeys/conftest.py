"""Stories of days, in virtual time: each takes seconds."""

from pathlib import Path

import pytest

from tarry.testing.virtual_service import VirtualService
from tests.journeys.seeds import USUAL


@pytest.fixture(autouse=True)
def usual_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a service that is given no seed follow TARRY_TEST_SEED."""
    defaults = VirtualService.__init__.__kwdefaults__
    assert defaults
    monkeypatch.setitem(defaults, "seed", USUAL)


@pytest.hookimpl(tryfirst=True)  # before those that are not asked for are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.slow)
