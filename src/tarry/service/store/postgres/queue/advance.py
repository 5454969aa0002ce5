"""Do one piece of a task: read candidates, choose deliveries, change them."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import assert_never

from msgspec.structs import replace

from tarry.service.model.delivery import LIVE, STUCK, Reason, State
from tarry.service.model.message import Message
from tarry.service.model.replay import ReplayFilter, SoFar
from tarry.service.model.task import Piece, Task, Work, behind
from tarry.service.store.postgres.database import rows
from tarry.service.store.postgres.database.part import insert_many, notify_owners
from tarry.service.store.postgres.database.pool import Connection
from tarry.service.store.postgres.ingest.accept import DELIVERY
from tarry.service.store.postgres.queries import SQL
from tarry.service.store.postgres.reading.lane_search import first_since
from tarry.service.store.postgres.retention.old_partition import messages_that_stay

ROWS_READ_PER_CHANGE = 5
"""How many rows one piece reads for each row that it may change: it locks shards meanwhile."""


async def do_piece(connection: Connection, task: Task, now: float, limit: int) -> Piece:
    """Do an unfinished task for at most `limit` more deliveries."""
    match task.work:
        case Work.RECOVER:
            return await _recover(connection, task, now, limit)
        case Work.DISCARD | Work.ERASE:
            return await _discard(connection, task, now, limit)
        case Work.REPLAY_MISSING | Work.BULK_REPLAY:
            return await _replay_messages(connection, task, now, limit)
        case Work.PURGE_CONTENT:
            return await _purge(connection, task, limit)
        case Work.APP_STATS | Work.EVENT_TYPE_STATS:
            return Piece(0, task.cursor, last=True)
        case _:
            assert_never(task.work)


async def _recover(connection: Connection, task: Task, now: float, limit: int) -> Piece:
    """Make a piece of the lane's failed deliveries ready again."""
    deliveries, piece = await _next_deliveries(connection, "advance_failed", task, limit, STUCK)
    ended = sum(rows.STATE_BY_NAME[row["state"]] is State.FAILED for row in deliveries)
    await _make_ready(connection, task, [row["seq"] for row in deliveries], ended, now)
    return piece


async def _discard(connection: Connection, task: Task, now: float, limit: int) -> Piece:
    """Discard a piece of the lane's live deliveries, or only those that were erased.

    With all of them, all requested resends are removed: see ARCHITECTURE.md ("The order of locks").
    """
    query, reason = (
        ("advance_erased", Reason.ERASED)
        if task.work is Work.ERASE
        else ("advance_live", Reason.DISCARDED)
    )
    deliveries, piece = await _next_deliveries(connection, query, task, limit, LIVE)
    if task.work is Work.DISCARD:
        await connection.execute(SQL["advance_resends"], task.lane)
    seqs = [row["seq"] for row in deliveries]
    if seqs:
        await connection.execute(SQL["advance_discarded"], task.lane, seqs, reason, now)
        await connection.execute(SQL["add_ended"], [task.lane], [len(seqs)])
    return piece


async def _replay_messages(connection: Connection, task: Task, now: float, limit: int) -> Piece:
    """Make the deliveries of a piece of the messages ready, or create them if missing."""
    replay_filter = task.replays
    candidates = await connection.fetch(
        SQL["advance_wanted"],
        task.lane,
        *_bounds(task),
        limit * ROWS_READ_PER_CHANGE,
        now,
        replay_filter.status_class is not None,
    )
    checked_candidates = [
        {**row, "concerned": row["concerned"] and _fits_filter(replay_filter, row)}
        for row in candidates
    ]
    chosen, piece = _choose(checked_candidates, _cursor_of_message, task, limit)
    done = await _replay(connection, task, chosen, replay_filter.states, now)
    return replace(piece, done=done)


def _fits_filter(replay_filter: ReplayFilter, row: rows.Row) -> bool:
    """Return whether a row's message and delivery fit the filter of a replay."""
    message = Message(
        id=row["id"],
        application="",
        event_type=row["event_type"],
        payload=None,
        channels=row["channels"],
        tags=row["tags"],
        accepted_at=0.0,
    )
    state = None if row["state"] is None else rows.STATE_BY_NAME[row["state"]]
    return replay_filter.fits(message, SoFar(state, row["status_class"]))


async def _replay(
    connection: Connection,
    task: Task,
    chosen: Sequence[rows.Row],
    states: Iterable[State],
    now: float,
) -> int:
    """Make deliveries in these states ready, and add missing ones; return how many in all."""
    in_lane = await _staying_messages(connection, task, [row["id"] for row in chosen])
    staying_rows = [row for row in chosen if row["id"] in in_lane]
    seqs = [row["seq"] for row in staying_rows if row["seq"] is not None]
    missing = [row["id"] for row in staying_rows if not in_lane[row["id"]]]
    replayable = await connection.fetch(SQL["advance_kept"], task.lane, seqs, list(states))
    ended = sum(rows.STATE_BY_NAME[row["state"]] not in LIVE for row in replayable)
    await _make_ready(connection, task, [row["seq"] for row in replayable], ended, now)
    await _deliver(connection, task, missing, now)
    return len(replayable) + len(missing)


async def _staying_messages(
    connection: Connection, task: Task, messages: Sequence[str]
) -> dict[str, bool]:
    """Return the messages that cannot be removed before the commit, and if each is in the lane."""
    staying_ids = await messages_that_stay(connection, messages)
    message_rows = await connection.fetch(SQL["advance_there"], sorted(staying_ids), task.lane)
    return {row["id"]: row["placed"] for row in message_rows}


async def _make_ready(
    connection: Connection, task: Task, seqs: Sequence[int], ended: int, now: float
) -> None:
    """Make deliveries ready as if they were new; `ended` of them had ended."""
    if seqs:
        _, woken = await _take_numbers(connection, task.lane, 0)
        await connection.execute(SQL["advance_replayed"], task.lane, seqs, Reason.REPLAYED, now)
        await connection.execute(SQL["add_ended"], [task.lane], [-ended])
        await notify_owners(connection, woken)


async def _deliver(connection: Connection, task: Task, messages: Sequence[str], now: float) -> None:
    """Create a delivery in the task's lane for each of these messages, and wake it."""
    if not messages:
        return
    added, woken = await _take_numbers(connection, task.lane, len(messages))
    seqs = range(added + 1, added + 1 + len(messages))
    new_rows = [
        (task.lane, seq, message, State.READY, Reason.REPLAYED, None, now, None)
        for seq, message in zip(seqs, messages, strict=True)
    ]
    await insert_many(connection, "add_deliveries", "delivery", DELIVERY, new_rows)
    await connection.execute(SQL["advance_placed"], task.lane, messages, list(seqs))
    await notify_owners(connection, woken)


async def _purge(connection: Connection, task: Task, limit: int) -> Piece:
    """Delete the payloads of a piece of an application's messages."""
    candidates = await connection.fetch(
        SQL["advance_payloads"], *_bounds(task), limit * ROWS_READ_PER_CHANGE
    )
    chosen, piece = _choose(candidates, _cursor_of_message, task, limit)
    expunged = await connection.fetch(SQL["advance_expunged"], [row["id"] for row in chosen])
    return replace(piece, done=len(expunged))


async def _next_deliveries(
    connection: Connection, query: str, task: Task, limit: int, states: Collection[State]
) -> tuple[list[rows.Row], Piece]:
    """Return the deliveries that this piece changes, locked until the commit."""
    if not task.cursor:  # the task starts: skip the deliveries from before its time range
        first = await first_since(connection.fetch, task.lane, task.since)
        task = replace(task, cursor=str(first - 1))
    candidates = await connection.fetch(
        SQL[query], task.lane, int(task.cursor), task.since, task.end, limit * ROWS_READ_PER_CHANGE
    )
    chosen, piece = _choose(candidates, lambda row: str(row["seq"]), task, limit)
    if State.FAILED in states:  # they become live again, so their messages must stay
        staying_ids = await _staying_messages(connection, task, [row["message"] for row in chosen])
        chosen = [row for row in chosen if row["message"] in staying_ids]
    seqs = [row["seq"] for row in chosen]
    locked = await connection.fetch(SQL["advance_kept"], task.lane, seqs, list(states))
    return list(locked), replace(piece, done=len(locked))


def _choose(
    candidates: Sequence[rows.Row], cursor_of: Callable[[rows.Row], str], task: Task, limit: int
) -> tuple[list[rows.Row], Piece]:
    """Return the rows that are to be changed, at most `limit` of them, and the piece."""
    chosen = [row for row in candidates if row["concerned"]][:limit]
    if len(chosen) == limit:
        return chosen, Piece(limit, cursor_of(chosen[-1]), last=False)
    last_cursor = cursor_of(candidates[-1]) if candidates else task.cursor
    return chosen, Piece(
        len(chosen), last_cursor, last=len(candidates) < limit * ROWS_READ_PER_CHANGE
    )


def _bounds(task: Task) -> tuple[str, float, str, float]:
    """Return the application, the message to continue after, and the end of the time range."""
    return task.application, *task.place, task.end


def _cursor_of_message(row: rows.Row) -> str:
    """Return the cursor of a task that has processed everything up to a message's row."""
    return behind(row["accepted_at"], row["id"])


async def _take_numbers(connection: Connection, lane: int, count: int) -> tuple[int, list[int]]:
    """Take `count` sequence numbers of a lane, and wake it if it rests.

    Returns the last number before these, and the lanes whose owners must be notified.
    """
    (row,) = await connection.fetch(SQL["add_lanes"], [lane], [count], [True])
    return int(row["added"]), [lane] if row["woken"] else []
