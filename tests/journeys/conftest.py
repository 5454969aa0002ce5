"""Stories of days, in virtual time: each takes seconds."""

from pathlib import Path

import pytest


@pytest.hookimpl(tryfirst=True)  # before those that are not asked for are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.slow)
