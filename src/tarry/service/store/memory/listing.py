"""Lists in the memory store, page by page."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeVar

from msgspec.structs import replace

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
from tarry.service.store.memory.data import Data

Entry = TypeVar("Entry")


class MemoryListing(RecordsByKind):
    """Lists and counts."""

    _data: Data

    async def _page_applications(self, environment: str, cut: Cut) -> Found[Application]:
        """Return an environment's applications."""
        applications = (
            application
            for application in self._data.applications.values()
            if application.environment == environment and application.id not in self._data.hidden
        )
        return _page(applications, lambda application: application.id, cut)

    async def _page_endpoints(self, application: str, cut: Cut) -> Found[Endpoint]:
        """Return an application's endpoints."""
        lanes = self._data.lanes_of.get(application, ())
        endpoints = (lane.endpoint for lane in lanes if not lane.deleted)
        return _page(endpoints, lambda endpoint: endpoint.id, cut)

    async def _page_messages(
        self, application: str, cut: Cut, message_filter: MessageFilter
    ) -> Found[Message]:
        """Return an application's messages."""
        low, high = cut.between(*message_filter.span(MESSAGE))
        messages = (
            message
            for message in self._data.messages.values()
            if message.application == application and low < message.id < high
        )
        ordered = sorted(messages, key=lambda message: message.id, reverse=not cut.upwards)
        return _search(ordered, message_filter.fits, lambda message: message.id, cut, _payload_size)

    async def _page_deliveries_to(
        self, endpoint: Endpoint, cut: Cut, delivery_filter: DeliveryFilter
    ) -> Found[tuple[Message, Delivery]]:
        """Return an endpoint's deliveries with their messages, by the lane's sequence number."""
        low, high = delivery_filter.message.span(MESSAGE)
        deliveries = self._data.lanes[endpoint.lane].deliveries
        ordered = sorted(
            deliveries.values(), key=lambda delivery: delivery.seq, reverse=not cut.upwards
        )
        pairs = [
            (self._data.messages[delivery.message], delivery)
            for delivery in _after_mark(ordered, cut)
        ]

        def fits(pair: tuple[Message, Delivery]) -> bool:
            message, delivery = pair
            return low < message.id < high and delivery_filter.fits(delivery, message)

        return _search(
            pairs, fits, lambda pair: pair[0].id, cut, lambda pair: _payload_size(pair[0])
        )

    async def _page_attempts_to(
        self, endpoint: Endpoint, cut: Cut, attempt_filter: AttemptFilter
    ) -> Found[tuple[Attempt, Message]]:
        """Return the attempts made at an endpoint, with their messages."""
        attempts = (
            attempt
            for attempts_of_message in self._data.attempts.values()
            for attempt in attempts_of_message
            if attempt.lane == endpoint.lane
        )
        page = self._page_attempts(attempts, cut, attempt_filter)
        pairs = [
            (attempt, replace(self._data.messages[attempt.message], payload=None, sealed_with=None))
            for attempt in page.entries
        ]
        return Found(pairs, page.left_at)

    async def _page_attempts_of(
        self, message: str, cut: Cut, attempt_filter: AttemptFilter
    ) -> Found[tuple[Attempt, Endpoint]]:
        """Return the attempts at a message, with their endpoints."""
        page = self._page_attempts(self._data.attempts.get(message, ()), cut, attempt_filter)
        pairs = [(attempt, self._data.lanes[attempt.lane].endpoint) for attempt in page.entries]
        return Found(pairs, page.left_at)

    async def _attempt(self, message: str, attempt: str) -> tuple[Attempt, Endpoint]:
        """Return one attempt at a message."""
        for stored in self._data.attempts.get(message, ()):
            if stored.id == attempt:
                return stored, self._data.lanes[stored.lane].endpoint
        raise NotFound("attempt", attempt)

    async def _expunge_attempt(
        self, message: str, attempt: str, *, by: Action | None = None
    ) -> None:
        """Replace the stored response of an attempt by EXPUNGED."""
        stored, _ = await self._attempt(message, attempt)
        attempts = self._data.attempts[message]
        attempts[attempts.index(stored)] = replace(stored, body=EXPUNGED, sealed_with=None)
        application = self._data.messages[message].application
        self._data.write_entry(by, attempt_target(application, attempt))

    async def _page_tasks(self, kind: Tasks, cut: Cut) -> Found[Task]:
        """Return an environment's tasks, by id."""
        tasks = (
            task
            for task in self._data.tasks.values()
            if task.environment == kind.environment
            and kind.work in (None, task.work)
            and kind.finished in (None, task.finished_at is not None)
        )
        return _page(tasks, lambda task: task.id, cut)

    async def _page_audit(
        self, environment: str, cut: Cut, audit_filter: AuditFilter
    ) -> Found[AuditEntry]:
        """Return an environment's audit trail."""
        low, high = cut.between(*audit_filter.span)
        entries = (
            entry
            for entry in self._data.audit.values()
            if entry.environment == environment and low < entry.id < high
        )
        ordered = sorted(entries, key=lambda entry: entry.id, reverse=not cut.upwards)
        return _search(ordered, audit_filter.fits, lambda entry: entry.id, cut)

    async def count_deliveries(
        self, endpoint: Endpoint, *, since: float, until: float
    ) -> dict[tuple[State, bool], int]:
        """Count deliveries accepted in that time by state and whether they were tried."""
        return Counter(
            (delivery.state, delivery.tries > 0)
            for delivery in self._data.lanes[endpoint.lane].deliveries.values()
            if since <= delivery.accepted_at < until
        )

    async def count_attempts(
        self, endpoint: Endpoint, *, since: float, until: float
    ) -> tuple[int, int]:
        """Return how many attempts in that time succeeded, and how many failed."""
        low, high = MessageFilter(after=since, before=until).span(ATTEMPT)
        succeeded = Counter(
            attempt.kind is None
            for attempts in self._data.attempts.values()
            for attempt in attempts
            if attempt.lane == endpoint.lane and low < attempt.id < high
        )
        return succeeded[True], succeeded[False]

    def _page_attempts(
        self, attempts: Iterable[Attempt], cut: Cut, attempt_filter: AttemptFilter
    ) -> Found[Attempt]:
        """Return a page of those attempts that fit the filter."""
        low, high = cut.between(*attempt_filter.message.span(ATTEMPT))
        in_span = (attempt for attempt in attempts if low < attempt.id < high)
        ordered = sorted(in_span, key=lambda attempt: attempt.id, reverse=not cut.upwards)

        def fits(attempt: Attempt) -> bool:
            return attempt_filter.fits(attempt, self._data.messages[attempt.message])

        return _search(ordered, fits, lambda attempt: attempt.id, cut)


def _page(entries: Iterable[Entry], key: Callable[[Entry], str], cut: Cut) -> Found[Entry]:
    """Return a page of records, sorted by a key."""
    low, high = cut.between(FIRST, LAST)
    in_span = (entry for entry in entries if low < key(entry) < high)
    return Found(cut.in_order(sorted(in_span, key=key, reverse=not cut.upwards)))


def _search(
    ordered: Iterable[Entry],
    fits: Callable[[Entry], bool],
    mark_of: Callable[[Entry], str],
    cut: Cut,
    size_of: Callable[[Entry], int] = lambda _entry: 0,
) -> Found[Entry]:
    """Return the entries that fit, in order, examining at most `cut.look` of them."""
    hits: list[Entry] = []
    for number, entry in enumerate(ordered, start=1):
        hits += [entry] if fits(entry) else []
        if cut.fitting(map(size_of, hits)) < len(hits):
            return Found(cut.in_order(hits[:-1]), mark_of(hits[-2]))
        if len(hits) == cut.limit:
            break
        if number == cut.look:
            return Found(cut.in_order(hits), mark_of(entry))
    return Found(cut.in_order(hits))


def _payload_size(message: Message) -> int:
    """Return the bytes of a message's payload."""
    return len(message.payload or b"")


def _after_mark(ordered: list[Delivery], cut: Cut) -> list[Delivery]:
    """Return a lane's deliveries after the mark, in the given order."""
    marked = [index for index, delivery in enumerate(ordered) if delivery.message == cut.mark]
    if not cut.mark:
        return ordered
    if marked:
        return ordered[marked[0] + 1 :]
    later_seqs = [delivery.seq for delivery in ordered if delivery.message > cut.mark]
    if cut.upwards:
        return [delivery for delivery in ordered if later_seqs and delivery.seq >= min(later_seqs)]
    return [delivery for delivery in ordered if not later_seqs or delivery.seq < min(later_seqs)]
