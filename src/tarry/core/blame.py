"""Decide whose failure a failed attempt is: the message's, the endpoint's, or not known yet.

The answer has two uses. The delivery learns whether the attempt counts, and the gate of its lane
learns how many failures to count against the endpoint. `blame` decides both, from three values: the
facts about the lane, the facts about the delivery, and the failed attempt. Its docstring is the
table of cases.

Nearly all of it rests on one comparison. A delivery keeps the time of its failure, and a lane the
time at which the latest message was sent that the endpoint accepted. If that message was sent after
the failure, the endpoint works, and it was the failed message's own failure. If the lane opens
first, it was the endpoint's failure and the delivery gets its attempts back.

The origin's part, several lanes that fail together, is in the service (`origins/evidence.py`).
"""

from enum import StrEnum

from tarry.core.backoff import Exponential
from tarry.core.blame_facts import UNSEEN, DeliveryFacts, LaneFacts
from tarry.core.jitter import Equal
from tarry.core.pace import CLOSED, OPEN, PACED, PacerRule, Phase
from tarry.core.policy import Policy
from tarry.core.second_tries import NO_TRIES, SecondTries
from tarry.core.value import Value, settle

FINAL_WITHIN = 600.0
"""For how many seconds after a success a repeated refusal is final."""
AT_PACE = 3
"""How many failures of one delivery are put down to the pace of its lane."""
SLOWED_RETRIES = Policy(
    backoff=Exponential(base=0.25, cap=2), jitter=Equal(), attempts=None, within=None
)
"""When a delivery is retried that failed because of its lane's pace, or that was throttled."""
OFTEN, MOSTLY = 0.4, 0.8
"""If more than the first share of failures are the messages' own, a second failure says nothing
about the pace. If more than the second share are, it is the message's own failure as well."""


class Trouble(StrEnum):
    """How an attempt failed."""

    FAILED = "failed"
    REFUSED = "refused"  # 401, 403, 404, 405: this message, or every message for now
    THROTTLED = "throttled"  # 429


class Whose(StrEnum):
    """Whose failure it is, and so whether the attempt counts."""

    MESSAGE = "the message's"  # the attempt counts; a refusal is final
    UNKNOWN = "not known yet"  # the attempt counts, and is given back if the lane opens
    PACE = "the pace's"  # the attempt does not count, and the next one follows soon
    ENDPOINT = "the endpoint's"  # the attempt does not count


class Blame(Value):
    """Whose failure it is, and how many failures the gate counts; None if it learns nothing.

    A count of 0 means that the gate counts the attempt as sent, and no failure. `spared` says that
    this used up credit of the second tries.
    """

    whose: Whose
    counts: int | None
    spared: bool

    def __init__(self, whose: Whose, counts: int | None, *, spared: bool = False) -> None:
        settle(self, "whose", whose)
        settle(self, "counts", counts)
        settle(self, "spared", spared)


class FailedAttempt(Value):
    """A failed attempt: how and when it failed, and through which gate it was sent.

    `phase` is that of the gate now. `shared` says that the gate is its origin's.
    """

    trouble: Trouble
    event_type: str
    phase: Phase
    at: float
    shared: bool

    def __init__(
        self,
        trouble: Trouble,
        event_type: str,
        phase: Phase,
        at: float,
        *,
        shared: bool = False,
    ) -> None:
        settle(self, "trouble", trouble)
        settle(self, "event_type", event_type)
        settle(self, "phase", phase)
        settle(self, "at", at)
        settle(self, "shared", shared)


class _Evidence(StrEnum):
    """What earlier attempts say about a failure."""

    NOTHING = "nothing"
    OWN = (
        "the endpoint accepted another message since this one failed, or its event type only fails"
    )
    SLOWED = "the endpoint accepted another message since this one failed at a pace"
    UNWANTED = "the endpoint never accepted this event type, but others since it first failed"


# Plain names, since looking up a member of an enum takes time.
FAILED, REFUSED, THROTTLED = Trouble
MESSAGE, UNKNOWN, PACE, ENDPOINT = Whose
NOTHING, OWN, SLOWED, UNWANTED = _Evidence


def accept(tries: SecondTries, delivery: DeliveryFacts, accepted: float) -> SecondTries:
    """Return the results of first and second tries once this delivery is accepted.

    `accepted` is when the latest message was sent that the endpoint accepted before this one.
    """
    if tries is NO_TRIES:
        return tries  # nothing failed at a pace, so nothing has to be told apart
    second = delivery.slowed_at < accepted
    return tries.second(failed=False) if second else tries.first(failed=False)


def learn(lane: LaneFacts, delivery: DeliveryFacts, attempt: FailedAttempt) -> LaneFacts:
    """Return what is known of a lane once this attempt is counted; ask `blame` afterwards.

    The failure has to be counted for its event type already.
    """
    evidence = _evidence(lane, delivery, attempt)
    if attempt.trouble is REFUSED:
        ignored = evidence is not NOTHING and attempt.phase is not OPEN
        return lane if ignored else lane.replace(refusals=lane.refusals + 1)
    if evidence is SLOWED:
        return lane.replace(tries=lane.tries.second(failed=True))
    first = attempt.trouble is FAILED and evidence is NOTHING
    if first and attempt.phase is PACED:
        return lane.replace(tries=lane.tries.first(failed=True))
    return lane


def blame(
    rule: PacerRule, lane: LaneFacts, delivery: DeliveryFacts, attempt: FailedAttempt
) -> Blame:
    """Return whose failure an attempt is, and how many failures the gate counts.

    The first row that fits decides. "Accepted since" means: the endpoint accepted another message
    that was sent after this one last failed, or was first refused, and it accepted one in the last
    minute (ten minutes for a refusal). Notes below the table explain why a row is needed.

    =========  ======  ==========================================  =========  ===========
    trouble    gate    known                                       whose      gate counts
    =========  ======  ==========================================  =========  ===========
    throttled  any                                                 endpoint   1
    failed     open                                                endpoint   1
    refused    open                                                endpoint   1 (f)
    refused    other   accepted since                              message    nothing (a)
    refused    other   never accepted this event type, but others  unknown    nothing (b)
                       since it was first refused
    refused    closed                                              unknown    0 (c, f)
    refused    paced                                               unknown    1 (f)
    failed     other   accepted since                              message    nothing (d)
    failed     other   five of its event type failed in a row,     message    nothing (d)
                       others were accepted since the fifth
    failed     other   failed at a pace, accepted since, most      message    nothing (e)
                       such messages fail again
    failed     paced   the same, and many fail again               pace (g)   nothing (e)
    failed     paced   credit of the second tries                  pace (g)   0 (e)
    failed     paced                                               pace (g)   1
    failed     closed                                              unknown    1 (c)
    =========  ======  ==========================================  =========  ===========

    (a) One page is missing: its message ends, the others are not slowed down.
    (b) An endpoint was never asked to accept an event type, and says so with 404.
    (c) A bad deploy answers 404 to everything. Single refusals count nothing, but the failure that
        makes it five in a row, any refusals among them, counts for all five and opens the lane.
        From there on each refusal counts 1.
    (d) One message, or one event type in five, is always answered with 500. If each failure
        counted, the lane would open over and over. Others must be accepted after the fifth failure
        of the type: five failures in an outage say nothing about it.
    (e) A backlog holds many messages that always fail. `second_tries` tells them from an overload.
    (f) At the gate of an origin a refusal counts 0: answers of other endpoints show what it means.
    (g) Unknown after three failures of this delivery at a pace: otherwise it could be retried
        without end and never use up its attempts.
    """
    if attempt.trouble is REFUSED:
        verdict = _refused(rule, lane, delivery, attempt)
    elif attempt.trouble is THROTTLED or attempt.phase is OPEN:
        verdict = Blame(ENDPOINT, 1)
    else:
        verdict = _failed(lane, delivery, attempt)
    own_gate = attempt.phase is CLOSED and not attempt.shared
    completes_row = lane.in_a_row + 1 == rule.failures and lane.refusals > 0
    if verdict.counts is not None and own_gate and completes_row:
        return Blame(verdict.whose, rule.failures)
    return verdict


def _refused(
    rule: PacerRule, lane: LaneFacts, delivery: DeliveryFacts, attempt: FailedAttempt
) -> Blame:
    counts = attempt.phase is not CLOSED or lane.in_a_row >= rule.failures
    counted = 0 if attempt.shared else int(counts)
    if attempt.phase is OPEN:
        return Blame(ENDPOINT, counted)
    evidence = _evidence(lane, delivery, attempt)
    if evidence is OWN:
        return Blame(MESSAGE, None)
    return Blame(UNKNOWN, None if evidence is UNWANTED else counted)


def _failed(lane: LaneFacts, delivery: DeliveryFacts, attempt: FailedAttempt) -> Blame:
    evidence = _evidence(lane, delivery, attempt)
    if evidence is OWN or (evidence is SLOWED and lane.tries.own > MOSTLY):
        return Blame(MESSAGE, None)
    if attempt.phase is CLOSED:
        return Blame(UNKNOWN, 1)
    whose = PACE if delivery.slowed < AT_PACE else UNKNOWN
    if evidence is SLOWED and lane.tries.own > OFTEN:
        return Blame(whose, None)
    spared = lane.tries.spares
    return Blame(whose, 0 if spared else 1, spared=spared)


def _evidence(lane: LaneFacts, delivery: DeliveryFacts, attempt: FailedAttempt) -> _Evidence:
    event_type = lane.types.get(attempt.event_type, UNSEEN)
    if attempt.trouble is REFUSED:
        recent = attempt.at - lane.accepted_at < FINAL_WITHIN
        if recent and delivery.refused_at < lane.accepted_sent_at:
            return OWN
        accepted_since = event_type.failing_since < lane.accepted_sent_at
        unwanted = accepted_since and not event_type.accepted
        return UNWANTED if unwanted and lane.is_healthy(attempt.at) else NOTHING
    if attempt.trouble is THROTTLED or not lane.is_healthy(attempt.at):
        return NOTHING
    if event_type.only_fails_since < lane.accepted_sent_at:
        return OWN
    if delivery.failed_at < lane.accepted_sent_at:
        return OWN
    return SLOWED if delivery.slowed_at < lane.accepted_sent_at else NOTHING
