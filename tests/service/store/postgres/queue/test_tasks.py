from typing import LiteralString

import psycopg
import pytest
from msgspec.structs import replace
from psycopg import sql

from tarry.errors import NotFound, TooManyReplays
from tarry.service.model.task import Failure, Work
from tarry.service.store.kinds import Tasks
from tarry.service.store.postgres.queries import SQL
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.samples import NOON, a_task
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio


async def test_a_task_that_is_not_there_is_not_done(scene: Scene, store: PostgresStore) -> None:
    task = a_task(scene.endpoint, Work.DISCARD)
    with pytest.raises(NotFound):
        await store.advance(task, now=NOON, limit=2, lease=scene.lease)
    with pytest.raises(NotFound):
        await store.finish(task, Failure("why"), now=NOON, lease=scene.lease)


async def test_why_a_task_was_given_up_is_kept_without_what_cannot_be(
    scene: Scene, store: PostgresStore
) -> None:
    task = a_task(scene.endpoint, Work.RECOVER)
    await store.add_task(task)
    finished = await store.finish(task, Failure("a\0b"), now=NOON, lease=scene.lease)
    assert finished == replace(task, failed="a\ufffdb", finished_at=NOON)
    assert await store.get(Tasks(task.environment), task.id) == finished


async def test_a_replay_that_is_just_being_begun_covers_nothing_and_still_counts(
    scene: Scene, store: PostgresStore, tarry_url: str
) -> None:
    first = await store.add_task(a_task(scene.endpoint, Work.RECOVER), most_pending=2)
    with psycopg.connect(tarry_url) as begins:
        begins.execute("SELECT FROM tarry.task WHERE id = %s FOR UPDATE", [first.id])
        second = a_task(scene.endpoint, Work.RECOVER)
        assert await store.add_task(second, most_pending=2) == second
        begins.execute("SELECT FROM tarry.task WHERE id = %s FOR UPDATE", [second.id])
        with pytest.raises(TooManyReplays):
            await store.add_task(a_task(scene.endpoint, Work.RECOVER), most_pending=2)
        begins.rollback()
    assert await store.add_task(a_task(scene.endpoint, Work.RECOVER), most_pending=2) == first


async def test_the_next_tenant_is_found_by_an_index_among_many_tasks(
    store: PostgresStore, tarry_url: str
) -> None:
    assert await store.next_task([0]) is None
    with psycopg.connect(tarry_url) as connection:
        connection.execute(
            "INSERT INTO tarry.task (id, work, environment, application, endpoint, lane, shard,"
            " since, cursor, done, created_at)"
            " SELECT 'qtask_' || place, 'endpoint.recover', 'org_1', 'app_' || place % 100, '',"
            " place % 1000, 0, 0, '', 0, place FROM generate_series(1, 20000) AS place"
        )
        connection.execute("ANALYZE tarry.task")
        connection.execute("SET plan_cache_mode = force_generic_plan")
        connection.execute("SET enable_seqscan = off")  # as the store does
        turn = _plan(connection, "next_task", [0], ["endpoint.recover"], "app_50", "org_1")
        assert "'Index Name': 'task_turn'" in turn
        assert "'Node Type': 'Sort'" not in turn
        for name in ("add_task_known", "add_task_pending"):
            pending = _plan(connection, name, 7, ["endpoint.recover"])
            assert "'Index Name': 'task_pending'" in pending
        connection.rollback()


def _plan(connection: psycopg.Connection, name: LiteralString, *arguments: object) -> str:
    """Return the database's plan of a query."""
    connection.execute(f"PREPARE asked AS {SQL[name]}".encode())
    literals = sql.SQL(", ").join(map(sql.Literal, arguments))
    explain = sql.SQL("EXPLAIN (FORMAT JSON) EXECUTE asked ({})").format(literals)
    ((plan,),) = connection.execute(explain).fetchall()
    connection.execute("DEALLOCATE asked")
    return str(plan)
