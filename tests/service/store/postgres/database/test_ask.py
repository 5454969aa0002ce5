import asyncpg  # type: ignore[import-untyped]  # it ships no types
import pytest

from tarry.errors import StoreError
from tarry.service.store.postgres.database.ask import ask

pytestmark = pytest.mark.anyio


async def test_a_server_answers_with_its_own_settings(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    (expected,) = await connection.fetchrow("SHOW synchronous_commit")
    await connection.close()
    query = "SELECT current_setting('synchronous_commit') AS commit, 1 AS one"
    assert await ask(database_url, query) == {"commit": expected, "one": 1}


async def test_a_server_that_is_not_there_is_an_error_of_the_store() -> None:
    with pytest.raises(StoreError):
        await ask("postgresql://127.0.0.1:1/x", "SELECT 1")


async def test_a_query_that_the_server_refuses_is_an_error_of_the_store(database_url: str) -> None:
    with pytest.raises(StoreError, match="no_such_table"):
        await ask(database_url, "SELECT * FROM no_such_table")
