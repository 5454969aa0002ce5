"""Leases of shards, wake-ups of lanes, and the deliveries that the dispatcher can send.

One process at a time has the dispatcher's role, through a lock of the operating system. The process
that gets the lock knows that all leases of other processes are over, and need not wait for them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import assert_never

import apsw

from tarry.service.failpoints import hit
from tarry.service.model.lane import Due, Fetched, LaneRow, Lease, Stream, Want
from tarry.service.store.contract import NO_RECORDS, TOO_LONG, Nudge, Seal, Server
from tarry.service.store.sqlite.database import rows
from tarry.service.store.sqlite.database.session import Session
from tarry.service.store.sqlite.database.threads import Threads
from tarry.service.store.sqlite.queries import SQL

LARGEST_SEQ = 2**63 - 1


class SqliteQueue:
    """The part of `contract.Queue` about leases, wake-ups, and the deliveries that can be sent.

    `settle` has the other part, which changes deliveries.
    """

    _threads: Threads

    async def lease(self, worker: str, *, most: int, length: float) -> list[Lease]:
        """Take shards that are free or whose lease has ended, as the only dispatcher process."""
        lock = self._threads.lock
        lock.take(worker)

        def take_shards(session: Session) -> list[Lease]:
            db, now = session.db, session.clock()
            own_workers, latest = rows.array(lock.workers), now + TOO_LONG * length
            db.execute(SQL["lease_end"], (own_workers,))
            db.execute(SQL["lease_forget"], (own_workers, latest))
            db.execute(SQL["lease_alive"], (worker, now + length))
            owned = db.execute(SQL["lease_owned"], (worker, now)).get
            room = max(0, most - owned)
            bounds = {"now": now, "latest": latest, "most": room}
            taken = db.execute(SQL["lease"], {"worker": worker, "until": now + length, **bounds})
            leases = [Lease(shard, epoch, worker, bool(clean)) for shard, epoch, clean in taken]
            hit("lease.before")
            return sorted(leases, key=lambda lease: lease.shard)

        owned = await self._threads.write(take_shards)
        hit("lease.after")
        return owned

    async def renew(self, worker: str, leases: Sequence[Lease], *, length: float) -> list[Lease]:
        """Extend the leases; return those that are still owned."""

        def extend_leases(session: Session) -> list[Lease]:
            until = session.clock() + length
            session.db.execute(SQL["lease_alive"], (worker, until))
            own = [lease for lease in leases if lease.worker == worker]
            held = session.held(own)
            session.db.executemany(SQL["renew"], ((until, shard) for shard in held))
            hit("renew.before")
            return [lease for lease in own if lease.shard in held]

        owned = await self._threads.write(extend_leases)
        hit("renew.after")
        return owned

    async def release(self, leases: Sequence[Lease]) -> None:
        """Give shards back; with the last one, the dispatcher's role too."""

        def end_leases(session: Session) -> set[str]:
            session.db.executemany(SQL["release"], ((shard,) for shard in session.held(leases)))
            hit("release.before")
            return {worker for (worker,) in session.db.execute(SQL["release_left"])}

        still_owning = await self._threads.write(end_leases)
        hit("release.after")
        for worker in {lease.worker for lease in leases} - still_owning:
            self._threads.lock.leave(worker)

    async def server(self) -> Server:
        """Return this machine's time: all processes that open the file run on it."""

        def read_clock(db: apsw.Connection) -> Server:
            now = self._threads.clock()
            return Server(now, 0.0, db.execute(SQL["server"], (now,)).get)

        return await self._threads.read(read_clock)

    async def awake(self, shards: Sequence[int]) -> list[int]:
        """Return the lanes of these shards that are not at rest."""
        numbers = rows.array(shards)
        return await self._threads.read(
            lambda db: [lane for (lane,) in db.execute(SQL["awake"], (numbers,))]
        )

    async def woken(self, leases: Sequence[Lease]) -> list[int]:
        """Return the lanes of these shards that were woken since the last call, each once."""
        # Usually no lane was woken, and a read costs no commit.
        shards = await self._threads.read(
            lambda db: {shard for (shard,) in db.execute(SQL["woken_look"])}
        )
        affected = [lease for lease in leases if lease.shard in shards]
        if not affected:
            return []

        def take_woken(session: Session) -> list[int]:
            held = rows.array(session.held(affected))
            lanes = sorted(lane for (lane,) in session.db.execute(SQL["woken"], (held,)))
            hit("woken.before")
            return lanes

        lanes = await self._threads.write(take_woken)
        hit("woken.after")
        return lanes

    def listen(self, nudge: Nudge) -> None:
        """Call `nudge()` soon after a lane was woken."""
        self._threads.listen(nudge)

    async def rest(
        self, lanes: Mapping[int, int], leases: Iterable[Lease], *, doze: bool = False
    ) -> set[int]:
        """Put lanes to rest that have nothing to send, or let lanes doze; return their numbers."""
        query, lease_list = SQL["rest_doze" if doze else "rest"], list(leases)

        def let_rest(session: Session) -> set[int]:
            held = session.held_for(lanes, lease_list)
            resting = {
                lane
                for lane, added in lanes.items()
                if session.shard(lane) in held
                and session.db.execute(query, {"lane": lane, "added": added}).fetchall()
            }
            hit("rest.before")
            return resting

        resting = await self._threads.write(let_rest)
        hit("rest.after")
        return resting

    async def lanes(self, lanes: Sequence[int]) -> list[LaneRow]:
        """Return these lanes, without lanes that are gone."""

        def read_lanes(db: apsw.Connection) -> list[LaneRow]:
            found_rows = (db.execute(SQL["lanes"], (lane,)).fetchone() for lane in lanes)
            return [rows.lane_row(row) for row in found_rows if row is not None]

        return await self._threads.read(read_lanes)

    async def fetch(self, wants: Sequence[Want], *, now: float, most_bytes: int) -> Fetched:
        """Return deliveries that these lanes can send next."""
        return await self._threads.read(lambda db: fetch_from(db, wants, now, most_bytes))

    async def collect(self, *, now: float, limit: int, seal: Seal | None = None) -> int:  # noqa: ARG002  nothing to collect
        """Return 0: SQLite has no outbox table for callers' own transactions.

        A caller's own copy of SQLite in this process would break the file locks.
        """
        return 0

    async def origins(self, names: Sequence[str]) -> list[bytes]:
        """Return the record saved by `learn` for each of these origins."""
        name_array = rows.array(names)

        def read_records(db: apsw.Connection) -> list[bytes]:
            records = dict(db.execute(SQL["origins"], (name_array,)))
            return [records.get(name, b"") for name in names]

        return await self._threads.read(read_records)

    async def learn(
        self, origins: Mapping[str, bytes], *, expected: Mapping[str, bytes] = NO_RECORDS
    ) -> dict[str, bytes]:
        """Save what was learned about origins; return the records that were not replaced."""
        name_array = rows.array(origins)

        def replace_records(session: Session) -> dict[str, bytes]:
            records = dict(session.db.execute(SQL["origins"], (name_array,)))
            not_replaced = {
                name: record
                for name, record in records.items()
                if expected.get(name, record) != record
            }
            learned = [(name, text) for name, text in origins.items() if name not in not_replaced]
            session.db.executemany(SQL["learn"], learned)
            hit("learn.before")
            return not_replaced

        not_replaced = await self._threads.write(replace_records)
        hit("learn.after")
        return not_replaced


def fetch_from(db: apsw.Connection, wants: Sequence[Want], now: float, most_bytes: int) -> Fetched:
    """Return deliveries that lanes can send next, as this connection sees them."""
    fetched = Fetched([], {}, {}, {})
    room = most_bytes
    for want in wants:
        lane_row = db.execute(SQL["fetch_lane"], (want.lane,)).fetchone()
        if lane_row is None:
            continue
        fetched.added[want.lane], fetched.versions[want.lane] = lane_row
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
    """Read the deliveries of one stream of a lane."""
    bounds: rows.Row
    match want.stream:
        case Stream.READY:
            before = LARGEST_SEQ if want.before is None else want.before
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
