"""The table of waits: every state in which a live delivery is not being sent, and what ends it.

`WAITS` has the reasons that `explain` shows. `OTHER_WAITS` has the states that only the worker
knows: they are short, or a fault causes them. A delivery that none of these states holds back is
attempted within seconds.

`explain` decides by this table whether a delivery is overdue. The simulation compares each reason
that `explain` shows with what happened, and the reference quotes the table. The words that users
read are in `words.py`.
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from tarry.service.model.delivery import Reason


class Holder(StrEnum):
    """What causes a wait: the delivery alone, or something that holds many of them."""

    DELIVERY = "delivery"
    LANE = "lane"
    ENDPOINT = "endpoint"
    WORKER = "worker"


class End(StrEnum):
    """The kind of event that ends a wait."""

    READ = "read"
    TIME = "time"
    PROBE = "probe"
    TURN = "turn"
    ANSWER = "answer"
    PERSON = "person"
    STORE = "store"


class Wait(Struct, frozen=True):
    """One state in which a delivery waits: its holder, and what ends it."""

    holder: Holder
    end: End
    ended_by: str
    """The event that ends the wait, in words for users."""
    woken_by: str
    """The part of the dispatcher that wakes the lane then, or the user who acts."""
    by_when: str
    """When the wait ends, or what decides when."""


_READER = "the worker that owns the lane; the store wakes the lane if it sleeps"
_READ_SOON = "within seconds, after the deliveries before it; a second later if a wake-up is lost"
_DUE = "the lane's timer, set to the next due time"
_SHARED = "or the queue of the host, if its endpoints share a pace"

WAITS: Mapping[Reason, Wait] = {
    Reason.NEW: Wait(Holder.DELIVERY, End.READ, "a worker reads it", _READER, _READ_SOON),
    Reason.BACKOFF: Wait(Holder.DELIVERY, End.TIME, "its due time", _DUE, "at its due time"),
    Reason.RETRY_AFTER: Wait(
        Holder.LANE,
        End.TIME,
        "the time that the endpoint asked for",
        "the lane's timer, set to that time, or to the due time if only one delivery waits for it",
        "at that time, or later by up to a tenth of the wait; the wait is cut to an hour"
        " (`retry_after.at_most`)",
    ),
    Reason.LANE_OPEN: Wait(
        Holder.LANE,
        End.PROBE,
        "a probe that succeeds",
        f"the lane's timer, set to the next probe, {_SHARED}: it also acts on every answer",
        "unknown; the next probe is known: after ten minutes of outage it comes late by at most 5 %"
        " of the outage's age (1 % where 1,000 wait) and by an hour at most, or when a"
        " Retry-After ends",
    ),
    Reason.PACE: Wait(
        Holder.LANE,
        End.TURN,
        "its turn",
        f"the lane's timer, set to the next send, or an answer, {_SHARED}",
        "after the deliveries before it, at the pace of the recovery",
    ),
    Reason.RATE: Wait(
        Holder.LANE,
        End.TURN,
        "its turn",
        "the lane's timer, set to the next send, or the application's timer if the application has"
        " the rate: its lanes take turns",
        "after the deliveries before it, at the rate",
    ),
    Reason.CONCURRENCY: Wait(
        Holder.LANE,
        End.ANSWER,
        "the response to an earlier request",
        "the response, or the request's timeout",
        "after the deliveries before it; for the next one at the latest when a request in flight"
        " times out",
    ),
    Reason.BUDGET: Wait(
        Holder.LANE,
        End.TURN,
        "its turn",
        "the lane's timer: a retry without room is looked at again every 0.5 s",
        "after the retries before it; at least 20 go in 10 s",
    ),
    Reason.FIFO: Wait(
        Holder.LANE,
        End.ANSWER,
        "the end of the deliveries before it",
        "the outcome of the delivery before it, once it is written, or that delivery's next due"
        " time",
        "after the deliveries before it; each ends at the latest when its policy allows no more"
        " attempts",
    ),
    Reason.SCHEDULED: Wait(Holder.DELIVERY, End.TIME, "its due time", _DUE, "at its due time"),
    Reason.PAUSED: Wait(
        Holder.ENDPOINT,
        End.PERSON,
        "a user resumes it",
        "the user who resumes the endpoint",
        "when the user does so",
    ),
    Reason.DISABLED: Wait(
        Holder.ENDPOINT,
        End.PERSON,
        "a user enables it",
        "the user who enables the endpoint",
        "when the user does so",
    ),
    Reason.REPLAYED: Wait(Holder.DELIVERY, End.READ, "a worker reads it", _READER, _READ_SOON),
}
"""The reasons of live deliveries. The other reasons say how a delivery ended."""

OTHER_WAITS: Mapping[str, Wait] = {
    "tarry's own limit of requests to an endpoint": Wait(
        Holder.LANE,
        End.ANSWER,
        "the response to an earlier request",
        "the response, or the request's timeout; the lane's timer, while slow responses are spread",
        "at the latest when a request in flight times out; 8 requests go at a time at first, 256 at"
        " most, fewer after failures",
    ),
    "a worker was lost and may have left a request to an ordered endpoint": Wait(
        Holder.LANE,
        End.TIME,
        "the time by which that request has ended",
        "the lane's timer, set to that time",
        "the timeout of one request after the next worker took over",
    ),
    "a resend waits": Wait(
        Holder.LANE,
        End.TURN,
        "its turn: resends go before deliveries",
        _READER,
        "as for the deliveries of the endpoint, but while it is down only as a probe",
    ),
    "all slots of the worker for requests are in use (`in_flight`)": Wait(
        Holder.WORKER,
        End.ANSWER,
        "the end of any request of the worker",
        "the slot that becomes free: applications take turns",
        "at the latest when the requests in flight time out, after the lanes before it",
    ),
    "too many outcomes are not written yet (`unsettled`)": Wait(
        Holder.WORKER,
        End.STORE,
        "a commit that writes some of them",
        "the place that becomes free: applications take turns",
        "as soon as the database is available and keeps up",
    ),
    "an outcome cannot be written": Wait(
        Holder.DELIVERY,
        End.STORE,
        "a commit that writes it",
        "a timer of the settlement writer",
        "when the database accepts it; it is tried again every 60 s. Other deliveries wait for it"
        " at an ordered endpoint only",
    ),
    "the worker's lease has nearly ended": Wait(
        Holder.WORKER,
        End.STORE,
        "the renewal of the lease, or another worker that takes it",
        "the loop that renews leases, or the worker that takes it and loads its lanes",
        "if the worker was lost, about 14 s after its last renewal (4/3 of `lease`, and a second)",
    ),
    "the lane is handed over to another worker": Wait(
        Holder.WORKER,
        End.STORE,
        "the end of its last request",
        "the worker that takes its lease and loads it",
        "within a few seconds after the last request, at the latest after its timeout",
    ),
    "the database is unavailable": Wait(
        Holder.WORKER,
        End.STORE,
        "the database is available again",
        "the loops of the worker: they try again, and then read all lanes again",
        "within seconds after it is available",
    ),
}
"""States without a reason of their own: `explain` shows what would hold the delivery otherwise."""
