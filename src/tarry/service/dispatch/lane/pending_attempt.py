"""One attempt: its signed request, its state in flight, and the record written at its end."""

from typing import Protocol

from tarry.service.dispatch.lane.config import LaneConfig
from tarry.service.dispatch.limits.gate import Gate
from tarry.service.dispatch.outcomes.judge import Judgement, Ruling
from tarry.service.model.attempt import Attempt, Settlement, Trigger
from tarry.service.model.delivery import ENDED
from tarry.service.model.lane import Due
from tarry.service.wire.exchange import Answer, Request, Target

# --- The request --------------------------------------------------------------------------------


def signed_request(  # noqa: PLR0913  everything that a request is made of
    config: LaneConfig,
    target: Target,
    due: Due,
    payload: bytes,
    *,
    wall: float,
    connect_timeout: float,
) -> Request:
    """Return the request for a delivery, signed with the time by the wall clock.

    Receivers compare that time with their own clocks, and refuse old signatures.
    """
    headers = config.signer.headers(due.message, due.tries + 1, payload, now=wall)
    if due.content_type is not None:
        target = target.sending(due.content_type)
    return Request(target, headers, payload, config.timeout, connect_timeout)


# --- The attempt in flight ----------------------------------------------------------------------


class Lander(Protocol):
    """The lane that waits for the answer."""

    def answered(self, flight: "PendingAttempt", answer: Answer) -> None:
        """Process the answer to an attempt."""


class PendingAttempt:
    """An attempt in flight: its delivery, gate, pace (`epoch`), start time and config."""

    __slots__ = ("config", "due", "epoch", "gate", "lane", "sent_at", "url")

    def __init__(  # noqa: PLR0913, PLR0917  made for every attempt: keyword arguments cost time
        self,
        lane: Lander,
        due: Due,
        gate: Gate,
        epoch: int,
        sent_at: float,
        config: LaneConfig,
        url: str,
    ) -> None:
        self.lane, self.due, self.gate, self.epoch = lane, due, gate, epoch
        self.sent_at, self.config, self.url = sent_at, config, url

    def done(self, answer: Answer) -> None:
        """Pass the answer to the lane."""
        self.lane.answered(self, answer)

    def attempt(  # noqa: PLR0913  everything that is recorded of an attempt
        self,
        answer: Answer,
        judgement: Judgement,
        ruling: Ruling | None,
        *,
        id: str,  # noqa: A002  an id is what it is
        now: float,
        draw: float,
    ) -> Attempt:
        """Return the attempt to record. A resend has no ruling."""
        due = self.due
        return Attempt(
            id=id,
            lane=due.lane,
            message=due.message,
            number=due.tries + 1,
            at=self.sent_at,
            took=answer.took,
            url=self.url,
            status=answer.status,
            kind=judgement.kind,
            detail=answer.detail,
            body=answer.body,
            trigger=Trigger.MANUAL if due.resend else Trigger.SCHEDULED,
            counted=ruling is not None and ruling.counted,
            policy=self.config.version,
            now=now,
            draw=draw,
            decision="" if ruling is None else ruling.decision,
        )


def settlement(
    due: Due, ruling: Ruling, attempt: Attempt | None, *, epoch: int, now: float
) -> Settlement:
    """Return the settlement of a delivery that was sent under the lease of this epoch."""
    return Settlement(
        lane=due.lane,
        epoch=epoch,
        seq=due.seq,
        message=due.message,
        tries=due.tries,
        state=ruling.state,
        reason=ruling.reason,
        attempts=ruling.attempts,
        due_at=ruling.due_at,
        memory=ruling.memory,
        ended_at=now if ruling.state in ENDED else None,
        attempt=attempt,
    )
