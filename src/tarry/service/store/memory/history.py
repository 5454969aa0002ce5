"""Messages, deliveries and attempts in the memory store, and requests to change them."""

from collections import Counter
from collections.abc import Iterable

from tarry.errors import NotFound
from tarry.service.model.attempt import Attempt
from tarry.service.model.audit import Action, message_target, resend_target
from tarry.service.model.delivery import LIVE, Delivery, Reason, State
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.lane import Notice
from tarry.service.model.message import Message
from tarry.service.store.by_kind import RecordsByKind
from tarry.service.store.kinds import Notices, Undelivered, UndeliveredIn
from tarry.service.store.memory.data import Data
from tarry.service.store.memory.lane import Lane
from tarry.service.store.memory.queue import ended


class MemoryHistory(RecordsByKind):
    """Messages, deliveries, attempts and notices."""

    _data: Data

    async def _message(self, application: str, known_as: str) -> Message:
        """Return the message with this id or event id."""
        try:
            return self._data.message(application, known_as)
        except NotFound:
            message_id = self._data.event_ids.get((application, known_as))
            if message_id is None:
                raise
            return self._data.messages[message_id]

    async def _deliveries_of(self, message: str) -> list[tuple[Endpoint, Delivery]]:
        """Return all deliveries of a message, by endpoint id."""
        pairs = ((lane.endpoint, delivery) for lane, delivery in self._data.deliveries(message))
        return sorted(pairs, key=lambda pair: pair[0].id)

    async def _undelivered(self, query: Undelivered) -> list[tuple[Endpoint, Delivery]]:
        """Return the live and failed deliveries of an application, or of one of its lanes."""
        lanes = self._data.lanes_of.get(query.application, ())
        searched = (lane for lane in lanes if query.lane in (None, lane.number))
        return _undelivered_after(searched, query.after)[: query.limit]

    async def _undelivered_in(self, query: UndeliveredIn) -> list[tuple[Endpoint, Delivery]]:
        """Return the live and failed deliveries of all applications of an environment."""
        application_ids = {
            application_id
            for application_id, application in self._data.applications.items()
            if application.environment == query.environment
            and application_id not in self._data.hidden
        }
        lanes = (
            lane
            for lane in self._data.lanes.values()
            if lane.endpoint.application in application_ids
        )
        return _undelivered_after(lanes, query.after)[: query.limit]

    async def _attempts_of(self, message: str) -> list[Attempt]:
        """Return all attempts of a message, by id."""
        return sorted(self._data.attempts.get(message, ()), key=lambda attempt: attempt.id)

    async def counts(self, lane: int) -> dict[State, int]:
        """Return how many deliveries of a lane are in each state."""
        stored = self._data.lanes.get(lane)
        deliveries = stored.deliveries.values() if stored else ()
        return dict(Counter(delivery.state for delivery in deliveries))

    async def _notices(self, query: Notices) -> list[Notice]:
        """Return notices in the order of their ids."""
        notices = (
            notice
            for notice in self._data.notices.values()
            if notice.id > query.after and not (query.unsent and notice.id in self._data.sent)
        )
        return sorted(notices, key=lambda notice: notice.id)[: query.limit]

    async def cancel(
        self, application: str, message: str, *, now: float, by: Action | None = None
    ) -> int:
        """End a message's live deliveries as CANCELLED; return their number."""
        self._data.message(application, message)
        cancelled = 0
        for lane, delivery in self._data.deliveries(message):
            if delivery.state in LIVE:
                lane.put(ended(delivery, State.CANCELLED, Reason.CANCELLED, now))
                self._data.wake(lane)
                cancelled += 1
        self._data.write_entry(by, message_target(application, message))
        return cancelled

    async def resend(
        self, endpoint: Endpoint, message: str, *, resend: str, by: Action | None = None
    ) -> None:
        """Request one more attempt before all other deliveries."""
        lane = self._data.lanes.get(endpoint.lane)
        if lane is None or lane.deleted or lane.endpoint.id != endpoint.id:
            raise NotFound("endpoint", endpoint.id)
        self._data.message(endpoint.application, message)
        lane.resends[resend] = message
        self._data.write_entry(by, resend_target(endpoint, message))
        self._data.wake(lane)


def _undelivered_after(
    lanes: Iterable[Lane], after: tuple[int, int]
) -> list[tuple[Endpoint, Delivery]]:
    """Return the live and failed deliveries of lanes, by lane and sequence number.

    Leave out those up to `after`: the lane and sequence number of the last delivery read before.
    """
    pairs = (
        (lane.endpoint, delivery)
        for lane in lanes
        for delivery in lane.deliveries.values()
        if delivery.state in {*LIVE, State.FAILED} and (lane.number, delivery.seq) > after
    )
    return sorted(pairs, key=lambda pair: (pair[1].lane, pair[1].seq))
