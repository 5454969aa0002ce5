"""Fixtures for tests of the SQLite store: a file, a store on it, and a second store on it."""

import resource
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

import pytest

from tarry.service.store.sqlite.database.session import Session
from tarry.service.store.sqlite.database.threads import Threads
from tarry.service.store.sqlite.database.writer import Writer
from tarry.service.store.sqlite.store import SqliteStore, open_sqlite
from tarry.testing.store_contract.scene import Scene
from tests.migrated_file import make_migrated_file


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "hooks.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    store = await open_sqlite(make_migrated_file(path))
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


@pytest.fixture
async def threads(path: Path) -> AsyncIterator[Threads]:
    make_migrated_file(path)
    session = partial(Session, path, time.time)
    threads = Threads(path, time.time, partial(Writer, path, session))
    yield threads
    await threads.close()


@pytest.fixture
def full_disk(path: Path) -> Callable[[], AbstractContextManager[None]]:
    """Limit the size of files to the current length of the database's log."""

    @contextmanager
    def full() -> Iterator[None]:
        before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        size = path.with_name(path.name + "-wal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))

    return full
