"""Lists in the memory store, page by page."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeVar

from msgspec.structs import replace

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
from tarry.service.store.memory.data import Data

Thing = TypeVar("Thing")


class MemoryListing(RecordsByKind):
    """Lists and counts."""

    _data: Data

    async def _page_applications(self, environment: str, cut: Cut) -> Found[Application]:
        """Return an environment's applications."""
        found = (
            one
            for one in self._data.applications.values()
            if one.environment == environment and one.id not in self._data.hidden
        )
        return _page(found, lambda one: one.id, cut)

    async def _page_endpoints(self, application: str, cut: Cut) -> Found[Endpoint]:
        """Return an application's endpoints."""
        lanes = self._data.lanes_of.get(application, ())
        found = (lane.endpoint for lane in lanes if not lane.deleted)
        return _page(found, lambda one: one.id, cut)

    async def _page_messages(
        self, application: str, cut: Cut, wanted: MessageFilter
    ) -> Found[Message]:
        """Return an application's messages."""
        low, high = cut.between(*wanted.span(MESSAGE))
        there = (
            one
            for one in self._data.messages.values()
            if one.application == application and low < one.id < high
        )
        way = sorted(there, key=lambda one: one.id, reverse=not cut.upwards)
        return _look(way, wanted.fits, lambda one: one.id, cut)

    async def _page_deliveries_to(
        self, endpoint: Endpoint, cut: Cut, wanted: DeliveryFilter
    ) -> Found[tuple[Message, Delivery]]:
        """Return an endpoint's deliveries with their messages, by the lane's sequence number."""
        low, high = wanted.message.span(MESSAGE)
        deliveries = self._data.lanes[endpoint.lane].deliveries
        placed = sorted(deliveries.values(), key=lambda one: one.seq, reverse=not cut.upwards)
        way = [(self._data.messages[one.message], one) for one in _behind(placed, cut)]

        def fits(pair: tuple[Message, Delivery]) -> bool:
            message, delivery = pair
            return low < message.id < high and wanted.fits(delivery, message)

        return _look(way, fits, lambda pair: pair[0].id, cut)

    async def _page_attempts_to(
        self, endpoint: Endpoint, cut: Cut, wanted: AttemptFilter
    ) -> Found[tuple[Attempt, Message]]:
        """Return the attempts made at an endpoint, with their messages."""
        made = (one for attempts in self._data.attempts.values() for one in attempts)
        found = self._fitting((one for one in made if one.lane == endpoint.lane), cut, wanted)
        pairs = [(one, self._data.messages[one.message]) for one in found.entries]
        return Found(pairs, found.left_at)

    async def _page_attempts_of(
        self, message: str, cut: Cut, wanted: AttemptFilter
    ) -> Found[tuple[Attempt, Endpoint]]:
        """Return the attempts at a message, with their endpoints."""
        found = self._fitting(self._data.attempts.get(message, ()), cut, wanted)
        pairs = [(one, self._data.lanes[one.lane].endpoint) for one in found.entries]
        return Found(pairs, found.left_at)

    async def _attempt(self, message: str, attempt: str) -> tuple[Attempt, Endpoint]:
        """Return one attempt at a message."""
        for one in self._data.attempts.get(message, ()):
            if one.id == attempt:
                return one, self._data.lanes[one.lane].endpoint
        raise NotFound("attempt", attempt)

    async def _expunge_attempt(self, message: str, attempt: str) -> None:
        """Replace the stored response of an attempt by EXPUNGED."""
        found, _ = await self._attempt(message, attempt)
        attempts = self._data.attempts[message]
        attempts[attempts.index(found)] = replace(found, body=EXPUNGED)

    async def _page_tasks(self, kind: Tasks, cut: Cut) -> Found[Task]:
        tasks = (
            task
            for task in self._data.tasks.values()
            if task.environment == kind.environment
            and kind.work in (None, task.work)
            and kind.finished in (None, task.finished_at is not None)
        )
        return _page(tasks, lambda task: task.id, cut)

    async def count_deliveries(
        self, endpoint: Endpoint, *, since: float, until: float
    ) -> dict[tuple[State, bool], int]:
        """Count deliveries accepted in that time by state and whether they were tried."""
        return Counter(
            (one.state, one.tries > 0)
            for one in self._data.lanes[endpoint.lane].deliveries.values()
            if since <= one.accepted_at < until
        )

    async def count_attempts(
        self, endpoint: Endpoint, *, since: float, until: float
    ) -> tuple[int, int]:
        """Return how many attempts in that time succeeded, and how many failed."""
        low, high = MessageFilter(after=since, before=until).span(ATTEMPT)
        succeeded = Counter(
            one.kind is None
            for attempts in self._data.attempts.values()
            for one in attempts
            if one.lane == endpoint.lane and low < one.id < high
        )
        return succeeded[True], succeeded[False]

    def _fitting(
        self, attempts: Iterable[Attempt], cut: Cut, wanted: AttemptFilter
    ) -> Found[Attempt]:
        low, high = cut.between(*wanted.message.span(ATTEMPT))
        there = (one for one in attempts if low < one.id < high)
        way = sorted(there, key=lambda one: one.id, reverse=not cut.upwards)

        def fits(one: Attempt) -> bool:
            return wanted.fits(one, self._data.messages[one.message])

        return _look(way, fits, lambda one: one.id, cut)


def _page(entries: Iterable[Thing], key: Callable[[Thing], str], cut: Cut) -> Found[Thing]:
    low, high = cut.between(FIRST, LAST)
    beyond = (entry for entry in entries if low < key(entry) < high)
    return Found(cut.in_order(sorted(beyond, key=key, reverse=not cut.upwards)))


def _look(
    way: Iterable[Thing], fits: Callable[[Thing], bool], mark: Callable[[Thing], str], cut: Cut
) -> Found[Thing]:
    """Return the entries that fit, in order, examining at most `cut.look` of them."""
    found: list[Thing] = []
    for number, one in enumerate(way, start=1):
        found += [one] if fits(one) else []
        if len(found) == cut.limit:
            break
        if number == cut.look:
            return Found(cut.in_order(found), mark(one))
    return Found(cut.in_order(found))


def _behind(placed: list[Delivery], cut: Cut) -> list[Delivery]:
    """Return a lane's deliveries after the mark, in the given order."""
    places = [place for place, one in enumerate(placed) if one.message == cut.mark]
    if not cut.mark:
        return placed
    if places:
        return placed[places[0] + 1 :]
    later = [one.seq for one in placed if one.message > cut.mark]
    if cut.upwards:
        return [one for one in placed if later and one.seq >= min(later)]
    return [one for one in placed if not later or one.seq < min(later)]
