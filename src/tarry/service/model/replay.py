"""A bulk replay: which messages an endpoint gets again, by their fate so far."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from tarry.service.model.delivery import LIVE, State
from tarry.service.model.listing import MessageFilter
from tarry.service.model.message import Message


class Fate(StrEnum):
    """The fate of a message at an endpoint so far."""

    SUCCESS = "success"
    FAIL = "fail"
    PENDING = "pending"
    NEVER = "never"  # it was not sent there, or skipped


STATES_OF_FATE: Mapping[Fate, frozenset[State]] = {
    Fate.SUCCESS: frozenset({State.DELIVERED}),
    Fate.FAIL: frozenset({State.FAILED}),
    Fate.PENDING: LIVE,
    Fate.NEVER: frozenset({State.SKIPPED}),
}
"""The states of a delivery, by fate. Cancelled and discarded deliveries have no fate, so they are
not replayed."""
REPLAYED = frozenset().union(*STATES_OF_FATE.values())

_FATES = {state: fate for fate, states in STATES_OF_FATE.items() for state in states}


class SoFar(Struct, frozen=True):
    """The state of a message's delivery, if it has one, and the last attempt's class of status.

    The class is 0 without a response, else the hundred of the status; None without an attempt.
    """

    state: State | None = None
    status_class: int | None = None

    @property
    def fate(self) -> Fate | None:
        """The fate of the message; None if it is not to be replayed."""
        return Fate.NEVER if self.state is None else _FATES.get(self.state)


class ReplayFilter(Struct, frozen=True, kw_only=True):
    """Selects messages that fit all fields that are set. The time range is in the task."""

    message: MessageFilter = MessageFilter()
    fate: Fate | None = None
    status_class: int | None = None

    @property
    def states(self) -> frozenset[State]:
        """The states of deliveries that are replayed."""
        return REPLAYED if self.fate is None else STATES_OF_FATE[self.fate]

    def fits(self, message: Message, so_far: SoFar) -> bool:
        """Return whether a message is to be replayed."""
        fate = so_far.fate
        return (
            fate is not None
            and (self.fate is None or self.fate is fate)
            and (self.status_class is None or self.status_class == so_far.status_class)
            and self.message.fits(message)
        )
