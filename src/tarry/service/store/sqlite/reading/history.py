"""Messages, deliveries and attempts in this store, and requests to change them."""

import apsw

from tarry.errors import NotFound
from tarry.service.failpoints import hit
from tarry.service.model.attempt import Attempt
from tarry.service.model.audit import Action, message_target, resend_target
from tarry.service.model.delivery import Delivery, State
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import Notice
from tarry.service.model.message import Message
from tarry.service.store.by_kind import RecordsByKind
from tarry.service.store.kinds import Notices, Undelivered, UndeliveredIn
from tarry.service.store.sqlite.catalogue.endpoints import stored_endpoint
from tarry.service.store.sqlite.database import rows
from tarry.service.store.sqlite.database.session import Session
from tarry.service.store.sqlite.database.threads import Threads
from tarry.service.store.sqlite.queries import SQL

LAST_LANE = 2**63 - 1
"""Sorts after every lane."""


class SqliteHistory(RecordsByKind):
    """Messages, deliveries, attempts and notices."""

    _threads: Threads

    async def _message(self, application: str, known_as: str) -> Message:
        """Return the message with this id or event id."""

        def read_message(db: apsw.Connection) -> Message:
            parameters = {"application": application, "known_as": known_as}
            row = db.execute(SQL["get_message"], parameters).fetchone()
            if row is None:
                raise NotFound("message", known_as)
            return rows.message(row)

        return await self._threads.browse(read_message)

    async def _deliveries_of(self, message: str) -> list[tuple[Endpoint, Delivery]]:
        """Return all deliveries of a message, by endpoint id."""
        return await self._deliveries("read_deliveries", {"message": message})

    async def _undelivered(self, query: Undelivered) -> list[tuple[Endpoint, Delivery]]:
        """Return the live and failed deliveries of an application, or of one of its lanes."""
        lane, seq = max(query.after, (query.lane or 0, 0))
        bounds = {
            "application": query.application,
            "lane": lane,
            "seq": seq,
            "last": LAST_LANE if query.lane is None else query.lane,
            "limit": query.limit,
        }
        return await self._deliveries("read_undelivered", bounds)

    async def _undelivered_in(self, query: UndeliveredIn) -> list[tuple[Endpoint, Delivery]]:
        """Return the live and failed deliveries of all applications of an environment."""
        lane, seq = query.after
        bounds = {"environment": query.environment, "lane": lane, "seq": seq, "limit": query.limit}
        return await self._deliveries("read_undelivered_in", bounds)

    async def _attempts_of(self, message: str) -> list[Attempt]:
        """Return all attempts of a message, by id."""
        return await self._threads.browse(
            lambda db: [rows.attempt(row) for row in db.execute(SQL["read_attempts"], (message,))]
        )

    async def counts(self, lane: int) -> dict[State, int]:
        """Return how many deliveries of a lane are in each state."""
        return await self._threads.survey(
            lambda db: {State(state): count for state, count in db.execute(SQL["counts"], (lane,))}
        )

    async def _notices(self, query: Notices) -> list[Notice]:
        """Return notices in the order of their ids."""
        sql = SQL["read_unsent_notices" if query.unsent else "read_notices"]
        bounds = (query.after, query.limit)
        return await self._threads.browse(
            lambda db: [rows.NOTICE.decode(text) for (text,) in db.execute(sql, bounds)]
        )

    async def cancel(
        self, application: str, message: str, *, now: float, by: Action | None = None
    ) -> int:
        """End a message's live deliveries as CANCELLED; return their number."""

        def end_live(session: Session) -> int:
            number = _message_number(session, application, message)
            ended = list(session.db.execute(SQL["cancel"], (now, number)))
            for (lane,) in ended:
                session.db.execute(SQL["settle_ended"], (1, lane))
            session.wake(lane for (lane,) in ended)
            session.write_entry(by, message_target(application, message))
            hit("cancel.before")
            return len(ended)

        ended = await self._threads.write(end_live)
        hit("cancel.after")
        return ended

    async def resend(
        self, endpoint: Endpoint, message: str, *, resend: str, by: Action | None = None
    ) -> None:
        """Request one more attempt before all other deliveries."""

        def save_request(session: Session) -> None:
            stored = stored_endpoint(session, endpoint.id)
            if stored is None or stored.standing is Standing.DELETED:
                raise NotFound("endpoint", endpoint.id)
            number = _message_number(session, endpoint.application, message)
            session.db.execute(SQL["resend"], (endpoint.lane, resend, number))
            session.wake([endpoint.lane])
            session.write_entry(by, resend_target(endpoint, message))
            hit("resend.before")

        await self._threads.write(save_request)
        hit("resend.after")

    async def _deliveries(
        self, query: str, bounds: dict[str, object]
    ) -> list[tuple[Endpoint, Delivery]]:
        """Return the deliveries that a query finds, each with its endpoint."""
        return await self._threads.browse(
            lambda db: [rows.delivery_with_endpoint(row) for row in db.execute(SQL[query], bounds)]
        )


def _message_number(session: Session, application: str, message: str) -> int:
    """Return the number of a message's row; NotFound if the application has no such message."""
    number = session.db.execute(SQL["cancel_message"], (message, application)).get
    if number is None:
        raise NotFound("message", message)
    return int(number)
