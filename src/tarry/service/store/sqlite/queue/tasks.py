"""Tasks in this store: adding them, choosing the next one, saving their progress."""

from collections.abc import Collection, Sequence
from typing import Any  # the result of a task is JSON

import apsw

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
from tarry.service.store.sqlite.database import rows
from tarry.service.store.sqlite.database.session import Session
from tarry.service.store.sqlite.database.threads import Threads
from tarry.service.store.sqlite.queries import SQL
from tarry.service.store.sqlite.queue.advance import do_piece


class SqliteTasks(RecordsByKind):
    """Tasks: adding them, and doing them a piece at a time."""

    _threads: Threads

    async def add_task(
        self, task: Task, *, most_pending: int | None = None, by: Action | None = None
    ) -> Task:
        """Save a task and wake its lane; return the task."""

        def save_and_wake(session: Session) -> Task:
            result = task
            if most_pending is not None:
                pending = _pending(session.db, task.lane)
                result = standing_for(task, pending, pending=len(pending), most=most_pending)
            if result is task:
                put_task(session, task)
                session.write_entry(by, task_target(task))
            session.wake([task.lane] if task.lane else [])
            hit("task.before")
            return result

        added = await self._threads.write(save_and_wake)
        hit("task.after")
        return added

    async def _task(self, environment: str, task: str) -> Task:
        """Return the environment's task; NotFound if it has none with this id."""
        stored = await self._threads.browse(lambda db: _get(db, task))
        if stored.environment != environment:
            raise NotFound("task", task)
        return stored

    async def _tasks_of(self, application: str) -> list[Task]:
        """Return an application's tasks, newest first."""
        parameters = (application,)
        return await self._threads.browse(
            lambda db: [
                rows.TASK.decode(text) for (text,) in db.execute(SQL["read_tasks"], parameters)
            ]
        )

    async def next_task(
        self,
        shards: Sequence[int],
        works: Collection[Work] = IN_PIECES,
        *,
        after: Tenant = FIRST_TENANT,
    ) -> Task | None:
        """Return the oldest unfinished task of these kinds, of the next tenant in these shards."""
        parameters = (*after, rows.array(shards), rows.array(works))

        def read_oldest(db: apsw.Connection) -> Task | None:
            document = db.execute(SQL["next_task"], parameters).get
            return None if document is None else rows.TASK.decode(document)

        return await self._threads.read(read_oldest)

    async def advance(self, task: Task, *, now: float, limit: int, lease: Lease) -> Task:
        """Do a task for at most `limit` more deliveries."""

        def do_and_save(session: Session) -> Task:
            if shard_of(task.application) not in session.held([lease]):
                return task
            stored = _get(session.db, task.id)
            if stored.finished_at is not None:
                return stored
            after = stored.after(do_piece(session, stored, now, limit), now)
            put_task(session, after)
            hit("advance.before")
            return after

        after = await self._threads.write(do_and_save)
        hit("advance.after")
        return after

    async def finish(
        self, task: Task, result: dict[str, Any] | Failure, *, now: float, lease: Lease
    ) -> Task:
        """Finish a task with its result, or with the reason why it failed."""

        def save_result(session: Session) -> Task:
            if shard_of(task.application) not in session.held([lease]):
                return task
            stored = _get(session.db, task.id)
            if stored.finished_at is None:
                stored = stored.finished(result, now)
                put_task(session, stored)
            return stored

        return await self._threads.write(save_result)


def put_task(session: Session, task: Task) -> None:
    """Save a task, or its progress."""
    session.db.execute(
        SQL["add_task"],
        {
            "id": task.id,
            "work": task.work.value,
            "environment": task.environment,
            "application": task.application,
            "lane": task.lane,
            "shard": shard_of(task.application),
            "created_at": task.created_at,
            "finished_at": task.finished_at,
            "document": rows.document(task),
        },
    )


def _pending(db: apsw.Connection, lane: int) -> list[Task]:
    """Return a lane's unfinished replays, oldest first."""
    parameters = (lane, rows.array(REPLAYS))
    return [rows.TASK.decode(text) for (text,) in db.execute(SQL["add_task_pending"], parameters)]


def _get(db: apsw.Connection, task: str) -> Task:
    """Return a task; NotFound if there is none with this id."""
    document = db.execute(SQL["get_task"], (task,)).get
    if document is None:
        raise NotFound("task", task)
    return rows.TASK.decode(document)
