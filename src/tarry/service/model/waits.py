"""The table of waits: every reason for which a live delivery is not being sent, and what ends it.

A delivery that none of these reasons holds back is attempted within seconds. Each reason belongs to
one holder, which has one way to end the wait: `explain` says it, and the simulation checks it.
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from tarry.service.model.delivery import Reason


class Holder(StrEnum):
    """What a wait belongs to: the delivery alone, or everything that shares a limit with it."""

    DELIVERY = "delivery"
    LANE = "lane"
    ENDPOINT = "endpoint"


class End(StrEnum):
    """What ends a wait."""

    READ = "the lane's owner reads it"
    TIME = "its due time"
    PROBE = "a probe that succeeds"
    TURN = "its turn"
    ANSWER = "an answer to a request on its way"
    PERSON = "a person"


class Wait(Struct, frozen=True):
    """One reason to wait: its holder, the event that ends it, and what causes that event."""

    holder: Holder
    end: End
    sees_to_it: str
    """The part of the dispatcher that wakes the lane, or the person who acts."""


_TIMER = "the lane's timer, set to the next due time"
_READER = "the lane's owner: it reads on while awake, and the store wakes it when it sleeps"

WAITS: Mapping[Reason, Wait] = {
    Reason.NEW: Wait(Holder.DELIVERY, End.READ, _READER),
    Reason.REPLAYED: Wait(Holder.DELIVERY, End.READ, _READER),
    Reason.BACKOFF: Wait(Holder.DELIVERY, End.TIME, _TIMER),
    Reason.SCHEDULED: Wait(Holder.DELIVERY, End.TIME, _TIMER),
    Reason.RETRY_AFTER: Wait(Holder.LANE, End.TIME, "the lane's timer, set to the time asked for"),
    Reason.LANE_OPEN: Wait(Holder.LANE, End.PROBE, "the lane's timer, set to the next probe"),
    Reason.PACE: Wait(Holder.LANE, End.TURN, "the lane's timer, set to the next send"),
    Reason.RATE: Wait(Holder.LANE, End.TURN, "the lane's timer, set to the next send"),
    Reason.CONCURRENCY: Wait(Holder.LANE, End.ANSWER, "the answer, or the request's timeout"),
    Reason.BUDGET: Wait(Holder.LANE, End.TURN, "the lane's timer: it tries again every second"),
    Reason.FIFO: Wait(Holder.LANE, End.ANSWER, "the end of the delivery before it"),
    Reason.PAUSED: Wait(Holder.ENDPOINT, End.PERSON, "whoever resumes the endpoint"),
    Reason.DISABLED: Wait(Holder.ENDPOINT, End.PERSON, "whoever enables the endpoint"),
}
"""All reasons of live deliveries. All other reasons say how a delivery ended."""
