"""Accept messages that callers wrote to the outbox table in their own transactions."""

import os
from collections.abc import Awaitable, Callable, Collection, Container, Sequence

import asyncpg  # type: ignore[import-untyped]  # it ships no types

from tarry.errors import Conflict, ServiceError, SettingsError, StoreError, StoreUnavailable
from tarry.service.failpoints import hit
from tarry.service.model import ids
from tarry.service.model.allowed import check_names, check_size
from tarry.service.model.lane import Notice
from tarry.service.model.message import Message, NewMessage
from tarry.service.model.text import MOST_SHOWN, check_instant, check_text
from tarry.service.store.contract import Seal
from tarry.service.store.postgres.database import faults, rows
from tarry.service.store.postgres.database.part import Part
from tarry.service.store.postgres.database.pool import Connection
from tarry.service.store.postgres.ingest.accept import accept
from tarry.service.store.postgres.ingest.decide import Result
from tarry.service.store.postgres.ingest.routes import Routes
from tarry.service.store.postgres.queries import SQL

REFUSED = "message.refused"
"""The kind of a notice about a message that could not be accepted."""


TENANTS_PER_TURN = 50
"""Applications whose messages are collected together, each with an equal share."""


class PostgresCollect(Part):
    """The part of `contract.Queue` that empties the table `tarry.outbox`.

    Messages of one application are accepted in the order in which they were inserted, however
    many processes collect: a process that finds a row locked skips all rows after it.
    Applications take turns.

    A message that its caller committed is accepted even if `most_waiting` is reached. A message
    that cannot be accepted (unknown application, an event id or message id that was used, a
    malformed id, or anything that the HTTP API would refuse) is moved to `tarry.outbox_refused`
    with the reason, and a notice is saved.
    """

    _routes: Routes
    _collected: str
    """The last application that had its turn."""

    async def collect(self, *, now: float, limit: int, seal: Seal | None = None) -> int:
        """Accept messages in the outbox; return how many were taken from it."""

        async def accept_together(connection: Connection) -> int:
            return await self._accept_next(connection, _together, now, limit, seal)

        async def accept_singly(connection: Connection) -> int:
            return await self._accept_next(connection, _singly, now, limit, seal)

        try:
            taken = await self._database.run(accept_together)
        except StoreUnavailable:
            raise
        except StoreError:
            # One message caused the error, and must not block the others.
            taken = await self._database.run(accept_singly)
        hit("collect.after")
        return taken

    async def _accept_next(
        self,
        connection: Connection,
        accept_rows: "AcceptRows",
        now: float,
        limit: int,
        seal: Seal | None,
    ) -> int:
        """Accept the next messages of the outbox table; return how many rows were taken."""
        outbox_rows = await self._next(connection, limit, () if seal is None else seal.leave)
        if not outbox_rows:
            return 0
        used = await connection.fetch(SQL["collect_used"], [row["id"] for row in outbox_rows])
        used_ids = {row["id"] for row in used}
        refused = {
            row["id"]: refusal
            for row in outbox_rows
            if (refusal := _refusal(row, used_ids)) is not None
        }
        fresh = [row for row in outbox_rows if row["id"] not in refused]
        messages = [_message(row, now) for row in fresh]
        new = [
            NewMessage(message) for message in (messages if seal is None else seal.sealed(messages))
        ]
        results = await accept_rows(connection, self._routes, new)
        answers: list[tuple[rows.Row, Result | ServiceError]] = [
            *zip(fresh, results, strict=True),
            *((row, refused[row["id"]]) for row in outbox_rows if row["id"] in refused),
        ]
        await _put_aside(connection, answers, now)
        hit("collect.before")
        return len(outbox_rows)

    async def _next(
        self, connection: Connection, limit: int, leave: Collection[str]
    ) -> list[rows.Row]:
        """Lock messages of the applications whose turn it is, or of the next that have any.

        Those of the applications in `leave` stay.
        """
        all_seen = not self._collected
        while True:
            turn = await connection.fetch(SQL["collect_turn"], self._collected, TENANTS_PER_TURN)
            self._collected = turn[-1]["application"] if len(turn) == TENANTS_PER_TURN else ""
            names = [row["application"] for row in turn if row["application"] not in leave]
            share = max(1, limit // max(1, len(names)))
            outbox_rows: list[rows.Row] = await connection.fetch(SQL["collect"], names, share)
            if outbox_rows or (all_seen and not self._collected):
                return outbox_rows
            all_seen = all_seen or not self._collected


async def _together(
    connection: Connection, routes: Routes, messages: Sequence[NewMessage]
) -> Sequence[Result | ServiceError]:
    return await accept(connection, routes, messages, limited=False)


async def _singly(
    connection: Connection, routes: Routes, messages: Sequence[NewMessage]
) -> Sequence[Result | ServiceError]:
    """Accept the messages one by one, so that only the one the database refuses is refused."""
    results: list[Result | ServiceError] = []
    for message in messages:
        await connection.execute("SAVEPOINT one")
        try:
            results += await accept(connection, routes, [message], limited=False)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, ValueError) as error:
            store_error = faults.translate(error)
            if faults.contended(error) or isinstance(store_error, StoreUnavailable):
                raise
            await connection.execute("ROLLBACK TO SAVEPOINT one")
            results.append(store_error)
        await connection.execute("RELEASE SAVEPOINT one")
    return results


AcceptRows = Callable[
    [Connection, Routes, Sequence[NewMessage]], Awaitable[Sequence[Result | ServiceError]]
]


def _refusal(row: rows.Row, used_ids: Container[str]) -> ServiceError | None:
    """Return why a row can never be a message, for any application; None if it can."""
    name = row["id"]
    if name in used_ids:
        return Conflict("message", name)
    if not ids.well_formed(name, ids.MESSAGE):
        form = f"{ids.MESSAGE!r} and {ids.LENGTH} letters or digits"
        return SettingsError("id", name[:MOST_SHOWN], form)
    try:
        check_instant("deliver_at", row["deliver_at"])
        check_size(row["payload"])
        check_text("application", row["application"])
        check_names(row["event_type"], row["event_id"], row["channels"], row["tags"])
    except SettingsError as error:
        return error
    return None


def _message(row: rows.Row, now: float) -> Message:
    """Return the message in a row of the outbox table."""
    return Message(
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


async def _put_aside(
    connection: Connection, answers: Sequence[tuple[rows.Row, object]], now: float
) -> None:
    """Move refused rows to a table where people can read them, and save notices."""
    refused = [(row, error) for row, error in answers if isinstance(error, ServiceError)]
    if not refused:
        return
    await connection.executemany(
        SQL["collect_refused"], [(*row.values(), str(error), now) for row, error in refused]
    )
    notices = [
        Notice(
            id=ids.make(ids.NOTICE, now=now, entropy=os.urandom(ids.CHANCE)),
            application=row["application"],
            endpoint="",
            kind=REFUSED,
            facts={"message": row["id"], "why": str(error)},
            at=now,
        )
        for row, error in refused
    ]
    notice_rows = [rows.from_notice(notice) for notice in notices]
    await connection.executemany(SQL["settle_notices"], notice_rows)
