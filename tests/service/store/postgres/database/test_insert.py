import asyncpg  # type: ignore[import-untyped]  # it ships no types
import pytest

from tarry.service.store.postgres.database.insert import COPY_FROM, insert_many

pytestmark = pytest.mark.anyio

COLUMNS = ("lane", "seq", "message", "state", "reason", "due_at", "accepted_at", "ended_at")


@pytest.mark.parametrize("many", [0, 1, COPY_FROM - 1, COPY_FROM, COPY_FROM + 1])
async def test_all_rows_are_there_whatever_the_way(tarry_url: str, many: int) -> None:
    rows = [(1, seq, f"msg_{seq}", "ready", "new", None, seq / 3, None) for seq in range(many)]
    connection = await asyncpg.connect(tarry_url)
    await insert_many(connection, "add_deliveries", "delivery", COLUMNS, rows)
    found = await connection.fetch(
        "SELECT lane, seq, message, state, reason, due_at, accepted_at, ended_at"
        " FROM tarry.delivery ORDER BY seq"
    )
    await connection.close()
    assert [tuple(row) for row in found] == rows
