"""Whole histories take seconds."""

from pathlib import Path

import pytest

WHOLE = {
    "test_histories.py",
    "test_registry.py",
    "test_postgres.py",
    "test_run.py",
    "test_sqlite.py",
}


@pytest.hookimpl(tryfirst=True)  # before those that are not asked for are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and item.path.name in WHOLE:
            item.add_marker(pytest.mark.slow)
