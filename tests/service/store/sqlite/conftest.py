"""What tests of the SQLite store have in common: a file, a store on it, and another one."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tarry.service.store.sqlite.store import SqliteStore, open_sqlite
from tarry.testing.store_contract.scene import Scene


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "hooks.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    store = await open_sqlite(path)
    yield store
    await store.close()


@pytest.fixture
async def other(store: SqliteStore, path: Path) -> AsyncIterator[SqliteStore]:
    """Open the same file once more, as another process would."""
    await store.check()
    other = await open_sqlite(path, migrate=False)
    yield other
    await other.close()


@pytest.fixture
async def scene(store: SqliteStore) -> Scene:
    return await Scene.set_up(store)
