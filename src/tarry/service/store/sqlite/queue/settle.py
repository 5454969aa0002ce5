"""Save the outcomes of deliveries and changes of lanes in this store."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import json

from tarry.service.failpoints import hit
from tarry.service.model.attempt import Attempt, Placed, Resent, Settlement, in_rounds
from tarry.service.model.audit import changed
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

_UNCHANGED = json.Decoder(dict[int, tuple[int, bool]])


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

        def settle_and_change(session: Session) -> list[bool]:
            lanes = (item.lane for items in (settlements, changes) for item in items)
            held = session.held_for(lanes, leases)
            applied = _settle(session, settlements, held)
            for change in changes:
                if _is_held(session, change, held):
                    _write_change(session, change)
            hit("settle.before")
            return applied

        applied = await self._threads.write(Bulk(settle_and_change))
        hit("settle.after")
        return applied

    async def expire(
        self, lane: int, *, accepted_before: float, now: float, limit: int, lease: Lease
    ) -> int:
        """End live deliveries that are too old; return their number."""
        # Usually no delivery is too old, and a read costs no commit.
        old = (lane, accepted_before)
        if not await self._threads.read(lambda db: db.execute(SQL["expire_look"], old).fetchone()):
            return 0
        bounds = {"lane": lane, "accepted_before": accepted_before, "now": now, "limit": limit}

        def end_old(session: Session) -> int:
            if session.shard(lane) not in session.held([lease]):
                return 0
            session.db.execute(SQL["expire"], bounds)
            expired = session.db.changes()
            session.db.execute(SQL["settle_ended"], (expired, lane))
            hit("expire.before")
            return expired

        expired = await self._threads.write(end_old)
        hit("expire.after")
        return expired


def _settle(
    session: Session, settlements: Sequence[Settlement | Resent], held: dict[int, int]
) -> list[bool]:
    """Write the outcomes whose leases are held; return for each whether it was applied."""
    allowed = [
        (index, settlement)
        for index, settlement in enumerate(settlements)
        if _is_held(session, settlement, held)
    ]
    applied = [False] * len(settlements)
    attempts: list[tuple[Attempt, int]] = []
    ended = Counter[int]()
    for batch in in_rounds(allowed):
        unchanged = _unchanged(session, batch)
        matching = [
            (index, settlement, *unchanged[index])
            for index, settlement in batch
            if index in unchanged
        ]
        live_rows = [_settle_row(settlement) for _, settlement, _, is_live in matching if is_live]
        write_rows(session.db, SQL["settle"], live_rows)
        for index, settlement, message, is_live in matching:
            applied[index] = is_live
            ended[settlement.lane] += is_live and settlement.state not in LIVE
            if settlement.attempt is not None:
                attempts.append((settlement.attempt, message))
                if not is_live:
                    session.db.execute(SQL["settle_late"], (settlement.lane, settlement.seq))
    for index, resent in allowed:
        if isinstance(resent, Resent):
            resend_key = (resent.lane, resent.resend)
            for (message,) in list(session.db.execute(SQL["settle_resent"], resend_key)):
                applied[index] = True
                attempts.append((resent.attempt, message))
                ended[resent.lane] += _apply_resend(session, resent, message)
    held_keys = session.held_data_keys(attempt.sealed_with for attempt, _ in attempts)
    attempt_rows = [
        rows.attempt_row(attempt if attempt.sealed_with in held_keys else attempt.bare(), message)
        for attempt, message in attempts
    ]
    write_rows(session.db, SQL["settle_attempt"], attempt_rows)
    counted = [(deliveries, lane) for lane, deliveries in ended.items() if deliveries]
    write_rows(session.db, SQL["settle_ended"], counted)
    return applied


def _is_held(session: Session, item: Settlement | Resent | Change, held: Mapping[int, int]) -> bool:
    """Return whether the lease of this very epoch still holds the lane's shard."""
    shard = session.shard(item.lane)
    return shard is not None and held.get(shard) == item.epoch


def _unchanged(session: Session, batch: Sequence[Placed]) -> dict[int, tuple[int, bool]]:
    """Return, by index, the message number of each unchanged delivery and whether it is live."""
    expected = {
        index: (settlement.lane, settlement.seq, settlement.tries, settlement.message)
        for index, settlement in batch
    }
    document = session.db.execute(SQL["settle_found"], (json.encode(expected).decode(),)).get
    return _UNCHANGED.decode(document)


def _apply_resend(session: Session, resent: Resent, message: int) -> int:
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


def _settle_row(settlement: Settlement) -> rows.Row:
    """Return the parameters of the query `settle`."""
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


def _write_change(session: Session, change: Change) -> None:
    """Write what changed of a lane: its record, the endpoint's standing, and notices."""
    db = session.db
    if change.known is not None:
        db.execute(SQL["settle_known"], (rows.document(change.known), change.lane))
    if change.standing is not None:
        endpoint = rows.ENDPOINT.decode(db.execute(SQL["settle_endpoint"], (change.lane,)).get)
        if endpoint.standing is not Standing.DELETED:
            saved = endpoint.stand(change.standing, change.at)
            save_endpoint(session, saved)
            session.write_entry(change.by, changed(saved, endpoint))
    for notice in change.notices:
        db.execute(SQL["settle_notice"], (notice.id, notice.at, rows.document(notice)))
