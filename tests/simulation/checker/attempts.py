"""A delivery gets no more attempts than its policy allows."""

import math
from collections.abc import Iterator

from tests.simulation.checker.facts import LATELY, Facts, Violation
from tests.simulation.checker.policies import attempts_allowed
from tests.simulation.log import Answered, Requested

OPENS_AFTER = 5
"""This many failures in a row count as the endpoint's."""
THROTTLED = 429
"""The status of an endpoint that accepts nothing for now. It is never the delivery's failure."""
UNCOUNTED = 8
"""How many failures of one delivery may not count although its endpoint is not down: an event type
that only fails can look like an outage. Then earlier attempts are given back, it is sent as a probe
a few times, and three failures after that are put down to the pace."""


def _takes_others(facts: Facts, request: Requested) -> bool:
    """Whether the endpoint has recently accepted another message."""
    return any(
        answer.is_success and request.at - LATELY < answer.at < request.at
        for _, answer in _answered(facts, request.endpoint)
    )


def _overloaded(facts: Facts, endpoint: str) -> frozenset[int]:
    """Return the failed requests in a row of failures so long that the endpoint has opened.

    A row of an event type that the endpoint never accepted before is about the type.
    """
    answered = sorted(
        ((answer.at, request) for request, answer in _answered(facts, endpoint)),
        key=lambda pair: pair[0],
    )
    accepted: set[str] = set()
    row: list[int] = []
    found: set[int] = set()
    for _, request in answered:
        if facts.answers[request.request].is_success:
            accepted.add(facts.event_type(request))
            row = []
        elif facts.event_type(request) in accepted:
            row.append(request.request)
            found.update(row if len(row) >= OPENS_AFTER else ())
    return frozenset(found)


def _answered(facts: Facts, endpoint: str) -> Iterator[tuple[Requested, Answered]]:
    for request in facts.at_endpoint[endpoint]:
        answer = facts.answers.get(request.request)
        if answer is not None:
            yield request, answer


def attempts(facts: Facts) -> Iterator[Violation]:
    """Check how many attempts were counted, and how many were made."""
    for (message, endpoint), delivery in facts.ending.deliveries.items():
        allowed = attempts_allowed(facts, endpoint)
        if delivery.attempts > allowed:
            text = f"{message} to {endpoint}: {delivery.attempts} attempts, {allowed:g} are allowed"
            yield Violation(facts.ending.at, "too many attempts", text)
    overloaded = {endpoint: _overloaded(facts, endpoint) for endpoint in facts.at_endpoint}
    for (message, endpoint), requests in facts.requests.items():
        if any(change.endpoint.fifo for change in facts.changes[endpoint]):
            continue  # an ordered endpoint gets no others before this one
        wishes = [one.at for one in facts.asked if one.endpoint == endpoint]
        asked_at = min(wishes, default=math.inf)  # a person may ask for more attempts
        failed = [
            request
            for request in requests
            if not request.is_down
            and request.at < asked_at
            and request.request in facts.answers
            and not facts.answers[request.request].is_success
            and facts.answers[request.request].status != THROTTLED
            and request.request not in overloaded[endpoint]
            and _takes_others(facts, request)
        ]
        allowed = attempts_allowed(facts, endpoint) + UNCOUNTED
        if len(failed) > allowed:
            text = f"{message} to {endpoint} failed {len(failed)} times while it took others"
            yield Violation(failed[-1].at, "too many attempts", text)
