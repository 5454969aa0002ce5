"""Long work on a lane's deliveries, a piece at a time."""

from collections.abc import Iterable, Sequence
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from tarry.errors import NotFound
from tarry.service.failpoints import hit
from tarry.service.model.application import shard_of
from tarry.service.model.delivery import LIVE, Reason, State
from tarry.service.model.lane import Lease
from tarry.service.model.task import Task, Work
from tarry.service.store.postgres import rows
from tarry.service.store.postgres.accept import DELIVERY
from tarry.service.store.postgres.database import Connection
from tarry.service.store.postgres.many import insert_many
from tarry.service.store.postgres.part import Part, held, wake
from tarry.service.store.postgres.queries import SQL

LOOKED_AT = 5
"""How many are looked at in one piece, for each that may be changed: shards are held meanwhile."""


class Piece(Struct, frozen=True):
    """What was done of a task: how many deliveries, up to where, and whether that was all."""

    done: int
    cursor: str
    last: bool


class PostgresTasks(Part):
    """The parts of `contract.Queue` and `contract.Catalogue` about tasks."""

    async def add_task(self, task: Task) -> None:
        """Put a task on record and wake its lane."""

        async def add(connection: Connection) -> None:
            await wake(connection, [task.lane])
            await put_task(connection, task)
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
            piece = await _do(connection, stored, now, limit)
            moved = replace(
                stored,
                cursor=piece.cursor,
                done=stored.done + piece.done,
                finished_at=now if piece.last else None,
            )
            await connection.execute(
                SQL["advance_noted"], moved.id, moved.cursor, moved.done, moved.finished_at
            )
            hit("advance.before")
            return moved

        moved = await self._database.run(do)
        hit("advance.after")
        return moved


async def put_task(connection: Connection, task: Task) -> None:
    """Put a task on record."""
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
    await connection.execute(SQL["add_task"], *told)


async def _do(connection: Connection, task: Task, now: float, limit: int) -> Piece:
    match task.work:
        case Work.RECOVER:
            return await _recover(connection, task, now, limit)
        case Work.DISCARD:
            return await _discard(connection, task, now, limit)
        case Work.REPLAY_MISSING:
            return await _replay(connection, task, now, limit)
        case _:
            assert_never(task.work)


async def _recover(connection: Connection, task: Task, now: float, limit: int) -> Piece:
    seqs, piece = await _behind(connection, "advance_failed", task, limit, [State.FAILED])
    if seqs:
        await _take(connection, task.lane, 0)
        await connection.execute(SQL["advance_replayed"], task.lane, seqs, Reason.REPLAYED, now)
        await connection.execute(SQL["add_ended"], [task.lane], [-len(seqs)])
    return piece


async def _discard(connection: Connection, task: Task, now: float, limit: int) -> Piece:
    await connection.execute(SQL["advance_resends"], task.lane)
    seqs, piece = await _behind(connection, "advance_live", task, limit, LIVE)
    if seqs:
        await connection.execute(SQL["advance_discarded"], task.lane, seqs, Reason.DISCARDED, now)
        await connection.execute(SQL["add_ended"], [task.lane], [len(seqs)])
    return piece


async def _replay(connection: Connection, task: Task, now: float, limit: int) -> Piece:
    looked = await connection.fetch(
        SQL["advance_missing"],
        task.lane,
        task.application,
        task.cursor,
        task.since,
        task.until,
        limit * LOOKED_AT,
    )
    concerned, piece = _concerned(looked, "id", task, limit)
    there = await connection.fetch(SQL["advance_there"], [row["id"] for row in concerned])
    kept = {row["id"] for row in there}
    found = [row for row in concerned if row["id"] in kept]
    if not found:
        return piece
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
    return replace(piece, done=len(found))


async def _behind(
    connection: Connection, query: str, task: Task, limit: int, states: Iterable[State]
) -> tuple[list[int], Piece]:
    """The deliveries that are to be changed in this piece, held until the commit."""
    looked = await connection.fetch(
        SQL[query], task.lane, int(task.cursor or 0), task.since, task.until, limit * LOOKED_AT
    )
    concerned, piece = _concerned(looked, "seq", task, limit)
    seqs = [row["seq"] for row in concerned]
    kept = await connection.fetch(SQL["advance_kept"], task.lane, seqs, list(states))
    return [row["seq"] for row in kept], replace(piece, done=len(kept))


def _concerned(
    looked: Sequence[rows.Row], cursor: str, task: Task, limit: int
) -> tuple[list[rows.Row], Piece]:
    """Those of what was looked at that are to be changed, at most so many."""
    concerned = [row for row in looked if row["concerned"]][:limit]
    if len(concerned) == limit:
        return concerned, Piece(limit, str(concerned[-1][cursor]), last=False)
    behind = str(looked[-1][cursor]) if looked else task.cursor
    return concerned, Piece(len(concerned), behind, last=len(looked) < limit * LOOKED_AT)


async def _take(connection: Connection, lane: int, many: int) -> int:
    """Take numbers of a lane and wake it if it rests; the last number given before."""
    (row,) = await connection.fetch(SQL["add_lanes"], [lane], [many], [True])
    if row["woken"]:
        await connection.execute(SQL["woken_tell"], [lane])
    return int(row["added"])
