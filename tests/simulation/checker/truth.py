"""`explain` gives the true reason for which a delivery waits.

For each reason in the table of waits, the log must have some evidence.
"""

from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlsplit

from tarry.service.explain import SENDING_TIME
from tarry.service.model.delivery import LIVE, Reason
from tarry.service.model.endpoint import Standing
from tarry.service.model.waits import WAITS, End, Holder
from tests.simulation.checker.facts import Facts, Violation
from tests.simulation.checker.liveness import AFTER_A_FAULT, BUDGET, retries_before
from tests.simulation.log import Explained, Settled, Waiting

Told = Waiting | Explained
"""What `explain` said of a delivery."""
HELD_BACK = frozenset({Reason.LANE_OPEN, Reason.RETRY_AFTER, Reason.PACE})
"""The reasons for which deliveries wait while their endpoint fails."""
ROUNDING = 0.001

# --- Reasons and their evidence -----------------------------------------------------------------


def truth(facts: Facts) -> Iterator[Violation]:
    """Check the given reasons against the log."""
    for told in facts.all(Explained):
        if not _is_true(facts, told):
            text = f"{told.message} to {told.endpoint}, which is stopped, waits for {told.reason!r}"
            yield Violation(told.at, "untrue reason", text)
    for entry in facts.all(Waiting):
        if not _is_true(facts, entry):
            text = (
                f"{entry.message} to {entry.endpoint} waits for {entry.reason!r}: nothing says so"
            )
            yield Violation(entry.at, "untrue reason", text)
        elif not _is_timed(entry):
            text = (
                f"{entry.message} to {entry.endpoint} waits for {entry.reason!r} until"
                f" {entry.next_at}"
            )
            yield Violation(entry.at, "untrue time", text)


def _is_true(facts: Facts, told: Told) -> bool:
    """Whether the reason is one to wait, its holder can hold the delivery, and there is evidence.

    An endpoint that is not enabled holds all its deliveries, and one that is enabled holds none.
    """
    reason = Reason(told.reason)
    if reason not in WAITS:
        return False
    is_stopped = facts.endpoint_at(told.endpoint, told.at).standing is not Standing.ENABLED
    is_held_by_endpoint = WAITS[reason].holder is Holder.ENDPOINT
    return is_stopped == is_held_by_endpoint and EVIDENCE[reason](facts, told)


def _is_timed(entry: Waiting) -> bool:
    """Whether a time is given if, and only if, the wait ends at one, and is not over for long."""
    end = WAITS[Reason(entry.reason)].end
    if end not in {End.TIME, End.PROBE}:
        return entry.next_at is None
    if entry.next_at is None:
        return False
    # The rule of liveness checks whether a probe is late.
    return end is End.PROBE or entry.at <= entry.next_at + SENDING_TIME + ROUNDING


def _has_no_limit(facts: Facts, told: Told) -> bool:
    """Whether no setting of the endpoint or of its application delays a delivery."""
    here = facts.endpoint_at(told.endpoint, told.at)
    is_in_line = here.fifo and isinstance(told, Waiting) and told.eligible > 1
    return not (is_in_line or here.concurrency or _has_rate(facts, told))


def _has_rate(facts: Facts, told: Told) -> bool:
    here = facts.endpoint_at(told.endpoint, told.at)
    return bool(here.rate or facts.rates.get(here.application))


def _has_concurrency(facts: Facts, told: Told) -> bool:
    return facts.endpoint_at(told.endpoint, told.at).concurrency is not None


def _is_in_order(facts: Facts, told: Told) -> bool:
    return facts.endpoint_at(told.endpoint, told.at).fifo and _has_company(facts, told)


def _has_company(facts: Facts, told: Told) -> bool:
    """Whether another delivery to the endpoint may be live: it was accepted and has not ended.

    A replay also makes deliveries of messages that were accepted before the endpoint was added.
    """
    ended = {
        entry.message
        for entry in facts.all(Settled)
        if entry.endpoint == told.endpoint and entry.at <= told.at and entry.state not in LIVE
    }
    is_changed = facts.losses or facts.asked_between(0, told.at, endpoint=told.endpoint)
    is_replayed = _was_replayed(facts, told)
    return any(
        (is_replayed or told.endpoint in accepted.endpoints)
        and accepted.at <= told.at
        and message != told.message
        and (is_changed or message not in ended)
        for message, accepted in facts.accepted.items()
    )


def _was_replayed(facts: Facts, told: Told) -> bool:
    asked = facts.asked_between(0, told.at, endpoint=told.endpoint)
    return any(one.wish in {"recover", "replay", "replayed"} for one in asked)


def _was_scheduled(facts: Facts, told: Told) -> bool:
    """Whether the sender set a time, and it is not over for long by the store's clock."""
    due_at = facts.accepted[told.message].scheduled_for
    stepped = sum(abs(fault.seconds) for fault in facts.faults if fault.at <= told.at)
    return due_at is not None and told.at <= due_at + stepped + SENDING_TIME + ROUNDING


def _failed_before(facts: Facts, told: Told) -> bool:
    """Whether an attempt of the delivery itself failed."""
    answers = (
        facts.answers.get(one.request) for one in facts.requests[told.message, told.endpoint]
    )
    return any(
        answer is not None and answer.at <= told.at and not answer.is_success for answer in answers
    )


def _is_over_budget(facts: Facts, told: Told) -> bool:
    """Whether a retry comes after so many others that the budget may hold it.

    Only the worker knows its budget. `explain` concludes that it holds a retry that is due and was
    not sent, so a fault that keeps the worker from sending looks the same for a while. So does a
    step of the store's clock, which the worker does not follow.
    """
    many = retries_before(facts, told.endpoint, told.at) >= BUDGET
    is_delayed = any(
        fault.at <= told.at and (fault.seconds or told.at <= fault.until + AFTER_A_FAULT)
        for fault in facts.faults
    )
    return (many or is_delayed) and _failed_before(facts, told)


def _may_be_paced(facts: Facts, told: Told) -> bool:
    """Whether an endpoint of its host failed, or something queued many deliveries at once.

    A person did so with a recovery, a replay or a resend, or by resuming or moving the endpoint.
    """
    changes = [one for one in facts.changes[told.endpoint] if one.at <= told.at]
    return len(changes) > 1 or _has_failed(facts, told)


def _stands(*standings: Standing) -> Callable[[Facts, Told], bool]:
    """Return the evidence that the endpoint has one of these standings."""

    def evidence(facts: Facts, told: Told) -> bool:
        return facts.endpoint_at(told.endpoint, told.at).standing in standings

    return evidence


def _has_failed(facts: Facts, told: Told) -> bool:
    """Whether a request failed there, or a person requested a probe."""
    wishes = facts.asked_between(0, told.at, endpoint=told.endpoint)
    hosts = _hosts(facts, told)
    return bool(wishes) or any(
        request.host in hosts
        and request.request in facts.answers
        and facts.answers[request.request].at <= told.at
        and not facts.answers[request.request].is_success
        for requests in facts.at_endpoint.values()
        for request in requests
    )


def _was_asked_to_wait(facts: Facts, told: Told) -> bool:
    hosts = _hosts(facts, told)
    return any(
        request.host in hosts
        and request.request in facts.answers
        and facts.answers[request.request].at <= told.at
        and facts.answers[request.request].retry_after is not None
        for requests in facts.at_endpoint.values()
        for request in requests
    )


def _hosts(facts: Facts, entry: Told) -> set[str]:
    """Return the recent hosts of an endpoint."""
    return {
        urlsplit(change.endpoint.url).hostname or ""
        for change in facts.changes[entry.endpoint]
        if change.at <= entry.at
    }


EVIDENCE: Mapping[Reason, Callable[[Facts, Told], bool]] = {
    Reason.NEW: _has_no_limit,
    Reason.REPLAYED: _was_replayed,
    Reason.BACKOFF: _failed_before,
    Reason.SCHEDULED: _was_scheduled,
    Reason.RETRY_AFTER: _was_asked_to_wait,
    Reason.LANE_OPEN: _has_failed,
    Reason.PACE: _may_be_paced,
    Reason.RATE: _has_rate,
    Reason.CONCURRENCY: _has_concurrency,
    Reason.BUDGET: _is_over_budget,
    Reason.FIFO: _is_in_order,
    Reason.PAUSED: _stands(Standing.PAUSED),
    Reason.DISABLED: _stands(Standing.DISABLED, Standing.PARKED),
}
"""What the log must show for each reason of the table of waits."""


# --- Neighbours ---------------------------------------------------------------------------------


def neighbours(facts: Facts) -> Iterator[Violation]:
    """Check that failures of one other application alone hold up no endpoint."""
    reported: set[str] = set()
    for entry in facts.all(Waiting):
        if entry.reason not in HELD_BACK or entry.endpoint in reported:
            continue
        if _is_a_neighbours(facts, entry):
            reported.add(entry.endpoint)
            text = f"{entry.endpoint} waits for {entry.reason!r}, and only a neighbour has failed"
            yield Violation(entry.at, "held up by a neighbour", text)


def _is_a_neighbours(facts: Facts, entry: Waiting) -> bool:
    """Whether all failures with an answer there belong to one other application."""
    hosts, failed = _hosts(facts, entry), set()
    for endpoint, requests in facts.at_endpoint.items():
        for request in requests:
            answer = facts.answers.get(request.request)
            if request.host not in hosts or answer is None or answer.at > entry.at:
                continue
            if answer.status is None:
                return False  # no connection
            if not answer.is_success:
                failed.add(facts.application(endpoint))
    wishes = facts.asked_between(0, entry.at, endpoint=entry.endpoint)
    return not wishes and len(failed) == 1 and facts.application(entry.endpoint) not in failed
