"""Tasks: adding them, choosing the next one, saving their progress."""

from collections.abc import Collection, Sequence
from typing import Any  # the result of a task is JSON

from tarry.errors import NotFound
from tarry.service.failpoints import hit
from tarry.service.model.application import shard_of
from tarry.service.model.audit import Action, task_target
from tarry.service.model.lane import Lease
from tarry.service.model.task import (
    FIRST_TENANT,
    IN_PIECES,
    REPLAYS,
    Failure,
    Task,
    Tenant,
    Work,
    standing_for,
)
from tarry.service.store.by_kind import RecordsByKind
from tarry.service.store.postgres.database import rows
from tarry.service.store.postgres.database.part import (
    Part,
    lock_and_wake,
    notify_owners,
    write_entry,
)
from tarry.service.store.postgres.database.pool import Connection
from tarry.service.store.postgres.queries import SQL
from tarry.service.store.postgres.queue.advance import do_piece


class PostgresTasks(RecordsByKind, Part):
    """Tasks: adding them, and doing them a piece at a time."""

    async def add_task(
        self, task: Task, *, most_pending: int | None = None, by: Action | None = None
    ) -> Task:
        """Save a task and wake its lane; return the task."""
        lanes = [task.lane] if task.lane else []

        async def save_and_wake(connection: Connection) -> Task:
            await connection.fetch(SQL["advance"], task.id)  # tasks are locked before lanes
            await lock_and_wake(connection, lanes)
            result = task
            if most_pending is not None:
                result = await _standing_for(connection, task, most_pending)
            if result is task:
                await put_tasks(connection, [task])
                await write_entry(connection, by, task_target(task))
            await notify_owners(connection, lanes)
            hit("task.before")
            return result

        added = await self._database.run(save_and_wake)
        hit("task.after")
        return added

    async def _task(self, environment: str, task: str) -> Task:
        """Return the environment's task; NotFound if it has none with this id."""
        task_rows = await self._database.fetch(SQL["get_task"], task)
        if not task_rows or task_rows[0]["environment"] != environment:
            raise NotFound("task", task)
        return rows.task(task_rows[0])

    async def _tasks_of(self, application: str) -> list[Task]:
        """Return an application's tasks, newest first."""
        return [
            rows.task(row) for row in await self._database.fetch(SQL["read_tasks"], application)
        ]

    async def next_task(
        self,
        shards: Sequence[int],
        works: Collection[Work] = IN_PIECES,
        *,
        after: Tenant = FIRST_TENANT,
    ) -> Task | None:
        """Return the oldest unfinished task of these kinds, of the next tenant in these shards."""
        task_rows = await self._database.fetch(
            SQL["next_task"], list(shards), sorted(works), *after
        )
        return rows.task(task_rows[0]) if task_rows else None

    async def advance(self, task: Task, *, now: float, limit: int, lease: Lease) -> Task:
        """Do a task for at most `limit` more deliveries."""

        async def do_and_save(connection: Connection) -> Task:
            stored = await _held(connection, task, lease)
            if stored is None or stored.finished_at is not None:
                return stored or task
            advanced = stored.after(await do_piece(connection, stored, now, limit), now)
            await _save_progress(connection, advanced)
            hit("advance.before")
            return advanced

        advanced = await self._database.run(do_and_save)
        hit("advance.after")
        return advanced

    async def finish(
        self, task: Task, result: dict[str, Any] | Failure, *, now: float, lease: Lease
    ) -> Task:
        """Finish a task with its result, or with the reason why it failed."""

        async def save_result(connection: Connection) -> Task:
            stored = await _held(connection, task, lease)
            if stored is None or stored.finished_at is not None:
                return stored or task
            ended = stored.finished(result, now)
            await _save_progress(connection, ended)
            return ended

        return await self._database.run(save_result)


async def _standing_for(connection: Connection, new: Task, most: int) -> Task:
    """See `standing_for`. The lane is locked, so no other call adds a replay to it meanwhile.

    A replay whose first piece is running has already read its deliveries. Its row is locked, so
    the query skips it, and it covers nothing.
    """
    parameters = (new.lane, sorted(REPLAYS))
    task_rows = await connection.fetch(SQL["add_task_known"], *parameters)
    ((pending,),) = await connection.fetch(SQL["add_task_pending"], *parameters)
    return standing_for(new, map(rows.task, task_rows), pending=pending, most=most)


async def _held(connection: Connection, task: Task, lease: Lease) -> Task | None:
    """Return the task as it is stored, locked until the commit; None under a stale lease."""
    shard = shard_of(task.application)
    lease_row = (lease.shard, lease.epoch, lease.worker)
    if shard != lease.shard or not await connection.fetch(SQL["advance_held"], *lease_row):
        return None
    task_rows = await connection.fetch(SQL["advance"], task.id)
    if not task_rows:
        raise NotFound("task", task.id)
    return rows.task(task_rows[0])


async def _save_progress(connection: Connection, task: Task) -> None:
    """Save a task's cursor, counts and result."""
    progress = (task.cursor, task.done, rows.json(task.data), task.finished_at, task.failed)
    await connection.execute(SQL["advance_noted"], task.id, *progress)


async def put_tasks(connection: Connection, tasks: Sequence[Task]) -> None:
    """Save tasks."""
    task_rows = [(*rows.from_task(task), shard_of(task.application)) for task in tasks]
    await connection.executemany(SQL["add_task"], task_rows)
