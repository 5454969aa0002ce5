"""Accept messages in the memory store."""

from collections.abc import Sequence

from msgspec.structs import replace

from tarry.errors import BacklogFull, Conflict, ErasedKeyError, NotFound
from tarry.service.model.application import Application
from tarry.service.model.audit import Action, message_target
from tarry.service.model.delivery import LIVE, Delivery, Reason, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.message import Accepted, Message, NewMessage
from tarry.service.store.by_kind import RecordsByKind
from tarry.service.store.memory.data import Data
from tarry.service.store.memory.lane import Lane

Result = Accepted | Conflict | NotFound | BacklogFull


class MemoryIngest(RecordsByKind):
    """See `contract.Ingest`."""

    _data: Data
    _most_waiting: int | None

    async def add(self, messages: Sequence[NewMessage]) -> list[Result]:
        """Accept messages; return one result for each."""
        for new in messages:
            exists = new.message.application in self._data.applications.keys() - self._data.hidden
            if exists and self._data.is_erased(new.message.sealed_with):
                raise ErasedKeyError
        return [self._add(new) for new in messages]

    async def _expunge_message(
        self, application: str, message: str, *, by: Action | None = None
    ) -> None:
        """Delete a message's payload."""
        stored = self._data.message(application, message)
        self._data.messages[message] = replace(stored, payload=None, sealed_with=None)
        self._data.write_entry(by, message_target(application, message))

    def _add(self, new: NewMessage) -> Result:
        """Accept a message, or return the error or the earlier answer to its key."""
        try:
            application = self._data.application(new.message.application)
        except NotFound as not_found:
            return not_found
        result = self._duplicate(new, application) or self._backlog_full(application)
        if result is None:
            self._save(new, application)
            result = Accepted(new.message)
        return result

    def _duplicate(self, new: NewMessage, application: Application) -> Accepted | Conflict | None:
        """Return the answer to a message whose key or event id was used before, else None."""
        message = new.message
        if new.key is not None and (application.environment, new.key) in self._data.keys:
            fingerprint, first = self._data.keys[application.environment, new.key]
            if fingerprint != new.fingerprint:
                return Conflict("message", new.key)
            return Accepted(self._data.messages[first], repeated=True)
        if message.event_id is None:
            return None
        used = (message.application, message.event_id) in self._data.event_ids
        return Conflict("message", message.event_id) if used else None

    def _backlog_full(self, application: Application) -> BacklogFull | None:
        """Return an error if too many deliveries of the application wait, else None."""
        most_waiting = application.most_waiting
        if most_waiting is None:
            most_waiting = self._most_waiting
        if most_waiting is None:
            return None
        waiting = sum(lane.added - lane.ended for lane in self._data.lanes_of[application.id])
        return BacklogFull(application.id, most_waiting) if waiting >= most_waiting else None

    def _save(self, new: NewMessage, application: Application) -> None:
        """Store a message, its key and event id, and its deliveries; wake the lanes."""
        message = new.message
        self._data.messages[message.id] = message
        if new.key is not None:
            self._data.keys[application.environment, new.key] = (new.fingerprint, message.id)
        if message.event_id is not None:
            self._data.event_ids[message.application, message.event_id] = message.id
        for lane in self._data.lanes_of[message.application]:
            if new.only is None:
                is_target = lane.endpoint.wants(message.event_type, message.channels)
            else:
                is_target = lane.endpoint.id == new.only
            if is_target and not lane.deleted:
                delivery = _delivery(message, lane)
                self._data.deliver(lane, delivery)
                if delivery.state is State.WAITING:
                    self._data.wake(lane)
                elif delivery.state in LIVE:
                    self._data.wake_if_resting(lane)


def _delivery(message: Message, lane: Lane) -> Delivery:
    """Return the new delivery of a message in a lane: READY, WAITING or SKIPPED."""
    fresh = Delivery(
        lane=lane.number,
        seq=lane.added + 1,
        message=message.id,
        accepted_at=message.accepted_at,
    )
    if lane.endpoint.standing is Standing.DISABLED:
        ended_at = message.accepted_at
        return replace(fresh, state=State.SKIPPED, reason=Reason.SKIPPED, ended_at=ended_at)
    if message.is_scheduled:
        due_at = message.deliver_at or 0.0
        return replace(
            fresh, state=State.WAITING, reason=Reason.SCHEDULED, due_at=due_at, accepted_at=due_at
        )
    return fresh
