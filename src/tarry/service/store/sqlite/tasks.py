"""Long work on a lane's deliveries in this store, a piece at a time."""

from collections.abc import Sequence
from typing import assert_never

import apsw
from msgspec import Struct
from msgspec.structs import replace

from tarry.errors import NotFound
from tarry.service.failpoints import hit
from tarry.service.model.application import shard_of
from tarry.service.model.delivery import Reason, State
from tarry.service.model.lane import Lease
from tarry.service.model.task import Task, Work
from tarry.service.store.sqlite import rows
from tarry.service.store.sqlite.queries import SQL
from tarry.service.store.sqlite.session import Session
from tarry.service.store.sqlite.threads import Threads

FOR_EVER = float("inf")
LOOKED_AT = 5
"""How many are looked at in one piece, for each that may be changed."""


class Piece(Struct, frozen=True):
    """What was done of a task: how many deliveries, up to where, and whether that was all."""

    done: int
    cursor: str
    last: bool


class SqliteTasks:
    """The parts of `contract.Queue` and `contract.Catalogue` about tasks."""

    _threads: Threads

    async def add_task(self, task: Task) -> None:
        """Put a task on record and wake its lane."""

        def work(session: Session) -> None:
            put_task(session, task)
            session.wake([task.lane])
            hit("task.before")

        await self._threads.write(work)
        hit("task.after")

    async def get_task(self, task: str) -> Task:
        """A task by id."""
        return await self._threads.browse(lambda db: _get(db, task))

    async def tasks(self, application: str) -> list[Task]:
        """An application's tasks, the newest first."""
        asked = (application,)
        return await self._threads.browse(
            lambda db: [rows.TASK.decode(text) for (text,) in db.execute(SQL["tasks"], asked)]
        )

    async def task(self, shards: Sequence[int]) -> Task | None:
        """The oldest task that is not finished and whose lane is in one of these shards."""

        def work(db: apsw.Connection) -> Task | None:
            oldest = (db.execute(SQL["task"], (shard,)).fetchone() for shard in shards)
            found = min((row for row in oldest if row is not None), default=None)
            return None if found is None else rows.TASK.decode(found[-1])

        return await self._threads.read(work)

    async def advance(self, task: Task, *, now: float, limit: int, lease: Lease) -> Task:
        """Do at most `limit` deliveries more of a task."""

        def work(session: Session) -> Task:
            if session.shard(task.lane) not in session.held([lease]):
                return task
            stored = _get(session.db, task.id)
            if stored.finished_at is not None:
                return stored
            piece = _do(session, stored, now, limit)
            after = replace(
                stored,
                cursor=piece.cursor,
                done=stored.done + piece.done,
                finished_at=now if piece.last else None,
            )
            put_task(session, after)
            hit("advance.before")
            return after

        after = await self._threads.write(work)
        hit("advance.after")
        return after


def put_task(session: Session, task: Task) -> None:
    """Put a task on record, or how far it came."""
    session.db.execute(
        SQL["add_task"],
        {
            "id": task.id,
            "application": task.application,
            "shard": shard_of(task.application),
            "created_at": task.created_at,
            "finished_at": task.finished_at,
            "document": rows.document(task),
        },
    )


def _get(db: apsw.Connection, task: str) -> Task:
    document = db.execute(SQL["get_task"], (task,)).get
    if document is None:
        raise NotFound("task", task)
    return rows.TASK.decode(document)


def _do(session: Session, task: Task, now: float, limit: int) -> Piece:
    match task.work:
        case Work.RECOVER:
            seqs, piece = _behind(session, "advance_failed", task, limit)
            _again(session, task.lane, seqs, now)
        case Work.DISCARD:
            seqs, piece = _behind(session, "advance_live", task, limit)
            ended = ((now, task.lane, seq) for seq in seqs)
            session.db.executemany(SQL["advance_discard"], ended)
            session.db.execute(SQL["settle_ended"], (len(seqs), task.lane))
            session.db.execute(SQL["advance_resends"], (task.lane,))
        case Work.REPLAY_MISSING:
            return _replay(session, task, now, limit)
        case _:
            assert_never(task.work)
    return piece


def _behind(session: Session, query: str, task: Task, limit: int) -> tuple[list[int], Piece]:
    """The deliveries that are to be changed in this piece."""
    looked_at = limit * LOOKED_AT
    bounds = {
        "lane": task.lane,
        "after": int(task.cursor or 0),
        "since": task.since,
        "until": FOR_EVER if task.until is None else task.until,
        "limit": looked_at,
    }
    found = list(session.db.execute(SQL[query], bounds))
    seqs = [seq for seq, concerned in found if concerned][:limit]
    if len(seqs) == limit:
        return seqs, Piece(limit, str(seqs[-1]), last=False)
    cursor = str(found[-1][0]) if found else task.cursor
    return seqs, Piece(len(seqs), cursor, last=len(found) < looked_at)


def _again(session: Session, lane: int, seqs: Sequence[int], now: float) -> None:
    session.db.executemany(SQL["advance_again"], ((now, lane, seq) for seq in seqs))
    session.db.execute(SQL["settle_ended"], (-len(seqs), lane))
    _stir(session, lane, len(seqs))


def _replay(session: Session, task: Task, now: float, limit: int) -> Piece:
    endpoint = rows.ENDPOINT.decode(session.db.execute(SQL["settle_endpoint"], (task.lane,)).get)
    looked_at = limit * LOOKED_AT
    bounds = {
        "application": task.application,
        "after": task.cursor,
        "since": task.since,
        "until": FOR_EVER if task.until is None else task.until,
        "lane": task.lane,
        "limit": looked_at,
    }
    found = list(session.db.execute(SQL["advance_messages"], bounds))
    missing: list[int] = []
    skipped: list[int] = []
    cursor = task.cursor
    for known, number, event_type, channels, concerned, seq, state in found:
        if len(missing) + len(skipped) == limit:
            break
        if not concerned:
            continue
        if state == State.SKIPPED.value:
            skipped.append(seq)
        elif state is None and endpoint.wants(event_type, rows.words(channels)):
            missing.append(number)
        else:
            continue
        cursor = known
    _again(session, task.lane, skipped, now)
    _deliver(session, task.lane, missing, now)
    done = len(missing) + len(skipped)
    last = done < limit and len(found) < looked_at
    if done < limit and not last:
        cursor = found[-1][0]  # nothing up to there was to be done
    return Piece(done, cursor, last)


def _deliver(session: Session, lane: int, messages: Sequence[int], now: float) -> None:
    if not messages:
        return
    ((_, last, _),) = list(session.db.execute(SQL["add_to_lane"], (len(messages), lane)))
    state, reason = State.READY.value, Reason.REPLAYED.value
    first = last - len(messages) + 1
    session.db.executemany(
        SQL["add_delivery"],
        (
            (lane, seq, message, state, reason, None, now, None)
            for seq, message in enumerate(messages, start=first)
        ),
    )
    _stir(session, lane, len(messages))


def _stir(session: Session, lane: int, deliveries: int) -> None:
    """Wake a lane that got something to send while at rest."""
    if deliveries and not session.db.execute(SQL["lane_awake"], (lane,)).get:
        session.wake([lane])
