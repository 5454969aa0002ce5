import asyncpg  # type: ignore[import-untyped]  # it ships no types
import pytest
from msgspec.structs import replace

from tarry.service.store.postgres.database.part import LEAST_ROWS_TO_COPY, held, insert_many, wake
from tarry.testing.samples import ALL_SHARDS
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio

COLUMNS = ("lane", "seq", "message", "state", "reason", "due_at", "accepted_at", "ended_at")


async def test_only_good_leases_are_held(scene: Scene, tarry_url: str) -> None:
    valid, old, others = scene.leases[:3]
    leases = [valid, replace(old, epoch=old.epoch - 1), replace(others, worker="somebody else")]
    connection = await asyncpg.connect(tarry_url)
    lanes = [
        await connection.fetchval(
            "INSERT INTO tarry.lane (application, shard) VALUES ('app', $1) RETURNING number",
            lease.shard,
        )
        for lease in leases
    ]
    assert await held(connection, lanes, leases) == {lanes[0]: valid.epoch}
    assert await held(connection, lanes, []) == {}
    assert await held(connection, [], leases) == {}
    await connection.execute("UPDATE tarry.shard SET until = clock_timestamp()")
    assert await held(connection, lanes, leases) == {lanes[0]: valid.epoch}
    await connection.execute("UPDATE tarry.shard SET epoch = epoch + 1, worker = 'worker-2'")
    assert await held(connection, lanes, leases) == {}
    await connection.close()


async def test_a_lane_is_up_before_it_is_told_of(scene: Scene, tarry_url: str) -> None:
    await scene.store.rest({scene.lane: 0}, scene.leases)
    connection = await asyncpg.connect(tarry_url)
    async with connection.transaction():
        await wake(connection, [scene.lane])
        assert await scene.store.woken(scene.leases) == []
    await connection.close()
    assert await scene.store.awake(ALL_SHARDS) == [scene.lane]
    assert await scene.store.woken(scene.leases) == [scene.lane]


@pytest.mark.parametrize(
    "count", [0, 1, LEAST_ROWS_TO_COPY - 1, LEAST_ROWS_TO_COPY, LEAST_ROWS_TO_COPY + 1]
)
async def test_all_rows_are_there_whatever_the_way(tarry_url: str, count: int) -> None:
    rows = [(1, seq, f"msg_{seq}", "ready", "new", None, seq / 3, None) for seq in range(count)]
    connection = await asyncpg.connect(tarry_url)
    await insert_many(connection, "add_deliveries", "delivery", COLUMNS, rows)
    stored = await connection.fetch(
        "SELECT lane, seq, message, state, reason, due_at, accepted_at, ended_at"
        " FROM tarry.delivery ORDER BY seq"
    )
    await connection.close()
    assert [tuple(row) for row in stored] == rows
