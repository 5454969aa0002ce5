"""The PostgreSQL store keeps the contract."""

from collections.abc import AsyncIterator

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import pytest

from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.store_contract import Later, StoreContract


class TestPostgresStore(StoreContract):
    @pytest.fixture
    async def store(self, tarry_url: str) -> AsyncIterator[PostgresStore]:
        store = await PostgresStore.open(tarry_url)
        yield store
        await store.close()

    @pytest.fixture
    async def other(self, tarry_url: str) -> AsyncIterator[PostgresStore]:
        other = await PostgresStore.open(tarry_url)
        yield other
        await other.close()

    @pytest.fixture
    async def later(self, tarry_url: str) -> Later:
        """Move the saved times back instead: a test cannot push the database's clock."""

        async def move_back(seconds: float) -> None:
            connection = await asyncpg.connect(tarry_url)
            for table in ("shard", "worker"):
                await connection.execute(
                    f"UPDATE tarry.{table} SET until = until - make_interval(secs => $1)",  # noqa: S608  our two tables
                    seconds,
                )
            await connection.close()

        return move_back
