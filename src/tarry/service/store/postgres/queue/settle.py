"""Save the outcomes of deliveries and changes of lanes.

Rows are locked in the order that ARCHITECTURE.md gives for PostgreSQL ("The order of locks").
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from tarry.service.failpoints import hit
from tarry.service.model.attempt import Attempt, Placed, Resent, Settlement, in_rounds
from tarry.service.model.audit import changed
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.lane import Change, Lease
from tarry.service.store.postgres.database import rows
from tarry.service.store.postgres.database.faults import Stale
from tarry.service.store.postgres.database.part import (
    Part,
    held,
    held_data_keys,
    insert_many,
    write_entry,
)
from tarry.service.store.postgres.database.pool import Connection
from tarry.service.store.postgres.queries import SQL


class PostgresSettle(Part):
    """The part of `contract.Queue` that saves the dispatcher's results."""

    async def settle(
        self,
        settlements: Sequence[Settlement | Resent],
        changes: Sequence[Change],
        leases: Iterable[Lease],
    ) -> list[bool]:
        """Save the outcomes of deliveries, their attempts, and changes of lanes."""
        if not settlements and not changes:
            return []
        lease_list = list(leases)
        late = False

        async def settle_and_change(connection: Connection) -> list[bool]:
            nonlocal late
            lanes = {settlement.lane for settlement in settlements}
            epochs = await held(connection, lanes | {change.lane for change in changes}, lease_list)
            allowed = [change for change in changes if epochs.get(change.lane) == change.epoch]
            endpoints = await _standing(connection, allowed)
            known = [change.lane for change in allowed if change.known is not None]
            sent = [
                (index, settlement)
                for index, settlement in enumerate(settlements)
                if epochs.get(settlement.lane) == settlement.epoch
            ]
            try:
                done = await _settle(connection, sent, standing=endpoints, known=known, late=late)
            except Stale:
                late = True
                raise
            applied = [index in done for index in range(len(settlements))]
            await _write_changes(connection, allowed, endpoints)
            hit("settle.before")
            return applied

        applied = await self._database.run(settle_and_change)
        hit("settle.after")
        return applied


async def _settle(
    connection: Connection,
    sent: Sequence[tuple[int, Settlement | Resent]],
    *,
    standing: Collection[int],
    known: Collection[int],
    late: bool,
) -> set[int]:
    """Apply settlements, given with their indexes; return the indexes of the applied ones.

    The lanes in `standing` and `known` change further later: their rows are locked here, in the
    order of locks. Attempts that come too `late`, after their delivery has ended, are rare. If
    there is one, this raises Stale and runs again, with all deliveries locked first.
    """
    settlements = [(index, item) for index, item in sent if isinstance(item, Settlement)]
    settlements.sort(key=lambda placed: (placed[1].lane, placed[1].seq))
    rounds = in_rounds(settlements)
    resends = [(index, item) for index, item in sent if isinstance(item, Resent)]
    seqs = await _seqs(connection, [resent for _, resent in resends])
    lacking = {lane for (lane, _), seq in seqs.items() if seq == 0}
    locks_first = late or bool(seqs) or bool(standing) or len(rounds) > 1
    if locks_first:
        await _lock_deliveries(connection, settlements, seqs)
        await connection.execute(SQL["settle_lanes"], [*standing, *lacking])
    taken = await _delete_resends(connection, resends)
    changed_later = lacking.union(known, (item.lane for batch in rounds[1:] for _, item in batch))
    done = {index for index, _ in taken}
    attempts = [resent.attempt for _, resent in taken]
    for batch in rounds or ([[]] if changed_later else []):
        done |= await _settle_batch(connection, batch, changed_later)
        missed = [item for index, item in batch if index not in done and item.attempt is not None]
        if missed and not locks_first:
            raise Stale
        attempts += [item.attempt for index, item in batch if index in done and item.attempt]
        attempts += await _save_late_tries(connection, missed)
    removed = [resent for _, resent in taken]
    await _add_missing(connection, _missing(removed, seqs))
    await _arrive(connection, removed)
    held_keys = await held_data_keys(connection, {attempt.sealed_with for attempt in attempts})
    await save_attempts(
        connection,
        [attempt if attempt.sealed_with in held_keys else attempt.bare() for attempt in attempts],
    )
    return done


async def _lock_deliveries(
    connection: Connection, settlements: Sequence[Placed], seqs: Mapping[tuple[int, str], int]
) -> None:
    """Lock the deliveries that settlements and resends change; `seqs` has those of resends."""
    deliveries = {(settlement.lane, settlement.seq) for _, settlement in settlements}
    deliveries |= {(lane, seq) for (lane, _), seq in seqs.items()}
    await connection.execute(SQL["settle_hold"], *rows.columns(deliveries, 2))


async def _settle_batch(
    connection: Connection, batch: Sequence[Placed], changed_later: Collection[int]
) -> set[int]:
    """Settle deliveries, in order; return the indexes of the settled ones.

    The lanes in `changed_later` change later in this transaction, so they are locked here too.
    """
    settlement_rows = [
        (
            settlement.lane,
            settlement.seq,
            settlement.message,
            settlement.tries,
            settlement.state,
            settlement.reason,
            settlement.attempts,
            int(settlement.attempt is not None),
            settlement.due_at,
            settlement.memory,
            settlement.ended_at,
        )
        for _, settlement in batch
    ]
    columns = rows.columns(settlement_rows, 11)
    changed = await connection.fetch(SQL["settle"], *columns, list(changed_later))
    return {batch[row["place"]][0] for row in changed}


async def _save_late_tries(connection: Connection, missed: Sequence[Settlement]) -> list[Attempt]:
    """Count tries of deliveries that ended meanwhile; return their attempts, to be saved."""
    tried = [(item, item.attempt) for item in missed if item.attempt is not None]
    if not tried:
        return []
    tried_rows = [(item.lane, item.seq, item.message, item.tries) for item, _ in tried]
    late_rows = await connection.fetch(SQL["settle_late"], *rows.columns(tried_rows, 4))
    return [tried[row["place"]][1] for row in late_rows]


async def save_attempts(connection: Connection, attempts: Sequence[Attempt]) -> None:
    """Save attempts."""
    attempt_rows = [rows.from_attempt(attempt) for attempt in attempts]
    await insert_many(
        connection, "settle_attempts", "attempt", Attempt.__struct_fields__, attempt_rows
    )


async def _write_changes(
    connection: Connection, changes: Sequence[Change], endpoints: Mapping[int, Endpoint]
) -> None:
    """Write what changed of lanes: their records, the endpoints' standing, and notices."""
    learned = {change.lane: change.known for change in changes if change.known is not None}
    if learned:
        known_rows = [
            (
                lane,
                known.pace,
                known.origin,
                known.accepted_at,
                known.failing_since,
                known.failures,
                known.warned,
            )
            for lane, known in learned.items()
        ]
        await connection.execute(SQL["settle_known"], *rows.columns(known_rows, 7))
    await _save_standing(connection, changes, endpoints)
    notices = [rows.from_notice(notice) for change in changes for notice in change.notices]
    if notices:
        await connection.executemany(SQL["settle_notices"], notices)


async def _standing(connection: Connection, changes: Sequence[Change]) -> dict[int, Endpoint]:
    """Return the endpoints whose standing changes, by lane, locked until the commit.

    Their applications are locked first, as in every change of an endpoint.
    """
    lanes = [change.lane for change in changes if change.standing is not None]
    if not lanes:
        return {}
    await connection.execute(SQL["settle_applications"], lanes)
    endpoint_rows = await connection.fetch(SQL["settle_standing"], lanes)
    return {row["lane"]: rows.endpoint(row) for row in endpoint_rows}


async def _save_standing(
    connection: Connection, changes: Sequence[Change], endpoints: Mapping[int, Endpoint]
) -> None:
    """Save the endpoints with their new standing."""
    changed_endpoints = dict(endpoints)
    for change in changes:
        if change.standing is not None and change.lane in changed_endpoints:
            stored = changed_endpoints[change.lane]
            changed_endpoints[change.lane] = saved = stored.stand(change.standing, change.at)
            await write_entry(connection, change.by, changed(saved, stored))
    for lane, endpoint in changed_endpoints.items():
        await connection.execute(SQL["put_endpoint_changed"], lane)
        await connection.execute(SQL["put_endpoint"], *rows.from_endpoint(endpoint))


# --- Resends ------------------------------------------------------------------------------------


PlacedResend = tuple[int, Resent]
"""A resend and its index among all settlements of the call."""


async def _delete_resends(
    connection: Connection, batch: Sequence[PlacedResend]
) -> list[PlacedResend]:
    """Delete the resends that were sent; return those that still existed, in order."""
    if not batch:
        return []
    first = {(resent.lane, resent.resend): (index, resent) for index, resent in reversed(batch)}
    deleted = await connection.fetch(SQL["settle_resent"], *rows.columns(list(first), 2))
    return sorted(first[row["lane"], row["id"]] for row in deleted)


async def _seqs(connection: Connection, resends: Sequence[Resent]) -> dict[tuple[int, str], int]:
    """Return the sequence numbers of the messages' deliveries in their lanes, 0 if there is none.

    The messages are locked until the commit.
    """
    first = _by_delivery(resends)
    if not first:
        return {}
    seq_rows = await connection.fetch(SQL["settle_places"], *rows.columns(list(first), 2))
    return {(row["lane"], row["message"]): row["seq"] or 0 for row in seq_rows}


def _missing(resends: Sequence[Resent], seqs: Mapping[tuple[int, str], int]) -> list[Resent]:
    """Return those whose message has no delivery in the lane."""
    return [resent for key, resent in _by_delivery(resends).items() if seqs.get(key) == 0]


async def _add_missing(connection: Connection, resends: Sequence[Resent]) -> None:
    """Add ended deliveries for messages that had none in the lane."""
    if not resends:
        return
    added = Counter(resent.lane for resent in resends)
    lanes = list(added), list(added.values())
    lane_rows = await connection.fetch(SQL["add_lanes"], *lanes, [False] * len(added))
    last = {row["number"]: row["added"] for row in lane_rows}
    delivery_rows = []
    for resent in resends:
        last[resent.lane] += 1
        new = resent.delivery(last[resent.lane])
        outcome = (new.state, new.reason, new.tries, new.accepted_at, new.ended_at)
        delivery_rows.append((new.lane, new.seq, new.message, *outcome))
    await connection.execute(SQL["settle_added"], *rows.columns(delivery_rows, 8))
    await connection.execute(SQL["add_ended"], *lanes)


async def _arrive(connection: Connection, resends: Sequence[Resent]) -> None:
    """Mark FAILED or SKIPPED deliveries as DELIVERED if the resend was accepted."""
    first = _by_delivery([resent for resent in resends if resent.arrived])
    if first:
        arrived = [(lane, message, resent.attempt.at) for (lane, message), resent in first.items()]
        await connection.execute(SQL["settle_arrived"], *rows.columns(arrived, 3))


def _by_delivery(resends: Sequence[Resent]) -> dict[tuple[int, str], Resent]:
    """Return the first resend of each delivery, in order."""
    first: dict[tuple[int, str], Resent] = {}
    for resent in resends:
        first.setdefault((resent.lane, resent.attempt.message), resent)
    return first
