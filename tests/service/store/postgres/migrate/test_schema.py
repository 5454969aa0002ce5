import asyncio
import re
import time

import psycopg
import pytest
from msgspec.structs import replace
from psycopg.sql import SQL, Identifier

from tarry.errors import SchemaMismatch
from tarry.service.model import ids
from tarry.service.model.listing import Cut
from tarry.service.model.settings import DAY
from tarry.service.model.task import Work
from tarry.service.store.kinds import Notices, Tasks
from tarry.service.store.migrate import script
from tarry.service.store.postgres.database import address, pool
from tarry.service.store.postgres.database.pool import Database
from tarry.service.store.postgres.database.rows import from_notice
from tarry.service.store.postgres.migrate import schema
from tarry.service.store.postgres.migrate.schema import (
    NEWEST_VERSION,
    STEPS,
    PostgresMigrator,
    open_migrator,
)
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.samples import a_notice, a_task, an_endpoint

pytestmark = pytest.mark.anyio

TABLES = (
    "api_key application attempt audit claim data_key delivery endpoint environment event"
    " event_type kept key lane lane_state leaving message migration notice origin outbox"
    " outbox_refused policy resend shard task wake worker"
)


async def test_an_empty_database_is_brought_up_and_then_left_alone(database_url: str) -> None:
    async with open_migrator(database_url) as migrator:
        before = await migrator.status()
        assert (before.found, before.wanted) == (0, NEWEST_VERSION)
        assert await migrator.up() == before
        assert (await migrator.up()).pending == ()
        assert (await migrator.status()).found == NEWEST_VERSION


async def test_a_step_may_take_longer_than_anything_else(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        database_name = Identifier(connection.info.dbname)
        connection.execute(
            SQL("ALTER DATABASE {} SET statement_timeout = 2000").format(database_name)
        )
    slow = replace(STEPS[0], sql=f"SELECT pg_sleep(2.5); {STEPS[0].sql}")
    monkeypatch.setattr(schema, "STEPS", [slow, *STEPS[1:]])
    monkeypatch.setattr(pool, "ANSWER_WITHIN", 2.0)
    async with open_migrator(database_url) as migrator:
        await migrator.up()
        assert (await migrator.status()).found == NEWEST_VERSION


async def test_of_many_processes_that_bring_it_up_one_does(database_url: str) -> None:
    databases = [Database(address.read(database_url)) for _ in range(4)]
    before = await asyncio.gather(*(PostgresMigrator(database).up() for database in databases))
    assert sorted(status.found for status in before) == [
        0,
        NEWEST_VERSION,
        NEWEST_VERSION,
        NEWEST_VERSION,
    ]
    for database in databases:
        await database.close()


async def test_a_schema_that_is_missing_or_from_the_future_is_refused(database_url: str) -> None:
    with pytest.raises(SchemaMismatch, match="tarry migrate up"):
        await PostgresStore.open(database_url)
    store = await PostgresStore.open(database_url, migrate=True)
    with psycopg.connect(database_url) as connection:
        connection.execute("INSERT INTO tarry.migration VALUES (%s, 'later')", [NEWEST_VERSION + 1])
    with pytest.raises(SchemaMismatch, match="upgrade this one"):
        await store.check()
    await store.close()
    with pytest.raises(SchemaMismatch):
        await PostgresStore.open(database_url, migrate=True)


async def test_tasks_and_news_from_before_the_api_are_still_there(database_url: str) -> None:
    endpoint = an_endpoint("app_1", lane=1)
    task, notice = a_task(endpoint, Work.DISCARD, environment="org_1"), a_notice(endpoint)
    with psycopg.connect(database_url) as connection:
        connection.execute(STEPS[0].sql.encode())
        connection.execute(
            "INSERT INTO tarry.application"
            " (id, environment, name, metadata, created_at, updated_at)"
            " VALUES ('app_1', 'org_1', '', '{}', 0, 0)"
        )
        connection.execute(
            "INSERT INTO tarry.task (id, work, application, endpoint, lane, shard, since, cursor,"
            " done, created_at) VALUES (%s, %s, 'app_1', %s, 1, 1, 0, '', 0, %s)",
            [task.id, task.work.value, task.endpoint, task.created_at],
        )
        connection.execute(
            "INSERT INTO tarry.notice VALUES (%s, %s, %s, %s, %s, %s)", list(from_notice(notice))
        )
    store = await PostgresStore.open(database_url, migrate=True)
    assert await store.get(Tasks(task.environment), task.id) == task
    assert (await store.page(Tasks("org_1", work=Work.DISCARD), Cut())).entries == [task]
    assert await store.read(Notices()) == [notice]
    assert await store.read(Notices(unsent=True)) == []
    another = a_notice(endpoint)
    await store.put(endpoint, noting=lambda _before, _after: [another])
    assert await store.read(Notices(unsent=True)) == [another]
    await store.close()


def test_whoever_runs_the_steps_by_hand_gets_the_same(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(script(STEPS).encode())
        migrations = connection.execute(
            "SELECT number, name FROM tarry.migration ORDER BY 1"
        ).fetchall()
    assert migrations == [(step.number, step.name) for step in STEPS]


def test_everything_is_in_one_schema_and_nothing_is_missing(tarry_url: str) -> None:
    with psycopg.connect(tarry_url) as connection:
        tables = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'tarry'::regnamespace"
            " AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY 1"
        ).fetchall()
        elsewhere = connection.execute("SELECT FROM pg_tables WHERE schemaname = 'public'")
        assert elsewhere.fetchall() == []
    assert [table for (table,) in tables] == TABLES.split()


@pytest.mark.parametrize("table", ["message", "attempt"])
def test_there_is_a_partition_for_now_and_one_for_all_else(tarry_url: str, table: str) -> None:
    with psycopg.connect(tarry_url) as connection:
        partitions = connection.execute(
            "SELECT pg_get_expr(relpartbound, oid) FROM pg_class"
            " WHERE relnamespace = 'tarry'::regnamespace AND relispartition AND relkind = 'r'"
            " AND relname LIKE %s ORDER BY 1",
            [f"{table}%"],
        ).fetchall()
    default, first = (bounds for (bounds,) in partitions)
    assert default == "DEFAULT"
    since, until = re.findall(r"'\w+_(\w{8})'", first)
    assert since < ids.moment(time.time()) < ids.moment(time.time() + 6 * DAY) < until


def test_ids_sort_byte_by_byte_in_every_database(tarry_url: str) -> None:
    with psycopg.connect(tarry_url) as connection:
        columns = connection.execute(
            "SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
            " JOIN pg_index i ON i.indexrelid = c.oid"
            " WHERE c.relnamespace = 'tarry'::regnamespace AND a.atttypid = 'text'::regtype"
            " AND a.attcollation <> '\"C\"'::regcollation"
        ).fetchall()
    assert columns == []


def test_what_is_updated_all_the_time_is_updated_in_place(tarry_url: str) -> None:
    with psycopg.connect(tarry_url) as connection:
        connection.execute("INSERT INTO tarry.lane (application, shard) VALUES ('app', 1)")
        connection.execute("INSERT INTO tarry.lane_state (lane) SELECT number FROM tarry.lane")
        connection.commit()
        for _ in range(20):
            connection.execute("UPDATE tarry.lane SET added = added + 1, awake = true")
            connection.execute("UPDATE tarry.lane_state SET ended = ended + 1, pace = 'x'")
            connection.execute("UPDATE tarry.shard SET until = clock_timestamp() WHERE number = 1")
        tables = connection.execute(
            "SELECT relname, n_tup_upd - n_tup_hot_upd FROM pg_stat_xact_user_tables"
            " WHERE schemaname = 'tarry' AND n_tup_upd > 0 ORDER BY 1"
        ).fetchall()
        connection.rollback()
    assert tables == [("lane", 0), ("lane_state", 0), ("shard", 0)]
