"""An attempt, and the settlement of a delivery that follows from it."""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from tarry.service.model.delivery import Delivery, Reason, State

EXPUNGED = b"EXPUNGED"
"""Replaces a stored response that was expunged."""
ERASED = b"ERASED"
"""Stands for a stored response whose data key was erased."""
UNAVAILABLE = b"UNAVAILABLE"
"""Stands for a stored response that no sealing key of the service opens."""


class Trigger(StrEnum):
    """Why an attempt was made."""

    SCHEDULED = "scheduled"
    MANUAL = "manual"  # a person or program requested it


class Attempt(Struct, frozen=True, kw_only=True):
    """One request with its response, and the decision made on it.

    `number` counts all tries of the delivery from 1. `kind` is the class of the failure, None
    for a success. `counted` says whether the attempt counts for the policy: a failure of the
    whole lane does not. With `policy` (a version), `now` and `draw` the decision can be
    repeated. A stored body that is sealed names its data key in `sealed_with`.
    """

    id: str
    lane: int
    message: str
    number: int
    at: float
    took: float
    url: str
    status: int | None = None
    kind: str | None = None
    detail: str = ""
    body: bytes = b""
    trigger: Trigger = Trigger.SCHEDULED
    counted: bool = True
    policy: str = ""
    now: float = 0.0
    draw: float = 0.0
    decision: str = ""
    sealed_with: str | None = None

    def bare(self) -> "Attempt":
        """Return it without its body: it has no data key that it could be saved with."""
        return replace(self, body=b"")


class Settlement(Struct, frozen=True, kw_only=True):
    """The outcome of a delivery, to be saved.

    `message` and `tries`, the number of earlier tries, are the fence: a settlement changes nothing
    if its delivery was settled since it was read, or if the sequence number belongs to another
    message by now. The latter happens when a failover lost the message that was sent. `epoch` is
    that of the lease under which it was sent: under a later lease, even of the same worker, the
    delivery may have been sent again. `attempt` is None if nothing was sent.
    """

    lane: int
    epoch: int
    seq: int
    message: str
    tries: int
    state: State
    reason: Reason
    attempts: int
    due_at: float | None = None
    memory: float | None = None
    ended_at: float | None = None
    attempt: Attempt | None = None

    def concerns(self, delivery: Delivery) -> bool:
        """Return whether a delivery at its place is the one that was read, with no try since."""
        return (delivery.message, delivery.tries) == (self.message, self.tries)


Placed = tuple[int, Settlement]
"""A settlement and its index among all settlements of the call."""


class Resent(Struct, frozen=True):
    """The result of a resend that was requested.

    The attempt is saved. If the endpoint accepted it, a failed or skipped delivery becomes
    delivered; a live delivery does not change. If there was no delivery, one is added that has
    ended like the attempt; `why` is its reason if the endpoint did not accept it. `epoch` is
    that of the lease under which it was sent.
    """

    lane: int
    resend: str
    attempt: Attempt
    epoch: int
    why: Reason = Reason.EXHAUSTED

    @property
    def arrived(self) -> bool:
        """Whether the endpoint accepted it."""
        return self.attempt.kind is None

    def upon(self, delivery: Delivery) -> Delivery:
        """Return the message's delivery as it is after this resend."""
        if not self.arrived or delivery.state not in {State.FAILED, State.SKIPPED}:
            return delivery
        return replace(
            delivery,
            state=State.DELIVERED,
            reason=Reason.DELIVERED,
            ended_at=self.attempt.at,
        )

    def delivery(self, seq: int) -> Delivery:
        """Return the delivery to add if the lane had none."""
        state, reason = State.FAILED, self.why
        if self.arrived:
            state, reason = State.DELIVERED, Reason.DELIVERED
        elif self.why is Reason.ERASED:
            state = State.DISCARDED
        return Delivery(
            lane=self.lane,
            seq=seq,
            message=self.attempt.message,
            state=state,
            reason=reason,
            tries=1,
            accepted_at=self.attempt.at,
            ended_at=self.attempt.at,
        )


def in_rounds(settlements: Iterable[tuple[int, Settlement | Resent]]) -> list[list[Placed]]:
    """Return the settlements in rounds, so that no delivery occurs twice in a round.

    Each round is one statement: a second settlement is checked against the result of the first.
    """
    rounds: list[list[Placed]] = []
    times = Counter[tuple[int, int]]()
    for index, settlement in settlements:
        if isinstance(settlement, Resent):
            continue
        nth = times[settlement.lane, settlement.seq]
        times[settlement.lane, settlement.seq] += 1
        if nth == len(rounds):
            rounds.append([])
        rounds[nth].append((index, settlement))
    return rounds
