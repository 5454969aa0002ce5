"""Lists in this store, page by page."""

from collections import Counter
from collections.abc import Callable, Sequence
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
from tarry.service.store.postgres.database import rows
from tarry.service.store.postgres.database.part import Part, write_entry
from tarry.service.store.postgres.database.pool import Connection
from tarry.service.store.postgres.queries import SQL
from tarry.service.store.postgres.reading.lane_search import span
from tarry.service.store.sql_files import downwards

Key = TypeVar("Key", str, int)
Value = TypeVar("Value")


class PostgresListing(RecordsByKind, Part):
    """Lists and counts."""

    async def _page_applications(self, environment: str, cut: Cut) -> Found[Application]:
        """Return an environment's applications."""
        return await self._short_list("page_applications", environment, cut, rows.application)

    async def _page_endpoints(self, application: str, cut: Cut) -> Found[Endpoint]:
        """Return an application's endpoints."""
        return await self._short_list("page_endpoints", application, cut, rows.endpoint)

    async def _page_messages(
        self, application: str, cut: Cut, message_filter: MessageFilter
    ) -> Found[Message]:
        """Return an application's messages."""
        low, high = cut.between(*message_filter.span(MESSAGE))
        ids, left_at = await self._search(
            "page_messages", application, low, high, cut, *_message_conditions(message_filter)
        )
        messages = await self._messages(ids)
        return Found(
            [messages[message_id] for message_id in ids if message_id in messages], left_at
        )

    async def _page_deliveries_to(
        self, endpoint: Endpoint, cut: Cut, delivery_filter: DeliveryFilter
    ) -> Found[tuple[Message, Delivery]]:
        """Return an endpoint's deliveries with their messages, by the lane's sequence number."""
        lane, states = endpoint.lane, delivery_filter.states
        rare = states is not None and states <= UNDELIVERED
        low, high = await span(self._database.fetch, lane, cut, delivery_filter.message)
        seqs, left_at = await self._search(
            "page_deliveries_to_undelivered" if rare else "page_deliveries_to",
            lane,
            low,
            high,
            cut,
            *_message_conditions(delivery_filter.message),
            *delivery_filter.message.span(MESSAGE),
            None if states is None else sorted(states),
            delivery_filter.tried,
        )
        delivery_rows = await self._database.fetch(SQL["page_deliveries_to_found"], lane, seqs)
        deliveries = {row["seq"]: rows.delivery(row) for row in delivery_rows}
        messages = await self._messages([delivery.message for delivery in deliveries.values()])
        ordered = [deliveries[seq] for seq in seqs if seq in deliveries]
        pairs = [
            (messages[delivery.message], delivery)
            for delivery in ordered
            if delivery.message in messages
        ]
        return Found(pairs, left_at)

    async def _page_attempts_to(
        self, endpoint: Endpoint, cut: Cut, attempt_filter: AttemptFilter
    ) -> Found[tuple[Attempt, Message]]:
        """Return the attempts made at an endpoint, with their messages."""
        lane = endpoint.lane
        low, high = cut.between(*attempt_filter.message.span(ATTEMPT))
        ids, left_at = await self._search(
            "page_attempts_to", lane, low, high, cut, *_attempt_conditions(attempt_filter)
        )
        attempt_rows = await self._database.fetch(SQL["page_attempts_to_found"], lane, ids)
        attempts = _in_order(ids, attempt_rows)
        messages = await self._messages(
            [attempt.message for attempt in attempts], "page_attempts_to_messages"
        )
        pairs = [
            (attempt, messages[attempt.message])
            for attempt in attempts
            if attempt.message in messages
        ]
        return Found(pairs, left_at)

    async def _page_attempts_of(
        self, message: str, cut: Cut, attempt_filter: AttemptFilter
    ) -> Found[tuple[Attempt, Endpoint]]:
        """Return the attempts at a message, with their endpoints."""
        low, high = cut.between(*attempt_filter.message.span(ATTEMPT))
        ids, left_at = await self._search(
            "page_attempts_of", message, low, high, cut, *_attempt_conditions(attempt_filter)
        )
        return Found(await self._attempts(message, ids), left_at)

    async def _attempt(self, message: str, attempt: str) -> tuple[Attempt, Endpoint]:
        """Return one attempt at a message."""
        attempts = await self._attempts(message, [attempt])
        if not attempts:
            raise NotFound("attempt", attempt)
        return attempts[0]

    async def _expunge_attempt(
        self, message: str, attempt: str, *, by: Action | None = None
    ) -> None:
        """Replace the stored response of an attempt by EXPUNGED."""

        async def replace_response(connection: Connection) -> None:
            expunged = await connection.fetch(SQL["expunge_attempt"], message, attempt, EXPUNGED)
            if not expunged:
                raise NotFound("attempt", attempt)
            (row,) = await connection.fetch(SQL["expunge_attempt_application"], message)
            await write_entry(connection, by, attempt_target(row["application"], attempt))

        await self._database.run(replace_response)

    async def _page_tasks(self, kind: Tasks, cut: Cut) -> Found[Task]:
        """Return a page of an environment's tasks, by id."""
        conditions = (kind.work, kind.finished)
        return await self._short_list("page_tasks", kind.environment, cut, rows.task, *conditions)

    async def _page_audit(
        self, environment: str, cut: Cut, audit_filter: AuditFilter
    ) -> Found[AuditEntry]:
        """Return an environment's audit trail."""
        low, high = cut.between(*audit_filter.span)
        entry_ids, left_at = await self._search(
            "page_audit",
            environment,
            low,
            high,
            cut,
            audit_filter.application,
            audit_filter.actor,
            audit_filter.operation,
            audit_filter.target,
        )
        entry_rows = await self._database.fetch(SQL["page_audit_found"], entry_ids)
        entries = {row["id"]: rows.audit_entry(row) for row in entry_rows}
        return Found([entries[entry] for entry in entry_ids if entry in entries], left_at)

    async def count_deliveries(
        self, endpoint: Endpoint, *, since: float, until: float
    ) -> dict[tuple[State, bool], int]:
        """Count deliveries accepted in that time by state and whether they were tried."""

        async def read_counts(
            low: int, most: int
        ) -> list[tuple[tuple[State, bool], int, int, int]]:
            groups = await self._database.fetch(
                SQL["count_deliveries"], endpoint.lane, low, most, since, until
            )
            return [
                (
                    (rows.STATE_BY_NAME[row["state"]], row["tried"]),
                    row["counted"],
                    row["rows_read"],
                    row["last"],
                )
                for row in groups
            ]

        return +(await count_rows(read_counts, 0))

    async def count_attempts(
        self, endpoint: Endpoint, *, since: float, until: float
    ) -> tuple[int, int]:
        """Return how many attempts in that time succeeded, and how many failed."""
        span = MessageFilter(after=since, before=until).span(ATTEMPT)
        counts = await self._count("count_attempts", endpoint.lane, span)
        return counts[True], counts[False]

    async def _short_list(
        self,
        query: str,
        owner: str,
        cut: Cut,
        value: Callable[[rows.Row], Value],
        *conditions: object,
    ) -> Found[Value]:
        """Return a page of a list that is short enough for one query."""
        low, high = cut.between(FIRST, LAST)
        page_rows = await self._database.fetch(
            _in_direction(query, cut), owner, low, high, cut.limit, *conditions
        )
        return Found(cut.in_order([value(row) for row in page_rows]))

    async def _search(
        self, query: str, owner: str | int, low: Key, high: Key, cut: Cut, *conditions: object
    ) -> tuple[list[Any], str | None]:
        """Return the keys that fit, read in small pieces so that others can use the connection.

        Also returns the mark to continue from, if the search stopped early.
        """

        async def read_piece(low: Key, high: Key, most: int) -> list[tuple[object, ...]]:
            piece_rows = await self._database.fetch(
                _in_direction(query, cut), owner, low, high, most, *conditions
            )
            return [(row["key"], row["fits"], row["size"], row) for row in piece_rows]

        hits, last = await search_page(read_piece, low, high, cut)
        return [hit[0] for hit in hits], None if last is None else last[3]["mark"]

    async def _messages(
        self, ids: Sequence[str], query: str = "page_messages_found"
    ) -> dict[str, Message]:
        """Return those of these messages that still exist, by id."""
        message_rows = await self._database.fetch(SQL[query], ids) if ids else []
        return {row["id"]: rows.message(row) for row in message_rows}

    async def _attempts(self, message: str, ids: list[str]) -> list[tuple[Attempt, Endpoint]]:
        """Return attempts in the order of these ids, each with its endpoint."""
        attempts = _in_order(ids, await self._database.fetch(SQL["get_attempt"], message, ids))
        lanes = [attempt.lane for attempt in attempts]
        endpoint_rows = (
            await self._database.fetch(SQL["get_attempt_endpoints"], lanes) if lanes else []
        )
        endpoints = {row["lane"]: rows.endpoint(row) for row in endpoint_rows}
        return [(attempt, endpoints[attempt.lane]) for attempt in attempts]

    async def _count(self, query: str, owner: str | int, span: tuple[str, str]) -> Counter[object]:
        """Count rows between two ids, by the column `what`."""
        first, high = span

        async def read_counts(low: str, most: int) -> list[tuple[object, int, int, str]]:
            """Return, for each value, how many rows have it, twice, and the last row's id."""
            groups = await self._database.fetch(SQL[query], owner, low, high, most)
            return [
                (row["what"], row["rows_read"], row["rows_read"], row["last"]) for row in groups
            ]

        return await count_rows(read_counts, first)


def _in_direction(query: str, cut: Cut) -> str:
    """Return the query that reads in the direction of the cut."""
    return SQL[query] if cut.upwards else DOWN[query]


def _message_conditions(message_filter: MessageFilter) -> tuple[object, ...]:
    """Return the parameters of a query that filters messages."""
    return message_filter.channel, message_filter.tag, message_filter.event_types


def _attempt_conditions(attempt_filter: AttemptFilter) -> tuple[object, ...]:
    """Return the filter's values in the order in which the queries take them."""
    return (
        *_message_conditions(attempt_filter.message),
        attempt_filter.succeeded,
        attempt_filter.status_class,
        attempt_filter.lane,
    )


def _in_order(ids: list[str], attempt_rows: list[rows.Row]) -> list[Attempt]:
    """Return the attempts of these rows in the order of the ids."""
    attempts = {row["id"]: rows.attempt(row) for row in attempt_rows}
    return [attempts[attempt_id] for attempt_id in ids if attempt_id in attempts]


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
