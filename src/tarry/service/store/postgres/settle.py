"""Write down what became of deliveries and of lanes.

Everybody holds what they change in one order, or two would wait for each other: applications,
endpoints, messages, deliveries, lanes, and lanes' states; each of these by their ids or numbers.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from tarry.service.failpoints import hit
from tarry.service.model.attempt import Attempt, Resent, Settlement
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.lane import Change, Lease
from tarry.service.store.postgres import rows
from tarry.service.store.postgres.database import Connection
from tarry.service.store.postgres.many import insert_many
from tarry.service.store.postgres.part import Part, held
from tarry.service.store.postgres.queries import SQL
from tarry.service.store.postgres.resent import add_missing, arrive, missing, places, take_away
from tarry.service.store.settling import Placed, in_rounds


class PostgresSettle(Part):
    """The part of `contract.Queue` that keeps what the dispatcher did."""

    async def settle(
        self,
        settlements: Sequence[Settlement | Resent],
        changes: Sequence[Change],
        leases: Iterable[Lease],
    ) -> list[bool]:
        """Write down what became of deliveries and lanes."""
        if not settlements and not changes:
            return []
        given = list(leases)

        async def write(connection: Connection) -> list[bool]:
            lanes = {settlement.lane for settlement in settlements}
            good = await held(connection, lanes | {change.lane for change in changes}, given)
            allowed = [change for change in changes if good.get(change.lane) == change.epoch]
            endpoints = await _standing(connection, allowed)
            made = await _settle(connection, settlements, good, endpoints)
            await _change(connection, allowed, endpoints)
            hit("settle.before")
            return made

        made = await self._database.run(write)
        hit("settle.after")
        return made


async def _settle(
    connection: Connection,
    settlements: Sequence[Settlement | Resent],
    epochs: Mapping[int, int],
    standing: Collection[int],
) -> list[bool]:
    """Settle what was sent under the epochs that lanes have; of some the standing will change."""
    placed = enumerate(settlements)
    good = [(place, one) for place, one in placed if epochs.get(one.lane) == one.epoch]
    beside = [(place, one) for place, one in good if isinstance(one, Settlement)]
    beside.sort(key=lambda placed: (placed[1].lane, placed[1].seq))
    asked = [(place, one) for place, one in good if isinstance(one, Resent)]
    taken = await take_away(connection, asked)
    resent = [one for _, one in taken]
    known = await places(connection, resent)
    new = missing(resent, known)
    if known or standing:
        told = [(one.lane, one.seq) for _, one in beside]
        told += [(lane, seq) for (lane, _), seq in known.items()]
        await connection.execute(SQL["settle_hold"], *rows.columns(told, 2))
        await connection.execute(SQL["settle_lanes"], [*standing, *(one.lane for one in new)])
    await add_missing(connection, new)
    made = [False] * len(settlements)
    late: list[Attempt] = []
    for batch in in_rounds(beside):
        for place in await _settled(connection, batch):
            made[place] = True
        late += await _late(connection, [one for place, one in batch if not made[place]])
    await arrive(connection, resent)
    for place, _ in taken:
        made[place] = True
    done = [one for one, was in zip(settlements, made, strict=True) if was]
    attempts = [one.attempt for one in done if one.attempt is not None]
    await keep_attempts(connection, attempts + late)
    return made


async def _settled(connection: Connection, batch: Sequence[Placed]) -> list[int]:
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
    changed = await connection.fetch(SQL["settle"], *rows.columns(told, 11))
    return [batch[row["place"]][0] for row in changed]


async def _late(connection: Connection, missed: Sequence[Settlement]) -> list[Attempt]:
    """The attempts that were on their way when their deliveries ended."""
    tried = [(one, one.attempt) for one in missed if one.attempt is not None]
    if not tried:
        return []
    told = [(one.lane, one.seq, one.message, one.tries) for one, _ in tried]
    found = await connection.fetch(SQL["settle_late"], *rows.columns(told, 4))
    return [tried[row["place"]][1] for row in found]


async def keep_attempts(connection: Connection, attempts: Sequence[Attempt]) -> None:
    """Keep attempts that were made."""
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
    """The endpoints whose standing changes, by lanes, as they are by now; held until the commit.

    With their applications, which whoever changes an endpoint holds first.
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
