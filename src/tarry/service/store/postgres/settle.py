"""Write down what became of deliveries and of lanes."""

from collections import Counter
from collections.abc import Iterable, Sequence

from tarry.service.failpoints import hit
from tarry.service.model.attempt import Attempt, Resent, Settlement
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Change, Lease
from tarry.service.store.postgres import rows
from tarry.service.store.postgres.database import Connection
from tarry.service.store.postgres.many import insert_many
from tarry.service.store.postgres.part import Part, held
from tarry.service.store.postgres.queries import SQL
from tarry.service.store.postgres.resent import add_missing, arrive, take_away


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
            made = await _settle(connection, settlements, good)
            await _change(connection, [change for change in changes if change.lane in good])
            hit("settle.before")
            return made

        made = await self._database.run(write)
        hit("settle.after")
        return made


async def _settle(
    connection: Connection, settlements: Sequence[Settlement | Resent], lanes: set[int]
) -> list[bool]:
    good = [(place, one) for place, one in enumerate(settlements) if one.lane in lanes]
    beside = [(place, one) for place, one in good if isinstance(one, Settlement)]
    asked = [(place, one) for place, one in good if isinstance(one, Resent)]
    taken = await take_away(connection, asked)
    resent = [one for _, one in taken]
    await add_missing(connection, resent, [one for _, one in beside])
    made = [False] * len(settlements)
    for batch in _rounds(beside):
        for place in await _settled(connection, batch):
            made[place] = True
    await arrive(connection, resent)
    for place, _ in taken:
        made[place] = True
    done = [one for one, was in zip(settlements, made, strict=True) if was]
    attempts = [one.attempt for one in done if one.attempt is not None]
    await keep_attempts(connection, attempts)
    return made


def _rounds(settlements: Sequence[tuple[int, Settlement]]) -> list[list[tuple[int, Settlement]]]:
    """What may be written, so that no delivery comes twice in one statement."""
    rounds: list[list[tuple[int, Settlement]]] = []
    times: Counter[tuple[int, int]] = Counter()
    for place, one in settlements:
        nth = times[one.lane, one.seq]
        times[one.lane, one.seq] += 1
        if nth == len(rounds):
            rounds.append([])
        rounds[nth].append((place, one))
    return rounds


async def _settled(connection: Connection, batch: Sequence[tuple[int, Settlement]]) -> list[int]:
    told = [
        (
            one.lane,
            one.seq,
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
    changed = await connection.fetch(SQL["settle"], *rows.columns(told, 10))
    return [batch[row["place"]][0] for row in changed]


async def keep_attempts(connection: Connection, attempts: Sequence[Attempt]) -> None:
    """Keep attempts that were made."""
    told = [rows.from_attempt(attempt) for attempt in attempts]
    await insert_many(connection, "settle_attempts", "attempt", rows.ATTEMPT, told)


async def _change(connection: Connection, changes: Sequence[Change]) -> None:
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
    for change in changes:
        if change.standing is not None:
            await _stand(connection, change.lane, change.standing, change.at)
    notices = [rows.from_notice(notice) for change in changes for notice in change.notices]
    if notices:
        await connection.executemany(SQL["settle_notices"], notices)


async def _stand(connection: Connection, lane: int, standing: Standing, at: float) -> None:
    # The application first, as whoever changes an endpoint does: else each waits for the other.
    await connection.execute(SQL["settle_application"], lane)
    found = await connection.fetch(SQL["settle_standing"], lane)
    endpoint = rows.endpoint(found[0])
    if endpoint.standing is Standing.DELETED:
        return
    await connection.execute(SQL["put_endpoint_changed"], lane)
    changed = endpoint.stand(standing, at)
    await connection.execute(SQL["put_endpoint"], *rows.from_endpoint(changed))
