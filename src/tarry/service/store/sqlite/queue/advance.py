"""Do one piece of a task in this store: read candidates, choose deliveries, change them."""

from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from tarry.service.model.delivery import LIVE, Reason, State
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.message import Message
from tarry.service.model.replay import SoFar
from tarry.service.model.task import Piece, Task, Work, behind
from tarry.service.store.sqlite.database import rows
from tarry.service.store.sqlite.database.rows import write_rows
from tarry.service.store.sqlite.database.session import Session
from tarry.service.store.sqlite.queries import SQL
from tarry.service.store.sqlite.reading.lane_search import first_since

ROWS_READ_PER_CHANGE = 5
"""How many rows one piece reads for each row that it may change."""


class Candidate(Struct, frozen=True):
    """A message that may be replayed, and its delivery, if there is one.

    `whole` says that the message has its payload and need not wait for its `deliver_at`.
    """

    accepted_at: float
    id: str
    number: int
    event_type: str
    channels: str
    tags: str
    whole: bool
    seq: int | None
    state: str | None
    status_class: int | None

    @property
    def ended(self) -> bool:
        """Whether the delivery has ended."""
        return self.state is not None and State(self.state) not in LIVE

    def is_replayed(self, task: Task, endpoint: Endpoint) -> bool:
        """Whether the task replays this message to the endpoint; False unless it is `whole`."""
        if not self.whole:
            return False
        if self.state is None and not self._goes_to(endpoint):
            return False
        state = None if self.state is None else State(self.state)
        return task.replays.fits(self._message(task), SoFar(state, self.status_class))

    def _goes_to(self, endpoint: Endpoint) -> bool:
        """Return whether the endpoint wants the message."""
        return endpoint.wants(self.event_type, rows.words(self.channels))

    def _message(self, task: Task) -> Message:
        """Return the message without its payload, to compare with a filter."""
        return Message(
            id=self.id,
            application=task.application,
            event_type=self.event_type,
            payload=None,
            channels=rows.words(self.channels),
            tags=rows.words(self.tags),
            accepted_at=self.accepted_at,
        )


def do_piece(session: Session, task: Task, now: float, limit: int) -> Piece:
    """Do an unfinished task for at most `limit` more deliveries."""
    match task.work:
        case Work.RECOVER:
            changed, piece = _next_deliveries(session, "advance_failed", task, limit)
            _make_ready(session, task.lane, [seq for seq, _, _ in changed], now)
            ended = sum(ended for _, _, ended in changed)
            session.db.execute(SQL["settle_ended"], (-ended, task.lane))
            return piece
        case Work.DISCARD:
            session.db.execute(SQL["advance_resends"], (task.lane,))
            return _discard(session, task, now, limit)
        case Work.ERASE:
            return _discard(session, task, now, limit)
        case Work.REPLAY_MISSING | Work.BULK_REPLAY:
            return _replay(session, task, now, limit)
        case Work.PURGE_CONTENT:
            return _purge(session, task, limit)
        case Work.APP_STATS | Work.EVENT_TYPE_STATS:
            return Piece(0, task.cursor, last=True)
        case _:
            assert_never(task.work)


def _next_deliveries(
    session: Session, query: str, task: Task, limit: int
) -> tuple[list[rows.Row], Piece]:
    """Return the deliveries that this piece changes."""
    if not task.cursor:  # the task starts: skip the deliveries from before its time range
        task = replace(task, cursor=str(first_since(session.db, task.lane, task.since) - 1))
    bounds = _bounds(task, limit, since=task.since, after=int(task.cursor), lane=task.lane)
    with closing(session.db.execute(SQL[query], bounds)) as candidates:
        return _choose(candidates, task, limit)


def _discard(session: Session, task: Task, now: float, limit: int) -> Piece:
    """Discard a piece of the lane's live deliveries: all of them, or those that were erased."""
    query, reason = (
        ("advance_erased", Reason.ERASED)
        if task.work is Work.ERASE
        else ("advance_live", Reason.DISCARDED)
    )
    changed, piece = _next_deliveries(session, query, task, limit)
    discarded = [(reason, now, task.lane, seq) for seq, _ in changed]
    write_rows(session.db, SQL["advance_discard"], discarded)
    session.db.execute(SQL["settle_ended"], (len(changed), task.lane))
    return piece


def _replay(session: Session, task: Task, now: float, limit: int) -> Piece:
    """Make a piece of a replay's deliveries ready, and create those that are missing."""
    endpoint = rows.ENDPOINT.decode(session.db.execute(SQL["settle_endpoint"], (task.lane,)).get)
    bounds = _bounds_of_messages(
        task,
        limit,
        lane=task.lane,
        now=now,
        classed=task.replays.status_class is not None,
    )
    with closing(session.db.execute(SQL["advance_messages"], bounds)) as message_rows:
        candidates = (Candidate(*row) for row in message_rows)
        rows_with_cursors = (
            (
                behind(candidate.accepted_at, candidate.id),
                candidate.is_replayed(task, endpoint),
                candidate,
            )
            for candidate in candidates
        )
        chosen, piece = _choose(rows_with_cursors, task, limit)
    replayed = [candidate for _, _, candidate in chosen]
    _make_ready(
        session,
        task.lane,
        [candidate.seq for candidate in replayed if candidate.seq is not None],
        now,
    )
    ended = sum(candidate.ended for candidate in replayed)
    session.db.execute(SQL["settle_ended"], (-ended, task.lane))
    _deliver(
        session,
        task.lane,
        [candidate.number for candidate in replayed if candidate.seq is None],
        now,
    )
    return piece


def _purge(session: Session, task: Task, limit: int) -> Piece:
    """Delete the payloads of a piece of an application's messages."""
    bounds = _bounds_of_messages(task, limit)
    with closing(session.db.execute(SQL["advance_payloads"], bounds)) as message_rows:
        rows_with_cursors = (
            (behind(accepted_at, message_id), full, number)
            for accepted_at, message_id, full, number in message_rows
        )
        chosen, piece = _choose(rows_with_cursors, task, limit)
    write_rows(session.db, SQL["advance_purge"], [(number,) for _, _, number in chosen])
    return piece


def _bounds_of_messages(task: Task, limit: int, **parameters: object) -> dict[str, object]:
    """Return the parameters of a query for a piece of the task's messages."""
    at, after = task.place
    return _bounds(task, limit, application=task.application, at=at, after=after, **parameters)


def _bounds(task: Task, limit: int, **parameters: object) -> dict[str, object]:
    """Return the parameters of a query that reads the next rows of a task."""
    return {
        "until": task.end,
        "limit": limit * ROWS_READ_PER_CHANGE,
        **parameters,
    }


def _choose(candidates: Iterable[rows.Row], task: Task, limit: int) -> tuple[list[rows.Row], Piece]:
    """Return the rows that are to be changed, at most `limit` of them, and the piece.

    A row starts with the cursor value behind it and with whether it is to be changed. No row is
    read beyond the last one that is changed: all writers wait meanwhile.
    """
    chosen: list[rows.Row] = []
    cursor, rows_read = task.cursor, 0
    for row in candidates:
        cursor, rows_read = row[0], rows_read + 1
        if row[1]:
            chosen.append(row)
            if len(chosen) == limit:
                return chosen, Piece(limit, str(cursor), last=False)
    return chosen, Piece(len(chosen), str(cursor), last=rows_read < limit * ROWS_READ_PER_CHANGE)


def _make_ready(session: Session, lane: int, seqs: Sequence[int], now: float) -> None:
    """Make deliveries of a lane ready to be sent now, and wake the lane."""
    write_rows(session.db, SQL["advance_again"], [(now, lane, seq) for seq in seqs])
    _wake_if_resting(session, lane, len(seqs))


def _deliver(session: Session, lane: int, messages: Sequence[int], now: float) -> None:
    """Create a delivery in a lane for each of these messages."""
    if not messages:
        return
    last, _ = session.add_to_lanes({lane: len(messages)})[lane]
    state, reason = State.READY.value, Reason.REPLAYED.value
    first = last - len(messages) + 1
    deliveries = [
        (lane, seq, message, state, reason, None, now, None)
        for seq, message in enumerate(messages, start=first)
    ]
    write_rows(session.db, SQL["add_delivery"], deliveries)
    _wake_if_resting(session, lane, len(messages))


def _wake_if_resting(session: Session, lane: int, deliveries: int) -> None:
    """Wake a lane that got a delivery while at rest."""
    if deliveries and not session.db.execute(SQL["advance_awake"], (lane,)).get:
        session.wake([lane])
