"""An attempt that was made, and what it changes: the settlement of a delivery."""

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from tarry.service.model.delivery import Delivery, Reason, State

EXPUNGED = b"EXPUNGED"
"""What is kept of an answer that was to be forgotten."""


class Trigger(StrEnum):
    """What an attempt was made for."""

    SCHEDULED = "scheduled"
    MANUAL = "manual"  # somebody asked for it


class Attempt(Struct, frozen=True, kw_only=True):
    """One request that was made, with its answer and what was decided on it.

    `number` counts all tries of the delivery from 1. `kind` is the class of the failure, None for
    a success. `counted` tells whether the policy's count of attempts grew: a failure of the lane
    costs the delivery nothing. With `policy` (a version), `now` and `draw` the decision can be
    made again.
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


class Settlement(Struct, frozen=True, kw_only=True):
    """What becomes of a delivery.

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
        """Whether the delivery at its place is the one that was read, with no try since."""
        return (delivery.message, delivery.tries) == (self.message, self.tries)


class Resent(Struct, frozen=True):
    """A message that somebody asked to be sent again was.

    The attempt is recorded, and a delivery that had failed or was skipped has arrived if it was
    taken; one that still waits goes on as if nothing had been. Where there was no delivery there is
    one then, which ended as the attempt did: `why` is the reason if it was not taken. `epoch` is
    that of the lease under which it was sent.
    """

    lane: int
    resend: str
    attempt: Attempt
    epoch: int
    why: Reason = Reason.EXHAUSTED

    @property
    def arrived(self) -> bool:
        """Whether the endpoint took it."""
        return self.attempt.kind is None

    def upon(self, delivery: Delivery) -> Delivery:
        """What becomes of the delivery of its message."""
        if not self.arrived or delivery.state not in {State.FAILED, State.SKIPPED}:
            return delivery
        return replace(
            delivery,
            state=State.DELIVERED,
            reason=Reason.DELIVERED,
            ended_at=self.attempt.at,
        )

    def delivery(self, seq: int) -> Delivery:
        """The delivery that there is then, if there was none."""
        return Delivery(
            lane=self.lane,
            seq=seq,
            message=self.attempt.message,
            state=State.DELIVERED if self.arrived else State.FAILED,
            reason=Reason.DELIVERED if self.arrived else self.why,
            tries=1,
            accepted_at=self.attempt.at,
            ended_at=self.attempt.at,
        )
