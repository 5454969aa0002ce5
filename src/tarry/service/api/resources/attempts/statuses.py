"""The status of a delivery as API clients know it: a number, and a word for it."""

from enum import IntEnum, StrEnum

from tarry.service.model.delivery import LIVE, Delivery, State
from tarry.service.model.listing import DeliveryFilter, MessageFilter


class MessageStatus(IntEnum):
    """The status of a message's delivery."""

    SUCCESS = 0
    PENDING = 1  # not attempted yet
    FAIL = 2
    SENDING = 3  # attempted, and waiting for the next attempt
    CANCELED = 4


class StatusText(StrEnum):
    """The status of a message's delivery, as a word."""

    SUCCESS = "success"
    PENDING = "pending"
    FAIL = "fail"
    SENDING = "sending"
    CANCELED = "canceled"


STATE_OF_STATUS = {
    StatusText.SUCCESS: State.DELIVERED,
    StatusText.PENDING: State.WAITING,
    StatusText.FAIL: State.FAILED,
    StatusText.SENDING: State.WAITING,
    StatusText.CANCELED: State.CANCELLED,
}
"""The state whose label people read for a status."""


class StatusClass(IntEnum):
    """The class of a response's status, like 400 for 4xx; 0 for attempts without a response."""

    NONE = 0
    INFORMATION = 100
    SUCCESS = 200
    REDIRECTION = 300
    REFUSED = 400
    BROKEN = 500


_STOPPED = frozenset({State.CANCELLED, State.DISCARDED})
SHOWN_STATES = frozenset(State) - {State.SKIPPED}
"""The states of deliveries in lists. A skipped delivery is left out: its endpoint was disabled."""


def status_of(delivery: Delivery, *, expanded: bool) -> MessageStatus:
    """Return the status of a delivery; without `expanded`, a cancelled one counts as a success.

    Clients that do not set `expanded` do not know the status Canceled.
    """
    match delivery.state:
        case State.DELIVERED:
            return MessageStatus.SUCCESS
        case State.FAILED:
            return MessageStatus.FAIL
        case State.READY | State.WAITING:
            return MessageStatus.SENDING if delivery.tries else MessageStatus.PENDING
        case _:
            return MessageStatus.CANCELED if expanded else MessageStatus.SUCCESS


def text_of(status: MessageStatus) -> StatusText:
    """Return the word for a status."""
    return StatusText[status.name]


def deliveries(
    status: MessageStatus | None, message: MessageFilter, *, expanded: bool
) -> DeliveryFilter:
    """Return a filter for the deliveries of `message` with a status; None for any status."""
    if status in (MessageStatus.PENDING, MessageStatus.SENDING):
        tried = status is MessageStatus.SENDING
        return DeliveryFilter(message=message, states=LIVE, tried=tried)
    states = _STATES_OF_STATUS[status]
    if status is MessageStatus.SUCCESS and not expanded:
        states |= _STOPPED
    return DeliveryFilter(message=message, states=states)


_STATES_OF_STATUS: dict[MessageStatus | None, frozenset[State]] = {
    None: SHOWN_STATES,
    MessageStatus.SUCCESS: frozenset({State.DELIVERED}),
    MessageStatus.FAIL: frozenset({State.FAILED}),
    MessageStatus.CANCELED: _STOPPED,
}
