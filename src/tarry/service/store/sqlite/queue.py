"""Deliveries that the dispatcher can send, in this store."""

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

import apsw

from tarry.service.failpoints import hit
from tarry.service.model.lane import Due, Fetched, LaneRow, Stream, Want
from tarry.service.store.contract import NO_RECORDS
from tarry.service.store.sqlite import rows
from tarry.service.store.sqlite.queries import SQL
from tarry.service.store.sqlite.session import Session
from tarry.service.store.sqlite.threads import Threads

LARGEST = 2**63 - 1


class SqliteQueue:
    """The part of `contract.Queue` that reads lanes."""

    _threads: Threads

    async def lanes(self, lanes: Sequence[int]) -> list[LaneRow]:
        """Return these lanes, without lanes that are gone."""

        def work(db: apsw.Connection) -> list[LaneRow]:
            found = (db.execute(SQL["lanes"], (lane,)).fetchone() for lane in lanes)
            return [rows.lane_row(row) for row in found if row is not None]

        return await self._threads.read(work)

    async def fetch(self, wants: Sequence[Want], *, now: float, most_bytes: int) -> Fetched:
        """Return deliveries that these lanes can send next."""
        return await self._threads.read(lambda db: fetch_from(db, wants, now, most_bytes))

    async def collect(self, *, now: float, limit: int) -> int:  # noqa: ARG002  nothing to collect
        """Return 0: a caller's own copy of SQLite in this process would break the file locks."""
        return 0

    async def origins(self, names: Sequence[str]) -> list[bytes]:
        """Return the record saved by `learn` for each of these origins."""
        wanted = rows.array(names)

        def work(db: apsw.Connection) -> list[bytes]:
            known = dict(db.execute(SQL["origins"], (wanted,)))
            return [known.get(name, b"") for name in names]

        return await self._threads.read(work)

    async def learn(
        self, origins: Mapping[str, bytes], *, expected: Mapping[str, bytes] = NO_RECORDS
    ) -> dict[str, bytes]:
        """Save what was learned about origins; return the records that were not replaced."""
        wanted = rows.array(origins)

        def work(session: Session) -> dict[str, bytes]:
            records = dict(session.db.execute(SQL["origins"], (wanted,)))
            kept = {
                name: record
                for name, record in records.items()
                if expected.get(name, record) != record
            }
            learned = [(name, text) for name, text in origins.items() if name not in kept]
            session.db.executemany(SQL["learn"], learned)
            hit("learn.before")
            return kept

        kept = await self._threads.write(work)
        hit("learn.after")
        return kept


def fetch_from(db: apsw.Connection, wants: Sequence[Want], now: float, most_bytes: int) -> Fetched:
    """Return deliveries that lanes can send next, as this connection sees them."""
    fetched = Fetched([], {}, {}, {})
    room = most_bytes
    for want in wants:
        lane = db.execute(SQL["fetch_lane"], (want.lane,)).fetchone()
        if lane is None:
            continue
        fetched.added[want.lane], fetched.versions[want.lane] = lane
        if want.stream is Stream.WAITING:
            due_at = db.execute(SQL["fetch_next"], (want.lane, now)).get
            if due_at is not None:
                fetched.next_due_at[want.lane] = due_at
        first = True
        for due in _stream(db, want, now):
            room -= len(due.payload or b"")
            if room <= 0 and not first:
                break  # the rest of the stream is not even read from the disk
            first = False
            fetched.due.append(due)
    return fetched


def _stream(db: apsw.Connection, want: Want, now: float) -> Iterator[Due]:
    bounds: rows.Row
    match want.stream:
        case Stream.READY:
            before = LARGEST if want.before is None else want.before
            query, bounds = "fetch_ready", (want.lane, want.after, before, want.limit)
        case Stream.WAITING:
            query = "fetch_waiting"
            bounds = (want.lane, want.due_after, want.after, now, want.limit)
        case Stream.EARLY:
            query, bounds = "fetch_early", (want.lane, want.due_after, want.after, want.limit)
        case Stream.RESEND:
            query, bounds = "fetch_resend", (want.lane, want.limit)
        case _:
            assert_never(want.stream)
    return (rows.due(row, want.stream) for row in db.execute(SQL[query], bounds))
