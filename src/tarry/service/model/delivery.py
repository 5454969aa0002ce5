"""A delivery: one message on its way to one endpoint. Its states, and why it waits or ended."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct


class State(StrEnum):
    """Where a delivery stands."""

    READY = "ready"  # eligible, in the lane's order
    WAITING = "waiting"  # eligible from `due_at` on
    DELIVERED = "delivered"
    FAILED = "failed"
    SKIPPED = "skipped"  # its endpoint was disabled by its owner
    CANCELLED = "cancelled"
    DISCARDED = "discarded"  # its endpoint was deleted


WAITING, DELIVERED, FAILED = State.WAITING, State.DELIVERED, State.FAILED
"""Plain names for what runs with every delivery: looking up a member takes its time."""

LIVE = frozenset({State.READY, State.WAITING})
ENDED = frozenset(State) - LIVE
STUCK = frozenset({State.WAITING, State.FAILED})
"""Those of what failed, and of what waits for a time of its own."""

# A delivery begins as one of LIVE or as SKIPPED; one that a resend leaves where there was none, as
# DELIVERED or FAILED.
_REPLAYED = frozenset({State.READY})
_RESENT = frozenset({State.DELIVERED})  # by a resend that was taken
MOVES: Mapping[State, frozenset[State]] = {
    State.READY: frozenset(State) - {State.SKIPPED},
    State.WAITING: frozenset(State) - {State.SKIPPED},
    State.DELIVERED: _REPLAYED,
    State.FAILED: _REPLAYED | _RESENT,
    State.SKIPPED: _REPLAYED | _RESENT,
    State.CANCELLED: frozenset(),
    State.DISCARDED: frozenset(),
}


class Reason(StrEnum):
    """Why a delivery waits, or how it ended."""

    NEW = "not tried yet"
    # It waits.
    BACKOFF = "backoff"
    RETRY_AFTER = "retry-after"
    LANE_OPEN = "lane open"
    PACE = "pace"
    RATE = "rate limit"
    CONCURRENCY = "concurrency"
    BUDGET = "retry budget"
    FIFO = "fifo"
    SCHEDULED = "scheduled"
    PAUSED = "paused"
    DISABLED = "disabled"
    REPLAYED = "replayed"
    # It ended.
    DELIVERED = "delivered"
    REFUSED = "refused"  # the endpoint said that this message will never do
    EXHAUSTED = "all attempts used up"
    AGED = "too old"
    GONE = "endpoint gone"
    ABORTED = "aborted by the receiver"
    EXPUNGED = "payload expunged"
    SKIPPED = "endpoint disabled"
    CANCELLED = "cancelled"
    DISCARDED = "endpoint deleted"


class Delivery(Struct, frozen=True, kw_only=True):
    """One message on its way to one endpoint.

    `attempts` are those that its policy counts, `tries` all that were made. `memory` is the
    jitter's. `due_at` is set while it waits for a time of its own. Its age counts from
    `accepted_at`, which is the message's or, if that is later, its `deliver_at`; a replay is
    accepted anew.
    """

    lane: int
    seq: int
    message: str
    state: State = State.READY
    reason: Reason = Reason.NEW
    attempts: int = 0
    tries: int = 0
    memory: float | None = None
    due_at: float | None = None
    accepted_at: float
    ended_at: float | None = None

    @property
    def can_be_recovered(self) -> bool:
        """Whether it failed: for good, or the last time, and it waits for a time of its own."""
        return self.state is State.FAILED or (self.state is State.WAITING and self.tries > 0)
