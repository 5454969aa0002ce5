"""One attempt: the config that it is made by, its signed request, its flight, and its record.

- `LaneConfig` has what a lane needs to make requests: the target, the signing secrets and the
  policy. It is built when a lane is loaded and whenever its endpoint changes.
- `signed_request` makes the request of one attempt, and `PendingAttempt` waits for its answer.
- `settlement` is the outcome that is written.
"""

import hashlib
import logging
from functools import lru_cache
from sys import intern
from typing import Protocol

from msgspec import Struct

from tarry.core.outcome import Kind
from tarry.core.policy import Policy
from tarry.core.text import to_json
from tarry.errors import EgressRefused, PolicyError, SealError, SettingsError
from tarry.service.dispatch.limits.gate import Gate
from tarry.service.dispatch.origins.origin import Origin
from tarry.service.dispatch.outcomes.judge import Judgement, Ruling
from tarry.service.model.attempt import Attempt, Settlement, Trigger
from tarry.service.model.delivery import ENDED
from tarry.service.model.lane import Due, LaneRow
from tarry.service.model.message import CHAIN_HEADER
from tarry.service.model.policy import read_policy
from tarry.service.wire.egress import Egress, origin_of
from tarry.service.wire.exchange import TIMEOUT, Answer, Request, Target
from tarry.service.wire.seal import Seals, Secrets, opened_headers, opened_secrets
from tarry.service.wire.sign import Signer

log = logging.getLogger("tarry.service")

# --- The config ---------------------------------------------------------------------------------

MOST_POLICIES = 1_000
"""How many policies are cached, each with its document and in parsed form."""
UNOPENED = "its headers or signing secrets cannot be opened"
MOST_SIGNERS = 2_000
"""How many endpoints have their secrets cached ready for signing, a kilobyte each."""


class WrittenPolicy(Struct, frozen=True):
    """A policy with its document, and with its version: a hash of the document."""

    policy: Policy
    document: str
    version: str

    @classmethod
    def of(cls, policy: Policy) -> "WrittenPolicy":
        """Write a policy."""
        document = to_json(policy)
        return cls(policy, document, hashlib.sha256(document.encode()).hexdigest()[:16])


class LaneConfig(Struct, frozen=True, gc=False):  # it holds only values: no cycle
    """A lane's config. Without a target nothing is sent, and every attempt ends as `refused`."""

    written: WrittenPolicy
    origin: str
    timeout: float
    target: Target | None = None
    secrets: Secrets = ()
    refused: Answer = Answer(0.0)

    @property
    def policy(self) -> Policy:
        """The policy by which it is decided what happens after an attempt."""
        return self.written.policy

    @property
    def signer(self) -> Signer:
        """The signer of its messages."""
        return _signer(self.secrets)


def config(row: LaneRow, *, seals: Seals, egress: Egress, fallback: WrittenPolicy) -> LaneConfig:
    """Return the config of a lane; for an endpoint that cannot be called it says why."""
    endpoint = row.endpoint
    refused: Answer | None = None
    try:
        document = endpoint.policy or row.application.policy or row.policy
        written = fallback if document is None else _read(document)
    except PolicyError as error:
        written, refused = fallback, Answer(0.0, failure=Kind.REFUSED, detail=str(error))
    target: Target | None = None
    secrets: Secrets = ()
    try:
        owner = intern(endpoint.application)  # the lane keeps this very string
        target = egress.target(endpoint.url, opened_headers(endpoint, seals), owner=owner)
        secrets = opened_secrets(endpoint, seals)
        _signer(secrets)  # raises an error now if one of them cannot be used
    except EgressRefused as error:
        refused = Answer(0.0, failure=Kind.BLOCKED, detail=error.rule)
    except SettingsError as error:
        refused = Answer(0.0, failure=Kind.REFUSED, detail=str(error))
    except SealError as error:
        # Tenants read the attempt. The error names the operator's sealing keys.
        log.warning("the endpoint %s cannot be called: %s", endpoint.id, error)
        refused = Answer(0.0, failure=Kind.REFUSED, detail=UNOPENED)
    timeout = written.policy.attempt_timeout or TIMEOUT
    if refused is not None or target is None:
        refused = refused or Answer(0.0, failure=Kind.REFUSED)
        return LaneConfig(written, endpoint.url, timeout, refused=refused)
    return LaneConfig(written, origin_of(endpoint.url), timeout, target, secrets)


@lru_cache(MOST_SIGNERS)
def _signer(secrets: Secrets) -> Signer:
    """Return the signer for an endpoint's secrets."""
    return Signer.of(secrets)


@lru_cache(MOST_POLICIES)
def _read(document: str) -> WrittenPolicy:
    """Read a policy and write it in full; cached since thousands of lanes share a policy."""
    return WrittenPolicy.of(read_policy(document))


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
    headers = (
        *config.signer.headers(due.message, due.tries + 1, payload, now=wall),
        (CHAIN_HEADER, str(due.chain + 1)),
    )
    if due.content_type is not None:
        target = target.sending(due.content_type)
    return Request(target, headers, payload, config.timeout, connect_timeout)


# --- The attempt in flight ----------------------------------------------------------------------


class AnswerReceiver(Protocol):
    """The lane that waits for the answer."""

    def answered(self, pending: "PendingAttempt", answer: Answer) -> None:
        """Process the answer to an attempt."""


class PendingAttempt:
    """An attempt in flight: its delivery, gate, pace (`epoch`), start time and config.

    `origin` is the level whose lanes wait for the answer if the gate is a shared one. The lane may
    use another one by then, or may have left.
    """

    __slots__ = ("config", "due", "epoch", "gate", "lane", "origin", "sent_at", "url")

    def __init__(  # noqa: PLR0913, PLR0917  made for every attempt: keyword arguments cost time
        self,
        lane: AnswerReceiver,
        due: Due,
        gate: Gate,
        origin: Origin,
        epoch: int,
        sent_at: float,
        config: LaneConfig,
        url: str,
    ) -> None:
        self.lane, self.due, self.gate, self.origin, self.epoch = lane, due, gate, origin, epoch
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
            policy=self.config.written.version,
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
