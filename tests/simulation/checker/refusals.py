"""Refusals and failures that are about an event type, and say nothing about the endpoint."""

from collections import defaultdict
from typing import NamedTuple

from tests.simulation.checker.facts import LATELY, Facts
from tests.simulation.checker.policies import attempts_allowed

REFUSALS = frozenset({401, 403, 404, 405})
"""The statuses of an endpoint that does not want a message, or that is misconfigured."""
OFTEN = 5
"""This many failures in a row, while others are accepted, are about the event type."""


class _Result(NamedTuple):
    """The answer to a request, and the event type and message of the request."""

    at: float
    is_success: bool
    status: int | None
    event_type: str
    message: str
    request: int


def retries_of_unwanted_types(facts: Facts, endpoint: str) -> frozenset[int]:
    """Return the requests that say nothing about an endpoint: it does not want their event type.

    It refused the type before, or failed at it several times, and accepted another one since and
    lately, but never this one. Such a delivery is retried by its policy, as often as that allows.
    """
    known = facts.unwanted.get(endpoint)
    if known is None:
        known = facts.unwanted[endpoint] = _find(facts, endpoint)
    return known


def _find(facts: Facts, endpoint: str) -> frozenset[int]:
    results = _results(facts, endpoint)
    accepted = [result for result in results if result.is_success]
    if not accepted:
        return frozenset()
    unwanted: defaultdict[str, list[int]] = defaultdict(list)
    for result in results:
        if result.is_success or not _fails_as_before(results, accepted, result):
            continue
        at = result.at
        before = [other for other in accepted if other.at <= at]
        lately = any(at - LATELY < other.at for other in before)
        if lately and all(other.event_type != result.event_type for other in before):
            unwanted[result.message].append(result.request)
    allowed = attempts_allowed(facts, endpoint)
    return frozenset(
        number
        for numbers in unwanted.values()
        for place, number in enumerate(numbers)
        if place < allowed
    )


def _results(facts: Facts, endpoint: str) -> list[_Result]:
    """Return the answered requests of an endpoint, in the order in which they began."""
    return [
        _Result(
            answer.at,
            answer.is_success,
            answer.status,
            facts.event_type(request),
            request.message,
            request.request,
        )
        for request in facts.at_endpoint[endpoint]
        if (answer := facts.answers.get(request.request)) is not None
    ]


def _fails_as_before(results: list[_Result], accepted: list[_Result], failed: _Result) -> bool:
    """Whether a request failed like others of its event type, while other types are accepted."""
    at, event_type = failed.at, failed.event_type
    failed_at = [
        other.at
        for other in results
        if other.at < at and other.event_type == event_type and not other.is_success
    ]
    if len(failed_at) < (1 if failed.status in REFUSALS else OFTEN):
        return False
    first = min(failed_at)
    return any(first < other.at < at for other in accepted)
