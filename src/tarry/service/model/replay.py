"""A bulk replay: which messages an endpoint gets again, whatever became of them so far."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from tarry.service.model.delivery import LIVE, State
from tarry.service.model.listing import MessageFilter
from tarry.service.model.message import Message


class Fate(StrEnum):
    """What became of a message at an endpoint so far."""

    SUCCESS = "success"
    FAIL = "fail"
    PENDING = "pending"
    NEVER = "never"  # it was not sent there, or skipped


STATES: Mapping[Fate, frozenset[State]] = {
    Fate.SUCCESS: frozenset({State.DELIVERED}),
    Fate.FAIL: frozenset({State.FAILED}),
    Fate.PENDING: LIVE,
    Fate.NEVER: frozenset({State.SKIPPED}),
}
"""The states of a delivery, if there is one. What was cancelled or discarded has no fate: it stays
as it is."""
REPLAYED = frozenset().union(*STATES.values())

_FATES = {state: fate for fate, states in STATES.items() for state in states}


class SoFar(Struct, frozen=True):
    """How a message's delivery stands, if it has one, and the last attempt's class of status.

    That is 0 without an answer, else the hundred of its status; None if no attempt was made.
    """

    state: State | None = None
    status_class: int | None = None

    @property
    def fate(self) -> Fate | None:
        """What became of it; None if it is not to be replayed."""
        return Fate.NEVER if self.state is None else _FATES.get(self.state)


class ReplayFilter(Struct, frozen=True, kw_only=True):
    """Which messages: those that fit everything that is named. Their time is the task's to say."""

    message: MessageFilter = MessageFilter()
    fate: Fate | None = None
    status_class: int | None = None

    @property
    def states(self) -> frozenset[State]:
        """What a delivery must be in to be replayed."""
        return REPLAYED if self.fate is None else STATES[self.fate]

    def fits(self, message: Message, so_far: SoFar) -> bool:
        """Whether a message is one of them."""
        fate = so_far.fate
        return (
            fate is not None
            and (self.fate is None or self.fate is fate)
            and (self.status_class is None or self.status_class == so_far.status_class)
            and self.message.fits(message)
        )
