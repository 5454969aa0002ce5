"""`explain` gives the true reason for which a delivery waits."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from tarry.service.model.delivery import Reason
from tests.simulation.checker.facts import Facts, Violation
from tests.simulation.log import Explained, Waiting

HELD_BACK = frozenset({Reason.LANE_OPEN, Reason.RETRY_AFTER, Reason.PACE})
"""The reasons for which deliveries wait while their endpoint fails."""


def truth(facts: Facts) -> Iterator[Violation]:
    """Check the given reasons against the log."""
    for told in facts.all(Explained):
        if told.reason not in {Reason.PAUSED, Reason.DISABLED}:
            text = f"{told.message} to {told.endpoint}, which is stopped, waits for {told.reason!r}"
            yield Violation(told.at, "untrue reason", text)
    for entry in facts.all(Waiting):
        if not _is_true(facts, entry):
            text = (
                f"{entry.message} to {entry.endpoint} waits for {entry.reason!r}: nothing says so"
            )
            yield Violation(entry.at, "untrue reason", text)


def _is_true(facts: Facts, entry: Waiting) -> bool:
    match entry.reason:
        case Reason.LANE_OPEN:
            return _has_failed(facts, entry)
        case Reason.RETRY_AFTER:
            return _was_asked_to_wait(facts, entry)
        case Reason.PAUSED | Reason.DISABLED:
            return False  # it was looked at because it is enabled
        case _:
            return True


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


def _hosts(facts: Facts, entry: Waiting) -> set[str]:
    """Return the recent hosts of an endpoint."""
    return {
        urlsplit(change.endpoint.url).hostname or ""
        for change in facts.changes[entry.endpoint]
        if change.at <= entry.at
    }


def _has_failed(facts: Facts, entry: Waiting) -> bool:
    """Whether a request failed there, or a person requested a probe."""
    wishes = facts.asked_between(0, entry.at, endpoint=entry.endpoint)
    hosts = _hosts(facts, entry)
    return bool(wishes) or any(
        request.host in hosts
        and request.request in facts.answers
        and facts.answers[request.request].at <= entry.at
        and not facts.answers[request.request].is_success
        for requests in facts.at_endpoint.values()
        for request in requests
    )


def _was_asked_to_wait(facts: Facts, entry: Waiting) -> bool:
    hosts = _hosts(facts, entry)
    return any(
        request.host in hosts
        and request.request in facts.answers
        and facts.answers[request.request].retry_after is not None
        for requests in facts.at_endpoint.values()
        for request in requests
    )
