"""Save the outcomes of deliveries and changes of lanes in this store."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import json

from tarry.service.failpoints import hit
from tarry.service.model.attempt import Placed, Resent, Settlement, in_rounds
from tarry.service.model.delivery import LIVE, WAITING
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Change, Lease
from tarry.service.store.sqlite.catalogue.endpoints import save_endpoint
from tarry.service.store.sqlite.database import rows
from tarry.service.store.sqlite.database.rows import write_rows
from tarry.service.store.sqlite.database.session import Session
from tarry.service.store.sqlite.database.threads import Threads
from tarry.service.store.sqlite.database.writer import Bulk
from tarry.service.store.sqlite.queries import SQL

_FOUND = json.Decoder(dict[int, tuple[int, bool]])


class SqliteSettling:
    """The part of `contract.Queue` that changes deliveries."""

    _threads: Threads

    async def settle(
        self,
        settlements: Sequence[Settlement | Resent],
        changes: Sequence[Change],
        leases: Iterable[Lease],
    ) -> list[bool]:
        """Save the outcomes of deliveries, their attempts, and changes of lanes."""
        leases = list(leases)

        def work(session: Session) -> list[bool]:
            lanes = (one.lane for part in (settlements, changes) for one in part)
            held = session.held_for(lanes, leases)
            made = _settle(session, settlements, held)
            for change in changes:
                if _is_held(session, change, held):
                    _change(session, change)
            hit("settle.before")
            return made

        made = await self._threads.write(Bulk(work))
        hit("settle.after")
        return made

    async def expire(
        self, lane: int, *, accepted_before: float, now: float, limit: int, lease: Lease
    ) -> int:
        """End live deliveries that are too old; return their number."""
        # Usually no delivery is too old, and a read costs no commit.
        old = (lane, accepted_before)
        if not await self._threads.read(lambda db: db.execute(SQL["expire_look"], old).fetchone()):
            return 0
        bounds = {"lane": lane, "accepted_before": accepted_before, "now": now, "limit": limit}

        def work(session: Session) -> int:
            if session.shard(lane) not in session.held([lease]):
                return 0
            session.db.execute(SQL["expire"], bounds)
            expired = session.db.changes()
            session.db.execute(SQL["settle_ended"], (expired, lane))
            hit("expire.before")
            return expired

        expired = await self._threads.write(work)
        hit("expire.after")
        return expired


def _settle(
    session: Session, settlements: Sequence[Settlement | Resent], held: dict[int, int]
) -> list[bool]:
    good = [(place, one) for place, one in enumerate(settlements) if _is_held(session, one, held)]
    made = [False] * len(settlements)
    attempts: list[rows.Row] = []
    ended = Counter[int]()
    for batch in in_rounds(good):
        found = _found(session, batch)
        same = [(place, one, *found[place]) for place, one in batch if place in found]
        write_rows(session.db, SQL["settle"], [_step(one) for _, one, _, live in same if live])
        for place, one, message, live in same:
            made[place] = live
            ended[one.lane] += live and one.state not in LIVE
            if one.attempt is not None:
                attempts.append(rows.attempt_row(one.attempt, message))
                if not live:
                    session.db.execute(SQL["settle_late"], (one.lane, one.seq))
    for place, resent in good:
        if isinstance(resent, Resent):
            asked = (resent.lane, resent.resend)
            for (message,) in list(session.db.execute(SQL["settle_resent"], asked)):
                made[place] = True
                attempts.append(rows.attempt_row(resent.attempt, message))
                ended[resent.lane] += _resent(session, resent, message)
    write_rows(session.db, SQL["settle_attempt"], attempts)
    counted = [(deliveries, lane) for lane, deliveries in ended.items() if deliveries]
    write_rows(session.db, SQL["settle_ended"], counted)
    return made


def _is_held(session: Session, one: Settlement | Resent | Change, held: Mapping[int, int]) -> bool:
    """Return whether the lease of this very epoch still holds the lane's shard."""
    shard = session.shard(one.lane)
    return shard is not None and held.get(shard) == one.epoch


def _found(session: Session, batch: Sequence[Placed]) -> dict[int, tuple[int, bool]]:
    """Return, by place, the message number of each unchanged delivery and whether it is live."""
    told = {place: (one.lane, one.seq, one.tries, one.message) for place, one in batch}
    found = session.db.execute(SQL["settle_found"], (json.encode(told).decode(),)).get
    return _FOUND.decode(found)


def _resent(session: Session, resent: Resent, message: int) -> int:
    """Update or add the delivery of a resent message; return how many more have ended."""
    db, lane = session.db, resent.lane
    if db.execute(SQL["settle_there"], (message, lane)).get:
        if resent.arrived:
            db.execute(SQL["settle_arrived"], (resent.attempt.at, message, lane))
        return 0
    seq, _ = session.add_to_lanes({lane: 1})[lane]
    new = resent.delivery(seq)
    state, reason = new.state.value, new.reason.value
    row = (lane, seq, message, state, reason, new.tries, new.accepted_at, new.ended_at)
    db.execute(SQL["settle_added"], row)
    return 1


def _step(settlement: Settlement) -> rows.Row:
    due_at = settlement.due_at
    if due_at is None and settlement.state is WAITING:
        due_at = 0.0  # it waits for no particular time, so it is due
    return (
        settlement.lane,
        settlement.seq,
        settlement.state,
        settlement.reason,
        settlement.attempts,
        settlement.attempt is not None,
        due_at,
        settlement.memory,
        settlement.ended_at,
    )


def _change(session: Session, change: Change) -> None:
    db = session.db
    if change.known is not None:
        db.execute(SQL["settle_known"], (rows.document(change.known), change.lane))
    if change.standing is not None:
        endpoint = rows.ENDPOINT.decode(db.execute(SQL["settle_endpoint"], (change.lane,)).get)
        if endpoint.standing is not Standing.DELETED:
            save_endpoint(session, endpoint.stand(change.standing, change.at))
    for notice in change.notices:
        db.execute(SQL["settle_notice"], (notice.id, notice.at, rows.document(notice)))
