import asyncio
from pathlib import Path

import psycopg
import pytest

from tarry.errors import StoreError, StoreUnavailable
from tarry.service.model.task import Work
from tarry.service.outbox import put
from tarry.service.store.contract import Retention
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.samples import NOON, a_task, delivered, failed, new_message
from tarry.testing.store_contract.scene import Scene
from tests.service.store.postgres.waiting import someone_waits

pytestmark = pytest.mark.anyio

ALL = Retention(messages_before=NOON + 1)


async def test_a_backup_is_pg_dumps(store: PostgresStore, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="pg_dump"):
        await store.backup(tmp_path / "copy")


async def test_a_database_that_may_not_be_written_is_noticed(
    store: PostgresStore, tarry_url: str
) -> None:
    await store.check()
    with psycopg.connect(tarry_url, autocommit=True) as connection:
        (name,) = connection.execute("SELECT current_database()").fetchone() or ("",)
        connection.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    try:
        with pytest.raises(StoreUnavailable, match="read-only"):
            await PostgresStore.open(tarry_url)
    finally:
        with psycopg.connect(tarry_url, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')


async def test_all_is_swept_in_pieces(scene: Scene, store: PostgresStore, tarry_url: str) -> None:
    await store.add(
        [
            new_message(scene.application, key=f"k{number}", event_id=f"e{number}")
            for number in range(25)
        ]
    )
    await scene.settle(*map(delivered, await scene.due()))
    pieces = 0
    while await store.sweep(ALL, limit=10):
        pieces += 1
    assert pieces == 3
    with psycopg.connect(tarry_url) as connection:
        for table in ("message", "delivery", "attempt", "key", "event"):
            count = connection.execute(f"SELECT count(*) FROM tarry.{table}").fetchone()  # noqa: S608  our tables
            assert count == (0,), table
    assert (await scene.row()).waiting == 0


async def test_what_is_recovered_while_it_is_swept_stays(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    message = await scene.add()
    await scene.settle(failed(*await scene.due()))
    task = a_task(scene.endpoint, Work.RECOVER)
    await store.add_task(task)
    with psycopg.connect(tarry_url) as busy:
        busy.execute("SELECT FROM tarry.lane FOR UPDATE")  # the task will wait for it
        recovering = asyncio.create_task(store.advance(task, now=NOON, limit=10, lease=scene.lease))
        await someone_waits(tarry_url)
        assert await store.sweep(ALL, limit=10) == 0
        busy.rollback()
    assert (await recovering).done == 1
    assert [due.message for due in await scene.due()] == [message.id]


async def test_what_was_refused_long_ago_goes(store: PostgresStore, tarry_url: str) -> None:
    with psycopg.connect(tarry_url) as connection:
        put(connection, application="app_nobody", event_type="a", payload=b"{}")
    await store.collect(now=NOON, limit=10)
    assert await store.sweep(Retention(refused_before=NOON), limit=10) == 0
    assert await store.sweep(Retention(refused_before=NOON + 1), limit=10) == 1
    with psycopg.connect(tarry_url) as connection:
        assert connection.execute("SELECT FROM tarry.outbox_refused").fetchall() == []
