"""Tasks in this store: on record, next to be done, and how far they came."""

from collections.abc import Callable, Collection, Sequence
from typing import Any  # what comes out of a task is JSON

import apsw

from tarry.errors import NotFound
from tarry.service.failpoints import hit
from tarry.service.model.application import shard_of
from tarry.service.model.lane import Lease
from tarry.service.model.task import (
    FIRST_TENANT,
    IN_PIECES,
    REPLAYS,
    Task,
    Tenant,
    Work,
    standing_for,
)
from tarry.service.store.sqlite import rows
from tarry.service.store.sqlite.advance import do_piece
from tarry.service.store.sqlite.queries import SQL
from tarry.service.store.sqlite.session import Session
from tarry.service.store.sqlite.threads import Threads


class SqliteTasks:
    """See `tasks.Tasks`."""

    _threads: Threads

    async def add_task(self, task: Task, *, most_pending: int | None = None) -> Task:
        """Put a task on record and wake its lane."""

        def work(session: Session) -> Task:
            standing = task
            if most_pending is not None:
                known = _pending(session.db, task.lane)
                standing = standing_for(task, known, pending=len(known), most=most_pending)
            if standing is task:
                put_task(session, task)
            session.wake([task.lane] if task.lane else [])
            hit("task.before")
            return standing

        added = await self._threads.write(work)
        hit("task.after")
        return added

    async def get_task(self, task: str) -> Task:
        """A task by id."""
        return await self._threads.browse(lambda db: _get(db, task))

    async def tasks(self, application: str) -> list[Task]:
        """An application's tasks, the newest first."""
        asked = (application,)
        return await self._threads.browse(
            lambda db: [rows.TASK.decode(text) for (text,) in db.execute(SQL["tasks"], asked)]
        )

    async def task(
        self,
        shards: Sequence[int],
        works: Collection[Work] = IN_PIECES,
        *,
        after: Tenant = FIRST_TENANT,
    ) -> Task | None:
        """The oldest task of these works to be done, of the next tenant in these shards."""
        asked = (*after, rows.array(shards), rows.array(works))

        def work(db: apsw.Connection) -> Task | None:
            document = db.execute(SQL["task"], asked).get
            return None if document is None else rows.TASK.decode(document)

        return await self._threads.read(work)

    async def advance(self, task: Task, *, now: float, limit: int, lease: Lease) -> Task:
        """Do at most `limit` more of a task."""

        def work(session: Session) -> Task:
            if shard_of(task.application) not in session.held([lease]):
                return task
            stored = _get(session.db, task.id)
            if stored.finished_at is not None:
                return stored
            after = stored.after(do_piece(session, stored, now, limit), now)
            put_task(session, after)
            hit("advance.before")
            return after

        after = await self._threads.write(work)
        hit("advance.after")
        return after

    async def finish(self, task: Task, data: dict[str, Any], *, now: float, lease: Lease) -> Task:
        """Finish a task with what came out."""
        return await self._end(task, lease, lambda stored: stored.finished(data, now))

    async def give_up(self, task: Task, why: str, *, now: float, lease: Lease) -> Task:
        """Finish a task that cannot be done."""
        return await self._end(task, lease, lambda stored: stored.given_up(why, now))

    async def _end(self, task: Task, lease: Lease, ended: Callable[[Task], Task]) -> Task:
        def work(session: Session) -> Task:
            if shard_of(task.application) not in session.held([lease]):
                return task
            stored = _get(session.db, task.id)
            if stored.finished_at is None:
                stored = ended(stored)
                put_task(session, stored)
            return stored

        return await self._threads.write(work)


def put_task(session: Session, task: Task) -> None:
    """Put a task on record, or how far it came."""
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
    """The replays of a lane that are not done, the oldest first."""
    asked = (lane, rows.array(REPLAYS))
    return [rows.TASK.decode(text) for (text,) in db.execute(SQL["add_task_pending"], asked)]


def _get(db: apsw.Connection, task: str) -> Task:
    document = db.execute(SQL["get_task"], (task,)).get
    if document is None:
        raise NotFound("task", task)
    return rows.TASK.decode(document)
