"""Messages, deliveries and attempts, and requests to change them."""

from tarry.errors import NotFound
from tarry.service.failpoints import hit
from tarry.service.model.attempt import Attempt
from tarry.service.model.audit import Action, message_target, resend_target
from tarry.service.model.delivery import Delivery, Reason, State
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.lane import Notice
from tarry.service.model.message import Message
from tarry.service.store.by_kind import RecordsByKind
from tarry.service.store.kinds import Notices, Undelivered, UndeliveredIn
from tarry.service.store.postgres.database import rows
from tarry.service.store.postgres.database.part import (
    Part,
    lock_and_wake,
    notify_owners,
    write_entry,
)
from tarry.service.store.postgres.database.pool import Connection
from tarry.service.store.postgres.queries import SQL
from tarry.service.store.postgres.retention.old_partition import messages_that_stay

LAST_LANE = 2**63 - 1
"""Sorts after every lane."""


class PostgresHistory(RecordsByKind, Part):
    """Messages, deliveries, attempts and notices."""

    async def _message(self, application: str, known_as: str) -> Message:
        """Return the message with this id or event id."""
        message_rows = await self._database.fetch(SQL["get_message"], application, known_as)
        if not message_rows:
            raise NotFound("message", known_as)
        return rows.message(message_rows[0])

    async def _deliveries_of(self, message: str) -> list[tuple[Endpoint, Delivery]]:
        """Return all deliveries of a message, by endpoint id."""
        delivery_rows = await self._database.fetch(SQL["read_deliveries"], message)
        return [(rows.endpoint(row), rows.delivery(row)) for row in delivery_rows]

    async def _undelivered(self, query: Undelivered) -> list[tuple[Endpoint, Delivery]]:
        """Return the live and failed deliveries of an application, or of one of its lanes."""
        first = max(query.after, (query.lane or 0, 0))
        last = LAST_LANE if query.lane is None else query.lane
        bounds = (query.application, *first, query.limit, last)
        delivery_rows = await self._database.fetch(SQL["read_undelivered"], *bounds)
        return [(rows.endpoint(row), rows.delivery(row)) for row in delivery_rows]

    async def _undelivered_in(self, query: UndeliveredIn) -> list[tuple[Endpoint, Delivery]]:
        """Return the live and failed deliveries of all applications of an environment."""
        bounds = (query.environment, *query.after, query.limit)
        delivery_rows = await self._database.fetch(SQL["read_undelivered_in"], *bounds)
        return [(rows.endpoint(row), rows.delivery(row)) for row in delivery_rows]

    async def _attempts_of(self, message: str) -> list[Attempt]:
        """Return all attempts of a message, by id."""
        return [
            rows.attempt(row) for row in await self._database.fetch(SQL["read_attempts"], message)
        ]

    async def counts(self, lane: int) -> dict[State, int]:
        """Return how many deliveries of a lane are in each state."""
        state_rows = await self._database.fetch(SQL["counts"], lane)
        return {State(row["state"]): row["many"] for row in state_rows}

    async def _notices(self, query: Notices) -> list[Notice]:
        """Return notices in the order of their ids."""
        sql = SQL["read_unsent_notices" if query.unsent else "read_notices"]
        notice_rows = await self._database.fetch(sql, query.after, query.limit)
        return [rows.notice(row) for row in notice_rows]

    async def cancel(
        self, application: str, message: str, *, now: float, by: Action | None = None
    ) -> int:
        """End a message's live deliveries as CANCELLED; return their number."""

        async def end_live(connection: Connection) -> int:
            if not await connection.fetch(SQL["cancel_message"], application, message):
                raise NotFound("message", message)
            live = await connection.fetch(SQL["cancel"], message)
            lanes = [row["lane"] for row in live]
            await write_entry(connection, by, message_target(application, message))
            if lanes:
                seqs = [row["seq"] for row in live]
                await connection.execute(
                    SQL["cancel_deliveries"], lanes, seqs, Reason.CANCELLED, now
                )
                await lock_and_wake(connection, lanes)
                await connection.execute(SQL["add_ended"], lanes, [1] * len(lanes))
                await notify_owners(connection, lanes)
            hit("cancel.before")
            return len(lanes)

        ended = await self._database.run(end_live)
        hit("cancel.after")
        return ended

    async def resend(
        self, endpoint: Endpoint, message: str, *, resend: str, by: Action | None = None
    ) -> None:
        """Request one more attempt before all other deliveries."""

        async def save_request(connection: Connection) -> None:
            if not await connection.fetch(SQL["resend_endpoint"], endpoint.id):
                raise NotFound("endpoint", endpoint.id)
            staying_ids = await messages_that_stay(connection, [message])
            stored = await connection.fetch(SQL["resend_message"], endpoint.application, message)
            if not stored or not staying_ids:
                raise NotFound("message", message)
            await lock_and_wake(connection, [endpoint.lane])
            await connection.execute(SQL["resend"], endpoint.lane, resend, message)
            await write_entry(connection, by, resend_target(endpoint, message))
            await notify_owners(connection, [endpoint.lane])
            hit("resend.before")

        await self._database.run(save_request)
        hit("resend.after")
