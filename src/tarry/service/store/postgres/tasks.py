"""Long work on a lane's deliveries, a piece at a time."""

from collections.abc import Sequence
from typing import assert_never

from msgspec.structs import replace

from tarry.errors import NotFound
from tarry.service.failpoints import hit
from tarry.service.model.application import shard_of
from tarry.service.model.delivery import Reason, State
from tarry.service.model.lane import Lease
from tarry.service.model.task import Task, Work
from tarry.service.store.postgres import rows
from tarry.service.store.postgres.accept import DELIVERY
from tarry.service.store.postgres.database import Connection
from tarry.service.store.postgres.many import insert_many
from tarry.service.store.postgres.part import Part, held, wake
from tarry.service.store.postgres.queries import SQL


class PostgresTasks(Part):
    """The parts of `contract.Queue` and `contract.Catalogue` about tasks."""

    async def add_task(self, task: Task) -> None:
        """Put a task on record and wake its lane."""
        told = (
            task.id,
            task.work,
            task.application,
            task.endpoint,
            task.lane,
            task.since,
            task.until,
            task.cursor,
            task.done,
            task.created_at,
            task.finished_at,
            shard_of(task.application),
        )

        async def add(connection: Connection) -> None:
            await wake(connection, [task.lane])
            await connection.execute(SQL["add_task"], *told)
            hit("task.before")

        await self._database.run(add)
        hit("task.after")

    async def get_task(self, task: str) -> Task:
        """A task by id."""
        found = await self._database.fetch(SQL["get_task"], task)
        if not found:
            raise NotFound("task", task)
        return rows.task(found[0])

    async def tasks(self, application: str) -> list[Task]:
        """An application's tasks, the newest first."""
        return [rows.task(row) for row in await self._database.fetch(SQL["tasks"], application)]

    async def task(self, shards: Sequence[int]) -> Task | None:
        """The oldest task that is not finished and whose lane is in one of these shards."""
        found = await self._database.fetch(SQL["task"], list(shards))
        return rows.task(found[0]) if found else None

    async def advance(self, task: Task, *, now: float, limit: int, lease: Lease) -> Task:
        """Do at most `limit` deliveries more of a task."""

        async def do(connection: Connection) -> Task:
            if not await held(connection, [task.lane], [lease]):
                return task
            found = await connection.fetch(SQL["advance"], task.id)
            if not found:
                raise NotFound("task", task.id)
            stored = rows.task(found[0])
            if stored.finished_at is not None:
                return stored
            cursor, many = await _do(connection, stored, now, limit)
            ended = now if many < limit else None
            moved = replace(stored, cursor=cursor, done=stored.done + many, finished_at=ended)
            await connection.execute(
                SQL["advance_noted"], moved.id, moved.cursor, moved.done, moved.finished_at
            )
            hit("advance.before")
            return moved

        moved = await self._database.run(do)
        hit("advance.after")
        return moved


async def _do(connection: Connection, task: Task, now: float, limit: int) -> tuple[str, int]:
    """Do a piece: where the cursor is then, and how many deliveries it was."""
    match task.work:
        case Work.RECOVER:
            return await _recover(connection, task, now, limit)
        case Work.DISCARD:
            return await _discard(connection, task, now, limit)
        case Work.REPLAY_MISSING:
            return await _replay(connection, task, now, limit)
        case _:
            assert_never(task.work)


async def _recover(connection: Connection, task: Task, now: float, limit: int) -> tuple[str, int]:
    seqs = await _behind(connection, "advance_failed", task, limit)
    if not seqs:
        return task.cursor, 0
    await _take(connection, task.lane, 0)
    await connection.execute(SQL["advance_replayed"], task.lane, seqs, Reason.REPLAYED, now)
    await connection.execute(SQL["add_ended"], [task.lane], [-len(seqs)])
    return str(seqs[-1]), len(seqs)


async def _discard(connection: Connection, task: Task, now: float, limit: int) -> tuple[str, int]:
    await connection.execute(SQL["advance_resends"], task.lane)
    seqs = await _behind(connection, "advance_live", task, limit)
    if not seqs:
        return task.cursor, 0
    await connection.execute(SQL["advance_discarded"], task.lane, seqs, Reason.DISCARDED, now)
    await connection.execute(SQL["add_ended"], [task.lane], [len(seqs)])
    return str(seqs[-1]), len(seqs)


async def _replay(connection: Connection, task: Task, now: float, limit: int) -> tuple[str, int]:
    found = await connection.fetch(
        SQL["advance_missing"],
        task.lane,
        task.application,
        task.cursor,
        task.since,
        task.until,
        limit,
    )
    if not found:
        return task.cursor, 0
    skipped = [row["seq"] for row in found if row["seq"] is not None]
    missing = [row["id"] for row in found if row["seq"] is None]
    added = await _take(connection, task.lane, len(missing))
    if skipped:
        await connection.execute(SQL["advance_replayed"], task.lane, skipped, Reason.REPLAYED, now)
        await connection.execute(SQL["add_ended"], [task.lane], [-len(skipped)])
    seqs = range(added + 1, added + 1 + len(missing))
    fresh = [
        (task.lane, seq, message, State.READY, Reason.REPLAYED, None, now, None)
        for seq, message in zip(seqs, missing, strict=True)
    ]
    await insert_many(connection, "add_deliveries", "delivery", DELIVERY, fresh)
    await connection.execute(SQL["advance_placed"], task.lane, missing, list(seqs))
    return found[-1]["id"], len(found)


async def _behind(connection: Connection, query: str, task: Task, limit: int) -> list[int]:
    found = await connection.fetch(
        SQL[query], task.lane, int(task.cursor or 0), task.since, task.until, limit
    )
    return [row["seq"] for row in found]


async def _take(connection: Connection, lane: int, many: int) -> int:
    """Take numbers of a lane and wake it if it rests; the last number given before."""
    (row,) = await connection.fetch(SQL["add_lanes"], [lane], [many], [True])
    if row["woken"]:
        await connection.execute(SQL["woken_tell"], [lane])
    return int(row["added"])
