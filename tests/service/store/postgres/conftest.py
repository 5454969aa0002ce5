"""A store in an empty PostgreSQL database, and an application in it."""

from collections.abc import AsyncIterator

import pytest

from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.store_contract.scene import Scene


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def store(tarry_url: str) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(tarry_url)
    yield store
    await store.close()


@pytest.fixture
async def scene(store: PostgresStore) -> Scene:
    return await Scene.set_up(store)
