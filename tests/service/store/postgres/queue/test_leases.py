import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import psycopg
import pytest

from tarry.service.model.application import SHARDS
from tarry.service.store.postgres.database.part import held
from tarry.service.store.postgres.store import CONNECTIONS, PostgresStore
from tarry.testing.samples import ALL_SHARDS, delivered
from tarry.testing.store_contract.scene import LEASE_LENGTH, WORKER, Scene
from tests.service.store.postgres.waiting import someone_waits

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def writing(scene: Scene, url: str) -> AsyncIterator[None]:
    """Provide an owner that has checked its lease and is about to commit."""
    connection = await asyncpg.connect(url)
    async with connection.transaction():
        assert await held(connection, [scene.lane], scene.leases) == {scene.lane: 1}
        yield
    await connection.close()


async def test_time_is_the_databases(store: PostgresStore, tarry_url: str) -> None:
    with psycopg.connect(tarry_url) as connection:
        (before,) = connection.execute(
            "SELECT extract(epoch FROM clock_timestamp())::float8"
        ).fetchone() or (0.0,)
        assert before <= (await store.server()).now < before + 60


async def test_a_shard_whose_owner_is_writing_is_not_taken_even_when_its_time_is_over(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    async with writing(scene, tarry_url):
        with psycopg.connect(tarry_url) as moving:
            moving.execute("UPDATE tarry.shard SET until = '-infinity'")
        taken = await store.lease("worker-2", most=SHARDS, length=LEASE_LENGTH)
        assert {lease.shard for lease in taken} == set(ALL_SHARDS) - {scene.lease.shard}
    (late,) = await store.lease("worker-2", most=SHARDS, length=LEASE_LENGTH)
    assert late.shard == scene.lease.shard


async def test_a_lease_is_renewed_while_its_owner_is_writing_and_kept_from_others_all_the_same(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    async with writing(scene, tarry_url):
        async with asyncio.timeout(120):
            assert await store.renew(WORKER, scene.leases, length=LEASE_LENGTH) == scene.leases
        with psycopg.connect(tarry_url) as moving:
            moving.execute("UPDATE tarry.shard SET until = '-infinity'")
        taken = await store.lease("worker-2", most=SHARDS, length=LEASE_LENGTH)
        assert scene.lease.shard not in {lease.shard for lease in taken}


async def test_a_shard_is_given_back_when_what_is_being_written_is_written(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    async with writing(scene, tarry_url):
        giving = asyncio.create_task(store.release(scene.leases))
        await someone_waits(tarry_url)
        assert not giving.done()
    await giving
    assert len(await store.lease("worker-2", most=SHARDS, length=LEASE_LENGTH)) == SHARDS


async def test_whoever_checks_a_lease_while_it_is_taken_over_waits_and_has_lost_it(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    await scene.store.put(scene.endpoint)
    with psycopg.connect(tarry_url) as moving:
        moving.execute("SELECT FROM tarry.shard FOR UPDATE")
        moving.execute("UPDATE tarry.shard SET epoch = epoch + 1, worker = 'worker-2'")
        checking = asyncio.create_task(scene.settle(*map(delivered, await scene.due())))
        listening = asyncio.create_task(store.woken(scene.leases))
        await someone_waits(tarry_url)
        moving.commit()
    assert True not in await checking
    assert await listening == []


async def test_two_who_take_at_once_get_different_shards(
    store: PostgresStore, tarry_url: str
) -> None:
    other = await PostgresStore.open(tarry_url)
    taken = await asyncio.gather(
        *(
            either.lease(f"worker-{number}", most=20, length=LEASE_LENGTH)
            for number, either in enumerate((store, other) * 2)
        )
    )
    await other.close()
    shards = [lease.shard for leases in taken for lease in leases]
    assert len(shards) == len(set(shards))


async def test_a_worker_that_is_long_dead_is_forgotten(
    store: PostgresStore, tarry_url: str
) -> None:
    await store.lease("dead", most=0, length=LEASE_LENGTH)
    with psycopg.connect(tarry_url) as connection:
        connection.execute("UPDATE tarry.worker SET until = until - interval '2 hours'")
    await store.lease(WORKER, most=1, length=LEASE_LENGTH)
    with psycopg.connect(tarry_url) as connection:
        assert connection.execute("SELECT id FROM tarry.worker").fetchall() == [(WORKER,)]


async def test_a_lane_is_not_put_to_rest_while_somebody_adds_to_it(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    with psycopg.connect(tarry_url) as adding:
        adding.execute("UPDATE tarry.lane SET added = added + 1")
        resting = asyncio.create_task(store.rest({scene.lane: 0}, scene.leases))
        await someone_waits(tarry_url)
        adding.commit()
    assert await resting == set()
    assert await store.awake(ALL_SHARDS) == [scene.lane]


async def test_a_wake_up_that_comes_while_one_is_answered_is_not_lost(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    await store.put(scene.endpoint)
    with psycopg.connect(tarry_url) as second:
        second.execute("INSERT INTO tarry.wake (shard, lane) SELECT shard, number FROM tarry.lane")
        assert await store.woken(scene.leases) == [scene.lane]
        second.commit()
    assert await store.woken(scene.leases) == [scene.lane]
    assert await store.woken(scene.leases) == []


async def test_leases_are_kept_while_reads_use_all_connections(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    database = store._database  # noqa: SLF001  what has the connections
    with psycopg.connect(tarry_url) as other:
        other.execute("SELECT pg_advisory_xact_lock(7)")
        reads = [
            asyncio.create_task(database.fetch("SELECT pg_advisory_xact_lock_shared(7)"))
            for _ in range(2 * CONNECTIONS)
        ]
        await someone_waits(tarry_url)
        async with asyncio.timeout(120):
            renewed = await store.renew(WORKER, scene.leases, length=LEASE_LENGTH)
            assert (await store.server()).workers == 1
            await store.lease(WORKER, most=SHARDS, length=LEASE_LENGTH)
        assert renewed == scene.leases
        assert not any(read.done() for read in reads)
        other.rollback()
    await asyncio.gather(*reads)
