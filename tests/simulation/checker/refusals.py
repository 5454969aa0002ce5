"""Refusals and failures that are about an event type, and say nothing about the endpoint."""

from collections import defaultdict

from tests.simulation.checker.facts import LATELY, Facts
from tests.simulation.checker.policies import attempts_allowed
from tests.simulation.log import Requested

REFUSALS = frozenset({401, 403, 404, 405})
"""The statuses of an endpoint that does not want a message, or that is misconfigured."""
OFTEN = 5
"""This many failures in a row, while others are accepted, are about the event type."""


def retries_of_unwanted_types(facts: Facts, endpoint: str) -> frozenset[int]:
    """Return the requests that say nothing about an endpoint: it does not want their event type.

    It refused the type before, or failed at it several times, and accepted another one since and
    lately, but never this one. Such a delivery is retried by its policy, as often as that allows.
    """
    requests = facts.at_endpoint[endpoint]
    accepted = [
        (answer.at, facts.event_type(request))
        for request in requests
        if (answer := facts.answers.get(request.request)) is not None and answer.is_success
    ]
    unwanted: defaultdict[str, list[int]] = defaultdict(list)
    for request in requests:
        if not _fails_as_before(facts, requests, request):
            continue
        at = facts.answers[request.request].at
        types = {event_type for accepted_at, event_type in accepted if accepted_at <= at}
        lately = any(at - LATELY < accepted_at <= at for accepted_at, _ in accepted)
        if lately and facts.event_type(request) not in types:
            unwanted[request.message].append(request.request)
    allowed = attempts_allowed(facts, endpoint)
    return frozenset(
        number
        for numbers in unwanted.values()
        for place, number in enumerate(numbers)
        if place < allowed
    )


def _fails_as_before(facts: Facts, requests: list[Requested], request: Requested) -> bool:
    """Whether a request failed like others of its event type, while other types are accepted."""
    ended = facts.answers.get(request.request)
    if ended is None or ended.is_success:
        return False
    event_type = facts.event_type(request)
    failed_at: list[float] = []
    taken_at: list[float] = []
    for other in requests:
        answer = facts.answers.get(other.request)
        if answer is None or answer.at >= ended.at:
            continue
        if answer.is_success:
            taken_at.append(answer.at)
        elif facts.event_type(other) == event_type:
            failed_at.append(answer.at)
    enough = 1 if ended.status in REFUSALS else OFTEN
    return len(failed_at) >= enough and max(taken_at, default=0.0) > min(failed_at)
