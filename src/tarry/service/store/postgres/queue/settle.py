"""Save the outcomes of deliveries and changes of lanes.

Rows are locked in the order that ARCHITECTURE.md gives for PostgreSQL ("The order of locks").
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from tarry.service.failpoints import hit
from tarry.service.model.attempt import Attempt, Placed, Resent, Settlement, in_rounds
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.lane import Change, Lease
from tarry.service.store.postgres.database import rows
from tarry.service.store.postgres.database.faults import Stale
from tarry.service.store.postgres.database.part import Part, held, insert_many
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
        given = list(leases)
        late = False

        async def write(connection: Connection) -> list[bool]:
            nonlocal late
            lanes = {settlement.lane for settlement in settlements}
            good = await held(connection, lanes | {change.lane for change in changes}, given)
            allowed = [change for change in changes if good.get(change.lane) == change.epoch]
            endpoints = await _standing(connection, allowed)
            known = [change.lane for change in allowed if change.known is not None]
            sent = [
                (place, one)
                for place, one in enumerate(settlements)
                if good.get(one.lane) == one.epoch
            ]
            try:
                done = await _settle(connection, sent, standing=endpoints, known=known, late=late)
            except Stale:
                late = True
                raise
            made = [place in done for place in range(len(settlements))]
            await _change(connection, allowed, endpoints)
            hit("settle.before")
            return made

        made = await self._database.run(write)
        hit("settle.after")
        return made


async def _settle(
    connection: Connection,
    sent: Sequence[tuple[int, Settlement | Resent]],
    *,
    standing: Collection[int],
    known: Collection[int],
    late: bool,
) -> set[int]:
    """Apply settlements, given with their places; return the places of the applied ones.

    The lanes in `standing` and `known` change further later: their rows are locked here, in the
    order of locks. Attempts that come too `late`, after their delivery has ended, are rare. If
    there is one, this raises Stale and runs again, with all deliveries locked first.
    """
    beside = [(place, one) for place, one in sent if isinstance(one, Settlement)]
    beside.sort(key=lambda placed: (placed[1].lane, placed[1].seq))
    rounds = in_rounds(beside)
    asked = [(place, one) for place, one in sent if isinstance(one, Resent)]
    there = await _places(connection, [one for _, one in asked])
    absent = {lane for (lane, _), seq in there.items() if seq == 0}
    hold = late or bool(there) or bool(standing) or len(rounds) > 1
    if hold:
        told = {(one.lane, one.seq) for batch in rounds for _, one in batch}
        told |= {(lane, seq) for (lane, _), seq in there.items()}
        await connection.execute(SQL["settle_hold"], *rows.columns(told, 2))
        await connection.execute(SQL["settle_lanes"], [*standing, *absent])
    taken = await _take_away(connection, asked)
    also = absent.union(known, *({one.lane for _, one in batch} for batch in rounds[1:]))
    done = {place for place, _ in taken}
    kept = [one.attempt for _, one in taken]
    for batch in rounds or ([[]] if also else []):
        done |= await _settled(connection, batch, also)
        missed = [one for place, one in batch if place not in done and one.attempt is not None]
        if missed and not hold:
            raise Stale
        kept += [one.attempt for place, one in batch if place in done and one.attempt is not None]
        kept += await _late(connection, missed)
    resent = [one for _, one in taken]
    await _add_missing(connection, _missing(resent, there))
    await _arrive(connection, resent)
    await keep_attempts(connection, kept)
    return done


async def _settled(
    connection: Connection, batch: Sequence[Placed], also: Collection[int]
) -> set[int]:
    """Settle deliveries, in order; return the places of the settled ones."""
    told = [
        (
            one.lane,
            one.seq,
            one.message,
            one.tries,
            one.state,
            one.reason,
            one.attempts,
            int(one.attempt is not None),
            one.due_at,
            one.memory,
            one.ended_at,
        )
        for _, one in batch
    ]
    changed = await connection.fetch(SQL["settle"], *rows.columns(told, 11), list(also))
    return {batch[row["place"]][0] for row in changed}


async def _late(connection: Connection, missed: Sequence[Settlement]) -> list[Attempt]:
    """Count tries of deliveries that ended meanwhile; return their attempts, to be saved."""
    tried = [(one, one.attempt) for one in missed if one.attempt is not None]
    if not tried:
        return []
    told = [(one.lane, one.seq, one.message, one.tries) for one, _ in tried]
    found = await connection.fetch(SQL["settle_late"], *rows.columns(told, 4))
    return [tried[row["place"]][1] for row in found]


async def keep_attempts(connection: Connection, attempts: Sequence[Attempt]) -> None:
    """Save attempts."""
    told = [rows.from_attempt(attempt) for attempt in attempts]
    await insert_many(connection, "settle_attempts", "attempt", Attempt.__struct_fields__, told)


async def _change(
    connection: Connection, changes: Sequence[Change], endpoints: Mapping[int, Endpoint]
) -> None:
    known = {change.lane: change.known for change in changes if change.known is not None}
    if known:
        told = [
            (
                lane,
                one.pace,
                one.origin,
                one.accepted_at,
                one.failing_since,
                one.failures,
                one.warned,
            )
            for lane, one in known.items()
        ]
        await connection.execute(SQL["settle_known"], *rows.columns(told, 7))
    await _stand(connection, changes, endpoints)
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
    found = await connection.fetch(SQL["settle_standing"], lanes)
    return {row["lane"]: rows.endpoint(row) for row in found}


async def _stand(
    connection: Connection, changes: Sequence[Change], endpoints: Mapping[int, Endpoint]
) -> None:
    stood = dict(endpoints)
    for change in changes:
        if change.standing is not None and change.lane in stood:
            stood[change.lane] = stood[change.lane].stand(change.standing, change.at)
    for lane, endpoint in stood.items():
        await connection.execute(SQL["put_endpoint_changed"], lane)
        await connection.execute(SQL["put_endpoint"], *rows.from_endpoint(endpoint))


# --- Resends ------------------------------------------------------------------------------------


PlacedResend = tuple[int, Resent]
"""A resend and its index among all settlements of the call."""


async def _take_away(connection: Connection, batch: Sequence[PlacedResend]) -> list[PlacedResend]:
    """Delete the resends that were sent; return those that still existed, in order."""
    if not batch:
        return []
    first = {(one.lane, one.resend): (place, one) for place, one in reversed(batch)}
    gone = await connection.fetch(SQL["settle_resent"], *rows.columns(list(first), 2))
    return sorted(first[row["lane"], row["id"]] for row in gone)


async def _places(connection: Connection, made: Sequence[Resent]) -> dict[tuple[int, str], int]:
    """Return the sequence numbers of the messages' deliveries in their lanes, 0 if there is none.

    The messages are locked until the commit.
    """
    first = _by_delivery(made)
    if not first:
        return {}
    found = await connection.fetch(SQL["settle_places"], *rows.columns(list(first), 2))
    return {(row["lane"], row["message"]): row["seq"] or 0 for row in found}


def _missing(made: Sequence[Resent], known: Mapping[tuple[int, str], int]) -> list[Resent]:
    """Return those whose message has no delivery in the lane."""
    return [one for key, one in _by_delivery(made).items() if known.get(key) == 0]


async def _add_missing(connection: Connection, new: Sequence[Resent]) -> None:
    """Add ended deliveries for messages that had none in the lane."""
    if not new:
        return
    many = Counter(one.lane for one in new)
    lanes = list(many), list(many.values())
    taken = await connection.fetch(SQL["add_lanes"], *lanes, [False] * len(many))
    last = {row["number"]: row["added"] for row in taken}
    told = []
    for one in new:
        last[one.lane] += 1
        left = one.delivery(last[one.lane])
        ended = (left.state, left.reason, left.tries, left.accepted_at, left.ended_at)
        told.append((left.lane, left.seq, left.message, *ended))
    await connection.execute(SQL["settle_added"], *rows.columns(told, 8))
    await connection.execute(SQL["add_ended"], *lanes)


async def _arrive(connection: Connection, made: Sequence[Resent]) -> None:
    """Mark FAILED or SKIPPED deliveries as DELIVERED if the resend was accepted."""
    first = _by_delivery([one for one in made if one.arrived])
    if first:
        arrived = [(lane, message, one.attempt.at) for (lane, message), one in first.items()]
        await connection.execute(SQL["settle_arrived"], *rows.columns(arrived, 3))


def _by_delivery(made: Sequence[Resent]) -> dict[tuple[int, str], Resent]:
    """Return the first resend of each delivery, in order."""
    first: dict[tuple[int, str], Resent] = {}
    for one in made:
        first.setdefault((one.lane, one.attempt.message), one)
    return first
