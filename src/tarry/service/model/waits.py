"""The table of waits: every reason for which a live delivery is not being sent, and what ends it.

A delivery that none of these reasons holds back is attempted within seconds. Each reason belongs to
one holder, which has one way to end the wait: the simulation checks it. The words that users read
are in `words.py`.
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from tarry.service.model.delivery import Reason


class Holder(StrEnum):
    """What causes a wait: the delivery alone, or its lane or endpoint for all their deliveries."""

    DELIVERY = "delivery"
    LANE = "lane"
    ENDPOINT = "endpoint"


class End(StrEnum):
    """The kind of event that ends a wait."""

    READ = "read"
    TIME = "time"
    PROBE = "probe"
    TURN = "turn"
    ANSWER = "answer"
    PERSON = "person"


class Wait(Struct, frozen=True):
    """One reason to wait: its holder, the event that ends it, and what causes that event."""

    holder: Holder
    end: End
    ended_by: str
    """The event in words, for users."""
    woken_by: str
    """The part of the dispatcher that wakes the lane, or the user who acts."""


_TIMER = "the lane's timer, set to the next due time"
_READER = "the worker that owns the lane; the store wakes it if it is idle"

WAITS: Mapping[Reason, Wait] = {
    Reason.NEW: Wait(Holder.DELIVERY, End.READ, "a worker reads it", _READER),
    Reason.REPLAYED: Wait(Holder.DELIVERY, End.READ, "a worker reads it", _READER),
    Reason.BACKOFF: Wait(Holder.DELIVERY, End.TIME, "its due time", _TIMER),
    Reason.SCHEDULED: Wait(Holder.DELIVERY, End.TIME, "its due time", _TIMER),
    Reason.RETRY_AFTER: Wait(
        Holder.LANE,
        End.TIME,
        "the time that the endpoint asked for",
        "the lane's timer, set to the requested time",
    ),
    Reason.LANE_OPEN: Wait(
        Holder.LANE, End.PROBE, "a probe that succeeds", "the lane's timer, set to the next probe"
    ),
    Reason.PACE: Wait(Holder.LANE, End.TURN, "its turn", "the lane's timer, set to the next send"),
    Reason.RATE: Wait(Holder.LANE, End.TURN, "its turn", "the lane's timer, set to the next send"),
    Reason.CONCURRENCY: Wait(
        Holder.LANE,
        End.ANSWER,
        "the response to an earlier request",
        "the response, or the request's timeout",
    ),
    Reason.BUDGET: Wait(Holder.LANE, End.TURN, "its turn", "the lane's timer, every second"),
    Reason.FIFO: Wait(
        Holder.LANE,
        End.ANSWER,
        "the end of the earlier delivery",
        "the end of the earlier delivery",
    ),
    Reason.PAUSED: Wait(
        Holder.ENDPOINT, End.PERSON, "a user resumes it", "the user who resumes the endpoint"
    ),
    Reason.DISABLED: Wait(
        Holder.ENDPOINT, End.PERSON, "a user enables it", "the user who enables the endpoint"
    ),
}
"""The reasons of live deliveries. The other reasons say how a delivery ended."""
