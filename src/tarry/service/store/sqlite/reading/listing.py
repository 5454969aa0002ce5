"""Lists in this store, page by page."""

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from tarry.errors import NotFound
from tarry.service.model.application import Application
from tarry.service.model.attempt import EXPUNGED, Attempt
from tarry.service.model.audit import Action, AuditEntry, AuditFilter, attempt_target
from tarry.service.model.delivery import Delivery, State
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.ids import ATTEMPT, MESSAGE
from tarry.service.model.listing import (
    FIRST,
    LAST,
    AttemptFilter,
    Cut,
    DeliveryFilter,
    Found,
    MessageFilter,
)
from tarry.service.model.message import Message
from tarry.service.model.task import Task
from tarry.service.store.by_kind import RecordsByKind
from tarry.service.store.kinds import Tasks
from tarry.service.store.paged_search import (
    UNDELIVERED,
    count_rows,
    search_page,
)
from tarry.service.store.sql_files import downwards
from tarry.service.store.sqlite.database import rows
from tarry.service.store.sqlite.database.session import Session
from tarry.service.store.sqlite.database.threads import Threads
from tarry.service.store.sqlite.queries import SQL
from tarry.service.store.sqlite.reading.lane_search import span

Key = TypeVar("Key", str, int)
Value = TypeVar("Value")
Bounds = dict[str, Any]
"""The parameters of a query: text, numbers and None."""


class SqliteListing(RecordsByKind):
    """Lists and counts."""

    _threads: Threads

    async def _page_applications(self, environment: str, cut: Cut) -> Found[Application]:
        """Return an environment's applications."""
        bounds = {"environment": environment}
        return await self._short_list("page_applications", cut, bounds, rows.APPLICATION.decode)

    async def _page_endpoints(self, application: str, cut: Cut) -> Found[Endpoint]:
        """Return an application's endpoints."""
        bounds = {"application": application}
        return await self._short_list("page_endpoints", cut, bounds, rows.ENDPOINT.decode)

    async def _page_messages(
        self, application: str, cut: Cut, message_filter: MessageFilter
    ) -> Found[Message]:
        """Return an application's messages."""
        bounds = {"application": application, **_message_bounds(message_filter)}
        low, high = cut.between(*message_filter.span(MESSAGE))
        hits, left_at = await self._search("page_messages", low, high, cut, bounds)
        keys = [(number,) for _, _, _, number in hits]
        messages = await self._values_at("page_messages_found", keys, rows.message)
        return Found(messages, left_at)

    async def _page_deliveries_to(
        self, endpoint: Endpoint, cut: Cut, delivery_filter: DeliveryFilter
    ) -> Found[tuple[Message, Delivery]]:
        """Return an endpoint's deliveries with their messages, by the lane's sequence number."""
        lane, states = endpoint.lane, delivery_filter.states
        first, last = delivery_filter.message.span(MESSAGE)
        bounds = {
            "lane": lane,
            "first": first,
            "last": last,
            "states": None if states is None else rows.array(states),
            "tried": delivery_filter.tried,
            **_message_bounds(delivery_filter.message),
        }
        rare = states is not None and states <= UNDELIVERED
        query = "page_deliveries_to_undelivered" if rare else "page_deliveries_to"
        low, high = await self._threads.browse(
            lambda db: span(db, lane, cut, delivery_filter.message)
        )
        hits, left_at = await self._search(query, low, high, cut, bounds, mark=3)
        keys = [(lane, row[0]) for row in hits]
        pairs = await self._values_at("page_deliveries_to_found", keys, rows.message_with_delivery)
        return Found(pairs, left_at)

    async def _page_attempts_to(
        self, endpoint: Endpoint, cut: Cut, attempt_filter: AttemptFilter
    ) -> Found[tuple[Attempt, Message]]:
        """Return the attempts made at an endpoint, with their messages."""
        bounds = {"lane": endpoint.lane, **_attempt_bounds(attempt_filter)}
        low, high = cut.between(*attempt_filter.message.span(ATTEMPT))
        hits, left_at = await self._search("page_attempts_to", low, high, cut, bounds)
        keys = [(endpoint.lane, row[0]) for row in hits]
        pairs = await self._values_at("page_attempts_to_found", keys, rows.attempt_with_message)
        return Found(pairs, left_at)

    async def _page_attempts_of(
        self, message: str, cut: Cut, attempt_filter: AttemptFilter
    ) -> Found[tuple[Attempt, Endpoint]]:
        """Return the attempts at a message, with their endpoints."""
        bounds = {"message": message, **_attempt_bounds(attempt_filter)}
        low, high = cut.between(*attempt_filter.message.span(ATTEMPT))
        hits, left_at = await self._search("page_attempts_of", low, high, cut, bounds)
        keys = [(message, row[0]) for row in hits]
        pairs = await self._values_at("get_attempt", keys, rows.attempt_with_endpoint)
        return Found(pairs, left_at)

    async def _attempt(self, message: str, attempt: str) -> tuple[Attempt, Endpoint]:
        """Return one attempt at a message."""
        attempts = await self._values_at(
            "get_attempt", [(message, attempt)], rows.attempt_with_endpoint
        )
        if not attempts:
            raise NotFound("attempt", attempt)
        return attempts[0]

    async def _expunge_attempt(
        self, message: str, attempt: str, *, by: Action | None = None
    ) -> None:
        """Replace the stored response of an attempt by EXPUNGED."""

        def replace_response(session: Session) -> None:
            parameters = {"kept": EXPUNGED, "message": message, "attempt": attempt}
            if not session.db.execute(SQL["expunge_attempt"], parameters).fetchall():
                raise NotFound("attempt", attempt)
            application = session.db.execute(SQL["expunge_attempt_application"], (message,)).get
            session.write_entry(by, attempt_target(application, attempt))

        await self._threads.write(replace_response)

    async def _page_tasks(self, kind: Tasks, cut: Cut) -> Found[Task]:
        work = None if kind.work is None else kind.work.value
        bounds = {"environment": kind.environment, "work": work, "finished": kind.finished}
        return await self._short_list("page_tasks", cut, bounds, rows.TASK.decode)

    async def _page_audit(
        self, environment: str, cut: Cut, audit_filter: AuditFilter
    ) -> Found[AuditEntry]:
        """Return an environment's audit trail."""
        bounds = {
            "environment": environment,
            "application": audit_filter.application,
            "actor": audit_filter.actor,
            "operation": audit_filter.operation,
            "target": audit_filter.target,
        }
        low, high = cut.between(*audit_filter.span)
        hits, left_at = await self._search("page_audit", low, high, cut, bounds)
        return Found([rows.AUDIT_ENTRY.decode(document) for *_, document in hits], left_at)

    async def count_deliveries(
        self, endpoint: Endpoint, *, since: float, until: float
    ) -> dict[tuple[State, bool], int]:
        """Count deliveries accepted in that time by state and whether they were tried."""
        bounds = {"lane": endpoint.lane, "since": since, "until": until}

        async def read_piece(low: int, most: int) -> list[tuple[tuple[State, bool], int, int, int]]:
            parameters = {**bounds, "low": low, "limit": most}
            groups = await self._read_rows("count_deliveries", parameters)
            return [
                ((State(state), bool(tried)), counted, rows_read, last)
                for state, tried, counted, rows_read, last in groups
            ]

        return +(await count_rows(read_piece, 0))

    async def count_attempts(
        self, endpoint: Endpoint, *, since: float, until: float
    ) -> tuple[int, int]:
        """Return how many attempts in that time succeeded, and how many failed."""
        span = MessageFilter(after=since, before=until).span(ATTEMPT)
        counts = await self._count("count_attempts", span, {"lane": endpoint.lane})
        return counts[True], counts[False]

    async def _short_list(
        self, query: str, cut: Cut, bounds: Bounds, decode: Callable[[str], Value]
    ) -> Found[Value]:
        """Return a page of a list that is short enough for one query."""
        low, high = cut.between(FIRST, LAST)
        parameters = {**bounds, "low": low, "high": high, "limit": cut.limit}
        entries = await self._threads.browse(
            lambda db: [
                decode(text) for (text,) in db.execute(_in_direction(query, cut), parameters)
            ]
        )
        return Found(cut.in_order(entries))

    async def _search(  # noqa: PLR0913  a list and a part of it
        self, query: str, low: Key, high: Key, cut: Cut, bounds: Bounds, *, mark: int = 0
    ) -> tuple[list[rows.Row], str | None]:
        """Return the rows that fit, read in small pieces so that other queries run in between.

        Also returns the value of column `mark` to continue from, if the search stopped early.
        """

        async def read_piece(low: Key, high: Key, most: int) -> list[rows.Row]:
            parameters = {**bounds, "low": low, "high": high, "limit": most}
            return await self._threads.browse(
                lambda db: list(db.execute(_in_direction(query, cut), parameters))
            )

        hits, last = await search_page(read_piece, low, high, cut)
        return hits, None if last is None else last[mark]

    async def _values_at(
        self, query: str, keys: list[rows.Row], value: Callable[[rows.Row], Value]
    ) -> list[Value]:
        """Return the values at these places, without those that were swept meanwhile."""
        return await self._threads.browse(
            lambda db: [value(row) for key in keys for row in db.execute(SQL[query], key)]
        )

    async def _read_rows(self, query: str, bounds: Bounds) -> list[rows.Row]:
        """Run a query that may read many rows, and return them."""
        return await self._threads.survey(lambda db: list(db.execute(SQL[query], bounds)))

    async def _count(self, query: str, span: tuple[str, str], bounds: Bounds) -> Counter[Any]:
        """Count rows between two ids, by their first column."""
        first, high = span

        async def read_piece(low: str, most: int) -> list[tuple[Any, int, int, str]]:
            groups = await self._read_rows(
                query, {**bounds, "low": low, "high": high, "limit": most}
            )
            return [(kind, rows_read, rows_read, last) for kind, rows_read, last in groups]

        return await count_rows(read_piece, first)


def _in_direction(query: str, cut: Cut) -> str:
    """Return the query that reads a list in the direction of the page."""
    return SQL[query] if cut.upwards else DOWN[query]


def _message_bounds(message_filter: MessageFilter) -> Bounds:
    """Return the filter's values as parameters of a query."""
    types = message_filter.event_types
    return {
        "channel": message_filter.channel,
        "tag": message_filter.tag,
        "event_types": None if types is None else rows.array(types),
    }


def _attempt_bounds(attempt_filter: AttemptFilter) -> Bounds:
    """Return the filter's values as parameters of a query."""
    return {
        "succeeded": attempt_filter.succeeded,
        "status_class": attempt_filter.status_class,
        "made_in": attempt_filter.lane,
        **_message_bounds(attempt_filter.message),
    }


DOWN = {
    query: downwards(SQL[query])
    for query in (
        "page_applications",
        "page_endpoints",
        "page_messages",
        "page_deliveries_to",
        "page_deliveries_to_undelivered",
        "page_attempts_to",
        "page_attempts_of",
        "page_tasks",
        "page_audit",
    )
}
"""The same queries in descending order."""
