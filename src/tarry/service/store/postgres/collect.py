"""Accept what callers put on record inside their own transactions."""

import os
from collections.abc import Sequence

from tarry.errors import Conflict, ServiceError
from tarry.service.failpoints import hit
from tarry.service.model import ids
from tarry.service.model.lane import Notice
from tarry.service.model.message import Message, NewMessage
from tarry.service.store.postgres import rows
from tarry.service.store.postgres.accept import accept
from tarry.service.store.postgres.claims import Result
from tarry.service.store.postgres.database import Connection
from tarry.service.store.postgres.part import Part
from tarry.service.store.postgres.queries import SQL
from tarry.service.store.postgres.routes import Routes

REFUSED = "message.refused"
"""The kind of a notice about a message that could not be accepted."""


class PostgresCollect(Part):
    """The part of `contract.Queue` that empties the table `tarry.outbox`.

    What its caller committed is accepted whatever waits already: `most_waiting` is not asked. What
    cannot be accepted (an application that is not there, an event id or a message id that was used)
    goes to `tarry.outbox_refused` with the reason, and leaves a notice.
    """

    _routes: Routes

    async def collect(self, *, now: float, limit: int) -> int:
        """Accept what waits in the outbox, the oldest first; how many were taken from it."""

        async def take(connection: Connection) -> int:
            found = await connection.fetch(SQL["collect"], limit)
            if not found:
                return 0
            found.sort(key=lambda row: (row["created_at"], row["id"]))
            used = await connection.fetch(SQL["collect_used"], [row["id"] for row in found])
            known = {row["id"] for row in used}
            fresh = [row for row in found if row["id"] not in known]
            results = await accept(
                connection, self._routes, [_message(row, now) for row in fresh], limited=False
            )
            answers: list[tuple[rows.Row, Result]] = list(zip(fresh, results, strict=True))
            answers += [
                (row, Conflict("message", row["id"])) for row in found if row["id"] in known
            ]
            await _put_aside(connection, answers, now)
            hit("collect.before")
            return len(found)

        taken = await self._database.run(take)
        hit("collect.after")
        return taken


def _message(row: rows.Row, now: float) -> NewMessage:
    return NewMessage(
        Message(
            id=row["id"],
            application=row["application"],
            event_type=row["event_type"],
            payload=row["payload"],
            event_id=row["event_id"],
            channels=tuple(row["channels"]),
            tags=tuple(row["tags"]),
            accepted_at=now,
            deliver_at=row["deliver_at"],
        )
    )


async def _put_aside(
    connection: Connection, answers: Sequence[tuple[rows.Row, Result]], now: float
) -> None:
    """Keep what was refused where somebody can look at it."""
    refused = [(row, why) for row, why in answers if isinstance(why, ServiceError)]
    if not refused:
        return
    await connection.executemany(
        SQL["collect_refused"], [(*row.values(), str(why), now) for row, why in refused]
    )
    notices = [
        Notice(
            id=ids.make(ids.NOTICE, now=now, entropy=os.urandom(ids.CHANCE)),
            application=row["application"],
            endpoint="",
            kind=REFUSED,
            facts={"message": row["id"], "why": str(why)},
            at=now,
        )
        for row, why in refused
    ]
    told = [rows.from_notice(notice) for notice in notices]
    await connection.executemany(SQL["settle_notices"], told)
