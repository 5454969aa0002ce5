"""A delivery: one message for one endpoint. Its states, and why it waits or ended."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct


class State(StrEnum):
    """The state of a delivery."""

    READY = "ready"  # eligible, in the lane's order
    WAITING = "waiting"  # eligible from `due_at`
    DELIVERED = "delivered"
    FAILED = "failed"
    SKIPPED = "skipped"  # its endpoint was disabled by its owner
    CANCELLED = "cancelled"
    DISCARDED = "discarded"  # its endpoint was deleted, or its payload erased


WAITING, DELIVERED, FAILED = State.WAITING, State.DELIVERED, State.FAILED
"""Plain names for code that runs for every delivery, where looking up a member takes time."""

LIVE = frozenset({State.READY, State.WAITING})
ENDED = frozenset(State) - LIVE
STUCK = frozenset({State.WAITING, State.FAILED})
"""The states of deliveries that failed or that wait for their own due time."""

# A new delivery is LIVE or SKIPPED. One that a resend adds to a lane without one is DELIVERED or
# FAILED.
_REPLAYED = frozenset({State.READY})
_RESENT = frozenset({State.DELIVERED})  # by a resend that the endpoint accepted
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
    # Why it waits.
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
    # How it ended.
    DELIVERED = "delivered"
    REFUSED = "refused"  # the endpoint said that it will never accept this message
    EXHAUSTED = "all attempts used up"
    AGED = "too old"
    GONE = "endpoint gone"
    ABORTED = "aborted by the receiver"
    EXPUNGED = "payload expunged"
    ERASED = "erased"  # the data key of its payload was deleted
    SKIPPED = "endpoint disabled"
    CANCELLED = "cancelled"
    DISCARDED = "endpoint deleted"


class Delivery(Struct, frozen=True, kw_only=True):
    """One message for one endpoint.

    `attempts` counts the attempts that its policy counts, `tries` all of them. `memory` belongs
    to the jitter. `due_at` is set while it waits for its own due time. Its age counts from
    `accepted_at`, which is the message's or, if that is later, its `deliver_at`. A replay sets
    `accepted_at` anew.
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
        """Whether it failed permanently, or its last try failed and it waits for a due time."""
        return self.state is State.FAILED or (self.state is State.WAITING and self.tries > 0)
