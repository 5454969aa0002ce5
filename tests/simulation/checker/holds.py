"""An endpoint that asks for a pause gets it, and a retry does not follow its failure at once."""

from collections.abc import Iterator
from itertools import pairwise

from tests.simulation.checker.facts import Facts, Violation
from tests.simulation.checker.policies import shortest_wait
from tests.simulation.log import Answered, Requested

TOO_MANY = 429
AT_ONCE = 0.05
"""Seconds after a failure in which no retry begins, if the policy cannot draw so short a wait."""
OPENS_AFTER = 5
"""This many failures in a row may count as an outage."""
ROUNDING = 0.01


def holds(facts: Facts) -> Iterator[Violation]:
    """Check which requests follow an answer that asks for a pause, and which follow a failure."""
    for endpoint, requests in facts.at_endpoint.items():
        yield from _left_alone(facts, endpoint, requests)
    for (_, endpoint), requests in facts.requests.items():
        if shortest_wait(facts, endpoint) > AT_ONCE:
            yield from _retried_at_once(facts, requests)


def _left_alone(facts: Facts, endpoint: str, requests: list[Requested]) -> Iterator[Violation]:
    for request in requests:
        answer = facts.answers.get(request.request)
        if answer is None or answer.status != TOO_MANY or answer.retry_after is None:
            continue
        end = answer.at + answer.retry_after
        for other in requests:
            same = other.host == request.host
            if same and answer.at + ROUNDING < other.at < end - ROUNDING:
                if _is_explained(facts, endpoint, answer, other.at):
                    break
                text = f"{endpoint} asked to be left alone until {end:.3f} and got {other.message}"
                yield Violation(other.at, "did not wait", text)
                break


def _retried_at_once(facts: Facts, requests: list[Requested]) -> Iterator[Violation]:
    for first, second in pairwise(requests):
        answer = facts.answers.get(first.request)
        if answer is None or answer.is_success or not 0 <= second.at - answer.at < AT_ONCE:
            continue
        if second.is_down or (first.is_down and _seemed_down(facts, first)):
            continue  # a probe of an endpoint that is down, or was when its lane opened
        if _came_back(facts, first, second.at):
            continue  # an outage held up the delivery: its time is the endpoint's
        if not _is_explained(facts, first.endpoint, answer, second.at):
            text = f"{first.message} failed at {first.endpoint} at {answer.at:.3f} and went again"
            yield Violation(second.at, "did not wait", text)


def _came_back(facts: Facts, failed: Requested, until: float) -> bool:
    """Whether a request failed when its endpoint seemed down, and its host accepted another since.

    An endpoint that fails by chance several times in a row seems down as well.
    """
    others = (
        facts.answers.get(other.request)
        for requests in facts.at_endpoint.values()
        for other in requests
        if other.host == failed.host
    )
    return (failed.is_down or _seemed_down(facts, failed)) and any(
        answer is not None and answer.is_success and failed.at <= answer.at <= until
        for answer in others
    )


def _seemed_down(facts: Facts, failed: Requested) -> bool:
    """Whether several requests in a row failed at its endpoint or host while it was in flight.

    The endpoints of a host are down together if one of them cannot be reached several times.
    """
    at_host = [
        request
        for requests in facts.at_endpoint.values()
        for request in requests
        if request.host == failed.host
    ]
    rows = (facts.at_endpoint[failed.endpoint], at_host)
    until = facts.answers[failed.request].at
    return any(_all_failed(facts, requests, failed.at, until) for requests in rows)


def _all_failed(facts: Facts, requests: list[Requested], since: float, until: float) -> bool:
    """Whether at some time in this period the last requests that were answered had all failed."""
    answers = [facts.answers[one.request] for one in requests if one.request in facts.answers]
    row = 0
    for answer in sorted(answers, key=lambda one: one.at):
        row = 0 if answer.is_success else row + 1
        if row >= OPENS_AFTER and since <= answer.at <= until:
            return True
    return False


def _is_explained(facts: Facts, endpoint: str, answer: Answered, at: float) -> bool:
    """Whether a person or a fault may have made a request come early."""
    since = answer.at - 1
    changed = any(since <= change.at <= at for change in facts.changes[endpoint])
    asked = facts.asked_between(0, at, endpoint=endpoint)
    return changed or bool(asked) or facts.fault_between(since, at) is not None
