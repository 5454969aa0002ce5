"""How a delivery stands, as programs know it that come over HTTP: a number, and a word for it."""

from enum import IntEnum, StrEnum

from tarry.service.model.delivery import LIVE, Delivery, State
from tarry.service.model.listing import DeliveryFilter, MessageFilter


class MessageStatus(IntEnum):
    """How the sending of a message stands."""

    SUCCESS = 0
    PENDING = 1  # never tried
    FAIL = 2
    SENDING = 3  # tried, and waiting for the next time
    CANCELED = 4


class StatusText(StrEnum):
    """The same as a word."""

    SUCCESS = "success"
    PENDING = "pending"
    FAIL = "fail"
    SENDING = "sending"
    CANCELED = "canceled"


class StatusClass(IntEnum):
    """A hundred of statuses that endpoints answer with; 0 for attempts without an answer."""

    NONE = 0
    INFORMATION = 100
    SUCCESS = 200
    REDIRECTION = 300
    REFUSED = 400
    BROKEN = 500


_STOPPED = frozenset({State.CANCELLED, State.DISCARDED})
SHOWN = frozenset(State) - {State.SKIPPED}
"""What was skipped was never on its way."""


def status_of(delivery: Delivery, *, expanded: bool) -> MessageStatus:
    """How a delivery stands; programs that do not know of cancelling take it for a success."""
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
    """The word for a status."""
    return StatusText[status.name]


def deliveries(
    status: MessageStatus | None, message: MessageFilter, *, expanded: bool
) -> DeliveryFilter:
    """Which deliveries of some messages have a status; None for any."""
    if status in (MessageStatus.PENDING, MessageStatus.SENDING):
        tried = status is MessageStatus.SENDING
        return DeliveryFilter(message=message, states=LIVE, tried=tried)
    states = _STATES[status]
    if status is MessageStatus.SUCCESS and not expanded:
        states |= _STOPPED
    return DeliveryFilter(message=message, states=states)


_STATES: dict[MessageStatus | None, frozenset[State]] = {
    None: SHOWN,
    MessageStatus.SUCCESS: frozenset({State.DELIVERED}),
    MessageStatus.FAIL: frozenset({State.FAILED}),
    MessageStatus.CANCELED: _STOPPED,
}
