"""Bugs in carrying out the requests of applications and people."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from tarry.service.model.message import Accepted, NewMessage
from tests.simulation.planted.bug import Bug, Commit


class AcknowledgedEarly(Bug):
    """A message that was acknowledged is on disk."""

    story = "every tenth message is acknowledged and not kept"

    def __init__(self) -> None:
        super().__init__()
        self._asked = 0

    def add(self, commit: Commit, messages: Sequence[NewMessage]) -> object:
        """Store nine messages of ten."""
        self._asked += 1
        if self._asked % 10:
            return commit(messages)
        return [Accepted(new.message) for new in messages]


class NarrowFanOut(Bug):
    """A message goes to all endpoints that want it."""

    story = "a message goes to one endpoint of its application alone"

    def add(self, commit: Commit, messages: Sequence[NewMessage]) -> object:
        """Send each to the first endpoint."""
        return commit([replace(new, only=self._first(new)) for new in messages])

    def _first(self, new: NewMessage) -> str | None:
        lanes = self.data.lanes_of[new.message.application]
        return lanes[0].endpoint.id if lanes else None


class CancelForgotten(Bug):
    """A cancelled message is not sent."""

    story = "a cancelled message is delivered all the same"

    def cancel(self, commit: Commit, application: str, message: str, **kwargs: Any) -> object:  # noqa: ANN401  passed on
        """Undo the cancellation."""
        before = list(self.data.deliveries(message))
        answer = commit(application, message, **kwargs)
        for lane, delivery in before:
            lane.put(delivery)
        return answer


class ResendForgotten(Bug):
    """A resend is made."""

    story = "a resend is acknowledged and never made"

    def resend(self, commit: Commit, *args: Any, **kwargs: Any) -> object:  # noqa: ANN401  passed on
        """Forget it at once."""
        answer = commit(*args, **kwargs)
        for lane in self.data.lanes.values():
            lane.resends.clear()
        return answer


class TaskForgotten(Bug):
    """A replay is carried out."""

    story = "nobody carries out replays"

    def next_task(self, commit: Commit, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401  passed on
        """Return no task."""
        del commit, args, kwargs
