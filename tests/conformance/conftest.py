"""Real servers in processes of their own, on each database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.server import Server, serving


@pytest.fixture(params=["sqlite", "postgres"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a new database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'hooks.db'}"
    found: str = request.getfixturevalue("database_url")
    return found


@pytest.fixture
def server(db: str, tmp_path: Path) -> Iterator[Server]:
    with serving(db, tmp_path / "log") as server:
        yield server
