"""Messages, deliveries and attempts in this store, and requests to change them."""

from typing import Any  # parameters of queries are numbers and words

import apsw

from tarry.errors import NotFound
from tarry.service.failpoints import hit
from tarry.service.model.attempt import Attempt
from tarry.service.model.delivery import Delivery, State
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import Notice
from tarry.service.model.message import Message
from tarry.service.store.sqlite.catalogue.endpoints import stored_endpoint
from tarry.service.store.sqlite.database import rows
from tarry.service.store.sqlite.database.session import Session
from tarry.service.store.sqlite.database.threads import Threads
from tarry.service.store.sqlite.queries import SQL

LAST_LANE = 2**63 - 1
"""Sorts after every lane."""


class SqliteHistory:
    """See `history.History`."""

    _threads: Threads

    async def message(self, application: str, known_as: str) -> Message:
        """Return the message with this id or event id."""

        def work(db: apsw.Connection) -> Message:
            asked = {"application": application, "known_as": known_as}
            row = db.execute(SQL["message"], asked).fetchone()
            if row is None:
                raise NotFound("message", known_as)
            return rows.message(row)

        return await self._threads.browse(work)

    async def deliveries(self, message: str) -> list[tuple[Endpoint, Delivery]]:
        """Return all deliveries of a message, by endpoint id."""
        return await self._deliveries("deliveries", {"message": message})

    async def undelivered(
        self,
        application: str,
        *,
        lane: int | None = None,
        after: tuple[int, int] = (0, 0),
        limit: int = 50,
    ) -> list[tuple[Endpoint, Delivery]]:
        """Return live or FAILED deliveries after `after`, by lane and sequence."""
        first, seq = max(after, (lane or 0, 0))
        last = LAST_LANE if lane is None else lane
        bounds = {"application": application, "lane": first, "seq": seq, "last": last}
        return await self._deliveries("undelivered", {**bounds, "limit": limit})

    async def undelivered_in(
        self, environment: str, *, after: tuple[int, int] = (0, 0), limit: int = 50
    ) -> list[tuple[Endpoint, Delivery]]:
        """Return the same for all applications of an environment."""
        lane, seq = after
        bounds = {"environment": environment, "lane": lane, "seq": seq, "limit": limit}
        return await self._deliveries("undelivered_in", bounds)

    async def attempts(self, message: str) -> list[Attempt]:
        """Return all attempts of a message, by id."""
        return await self._threads.browse(
            lambda db: [rows.attempt(row) for row in db.execute(SQL["attempts"], (message,))]
        )

    async def counts(self, lane: int) -> dict[State, int]:
        """Return how many deliveries of a lane are in each state."""
        return await self._threads.survey(
            lambda db: {State(state): count for state, count in db.execute(SQL["counts"], (lane,))}
        )

    async def notices(self, *, after: str = "", limit: int = 50) -> list[Notice]:
        """Return notices to endpoint owners, by id, after the id `after`."""
        bounds = (after, limit)
        return await self._threads.browse(
            lambda db: [rows.NOTICE.decode(text) for (text,) in db.execute(SQL["notices"], bounds)]
        )

    async def cancel(self, application: str, message: str, *, now: float) -> int:
        """End a message's live deliveries as CANCELLED; return their number."""

        def work(session: Session) -> int:
            number = _number(session, application, message)
            ended = list(session.db.execute(SQL["cancel"], (now, number)))
            for (lane,) in ended:
                session.db.execute(SQL["settle_ended"], (1, lane))
            session.wake(lane for (lane,) in ended)
            hit("cancel.before")
            return len(ended)

        ended = await self._threads.write(work)
        hit("cancel.after")
        return ended

    async def resend(self, endpoint: Endpoint, message: str, *, resend: str) -> None:
        """Request one more attempt before all other deliveries."""

        def work(session: Session) -> None:
            stored = stored_endpoint(session, endpoint.id)
            if stored is None or stored.standing is Standing.DELETED:
                raise NotFound("endpoint", endpoint.id)
            number = _number(session, endpoint.application, message)
            session.db.execute(SQL["resend"], (endpoint.lane, resend, number))
            session.wake([endpoint.lane])
            hit("resend.before")

        await self._threads.write(work)
        hit("resend.after")

    async def _deliveries(
        self, query: str, bounds: dict[str, Any]
    ) -> list[tuple[Endpoint, Delivery]]:
        return await self._threads.browse(
            lambda db: [rows.delivery_with_endpoint(row) for row in db.execute(SQL[query], bounds)]
        )


def _number(session: Session, application: str, message: str) -> int:
    number = session.db.execute(SQL["message_number"], (message, application)).get
    if number is None:
        raise NotFound("message", message)
    return int(number)
