"""Lists in this store, page by page."""

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from tarry.errors import NotFound
from tarry.service.model.application import Application
from tarry.service.model.attempt import EXPUNGED, Attempt
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
        return await self._listed("page_applications", cut, bounds, rows.APPLICATION.decode)

    async def _page_endpoints(self, application: str, cut: Cut) -> Found[Endpoint]:
        """Return an application's endpoints."""
        bounds = {"application": application}
        return await self._listed("page_endpoints", cut, bounds, rows.ENDPOINT.decode)

    async def _page_messages(
        self, application: str, cut: Cut, wanted: MessageFilter
    ) -> Found[Message]:
        """Return an application's messages."""
        bounds = {"application": application, **_chosen(wanted)}
        low, high = cut.between(*wanted.span(MESSAGE))
        found, left_at = await self._look("page_messages", low, high, cut, bounds)
        places = [(number,) for _, _, number in found]
        messages = await self._found("page_messages_found", places, rows.message)
        return Found(messages, left_at)

    async def _page_deliveries_to(
        self, endpoint: Endpoint, cut: Cut, wanted: DeliveryFilter
    ) -> Found[tuple[Message, Delivery]]:
        """Return an endpoint's deliveries with their messages, by the lane's sequence number."""
        lane, states = endpoint.lane, wanted.states
        first, last = wanted.message.span(MESSAGE)
        bounds = {
            "lane": lane,
            "first": first,
            "last": last,
            "states": None if states is None else rows.array(states),
            "tried": wanted.tried,
            **_chosen(wanted.message),
        }
        rare = states is not None and states <= UNDELIVERED
        query = "page_deliveries_to_undelivered" if rare else "page_deliveries_to"
        low, high = await self._threads.browse(lambda db: span(db, lane, cut, wanted.message))
        found, left_at = await self._look(query, low, high, cut, bounds, mark=2)
        places = [(lane, row[0]) for row in found]
        here = await self._found("page_deliveries_to_found", places, rows.message_with_delivery)
        return Found(here, left_at)

    async def _page_attempts_to(
        self, endpoint: Endpoint, cut: Cut, wanted: AttemptFilter
    ) -> Found[tuple[Attempt, Message]]:
        """Return the attempts made at an endpoint, with their messages."""
        bounds = {"lane": endpoint.lane, **_come_out(wanted)}
        low, high = cut.between(*wanted.message.span(ATTEMPT))
        found, left_at = await self._look("page_attempts_to", low, high, cut, bounds)
        places = [(endpoint.lane, row[0]) for row in found]
        made = await self._found("page_attempts_to_found", places, rows.attempt_with_message)
        return Found(made, left_at)

    async def _page_attempts_of(
        self, message: str, cut: Cut, wanted: AttemptFilter
    ) -> Found[tuple[Attempt, Endpoint]]:
        """Return the attempts at a message, with their endpoints."""
        bounds = {"message": message, **_come_out(wanted)}
        low, high = cut.between(*wanted.message.span(ATTEMPT))
        found, left_at = await self._look("page_attempts_of", low, high, cut, bounds)
        places = [(message, row[0]) for row in found]
        made = await self._found("get_attempt", places, rows.attempt_with_endpoint)
        return Found(made, left_at)

    async def _attempt(self, message: str, attempt: str) -> tuple[Attempt, Endpoint]:
        """Return one attempt at a message."""
        found = await self._found("get_attempt", [(message, attempt)], rows.attempt_with_endpoint)
        if not found:
            raise NotFound("attempt", attempt)
        return found[0]

    async def _expunge_attempt(self, message: str, attempt: str) -> None:
        """Replace the stored response of an attempt by EXPUNGED."""

        def work(session: Session) -> None:
            asked = {"kept": EXPUNGED, "message": message, "attempt": attempt}
            if not session.db.execute(SQL["expunge_attempt"], asked).fetchall():
                raise NotFound("attempt", attempt)

        await self._threads.write(work)

    async def _page_tasks(self, kind: Tasks, cut: Cut) -> Found[Task]:
        work = None if kind.work is None else kind.work.value
        bounds = {"environment": kind.environment, "work": work, "finished": kind.finished}
        return await self._listed("page_tasks", cut, bounds, rows.TASK.decode)

    async def count_deliveries(
        self, endpoint: Endpoint, *, since: float, until: float
    ) -> dict[tuple[State, bool], int]:
        """Count deliveries accepted in that time by state and whether they were tried."""
        bounds = {"lane": endpoint.lane, "since": since, "until": until}

        async def ask(low: int, most: int) -> list[tuple[tuple[State, bool], int, int, int]]:
            asked = {**bounds, "low": low, "limit": most}
            found = await self._survey("count_deliveries", asked)
            return [
                ((State(state), bool(tried)), counted, there, last)
                for state, tried, counted, there, last in found
            ]

        return +(await count_rows(ask, 0))

    async def count_attempts(
        self, endpoint: Endpoint, *, since: float, until: float
    ) -> tuple[int, int]:
        """Return how many attempts in that time succeeded, and how many failed."""
        span = MessageFilter(after=since, before=until).span(ATTEMPT)
        counts = await self._count("count_attempts", span, {"lane": endpoint.lane})
        return counts[True], counts[False]

    async def _listed(
        self, query: str, cut: Cut, bounds: Bounds, decode: Callable[[str], Value]
    ) -> Found[Value]:
        """Return a page of a list that is short enough for one query."""
        low, high = cut.between(FIRST, LAST)
        asked = {**bounds, "low": low, "high": high, "limit": cut.limit}
        entries = await self._threads.browse(
            lambda db: [decode(text) for (text,) in db.execute(_along(query, cut), asked)]
        )
        return Found(cut.in_order(entries))

    async def _look(  # noqa: PLR0913  a list and a part of it
        self, query: str, low: Key, high: Key, cut: Cut, bounds: Bounds, *, mark: int = 0
    ) -> tuple[list[rows.Row], str | None]:
        """Return the rows that fit, read in small pieces so that other queries run in between.

        Also returns the value of column `mark` to continue from, if the search stopped early.
        """

        async def ask(low: Key, high: Key, most: int) -> list[rows.Row]:
            asked = {**bounds, "low": low, "high": high, "limit": most}
            return await self._threads.browse(
                lambda db: list(db.execute(_along(query, cut), asked))
            )

        found, left = await search_page(ask, low, high, cut)
        return found, None if left is None else left[mark]

    async def _found(
        self, query: str, places: list[rows.Row], value: Callable[[rows.Row], Value]
    ) -> list[Value]:
        """Return the values at these places, without those that were swept meanwhile."""
        return await self._threads.browse(
            lambda db: [value(row) for place in places for row in db.execute(SQL[query], place)]
        )

    async def _survey(self, query: str, bounds: Bounds) -> list[rows.Row]:
        return await self._threads.survey(lambda db: list(db.execute(SQL[query], bounds)))

    async def _count(self, query: str, span: tuple[str, str], bounds: Bounds) -> Counter[Any]:
        """Count rows between two ids, by their first column."""
        first, high = span

        async def ask(low: str, most: int) -> list[tuple[Any, int, int, str]]:
            found = await self._survey(query, {**bounds, "low": low, "high": high, "limit": most})
            return [(what, many, many, last) for what, many, last in found]

        return await count_rows(ask, first)


def _along(query: str, cut: Cut) -> str:
    return SQL[query] if cut.upwards else DOWN[query]


def _chosen(wanted: MessageFilter) -> Bounds:
    types = wanted.event_types
    return {
        "channel": wanted.channel,
        "tag": wanted.tag,
        "event_types": None if types is None else rows.array(types),
    }


def _come_out(wanted: AttemptFilter) -> Bounds:
    return {
        "succeeded": wanted.succeeded,
        "status_class": wanted.status_class,
        "made_in": wanted.lane,
        **_chosen(wanted.message),
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
    )
}
"""The same queries in descending order."""
