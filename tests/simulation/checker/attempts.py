"""A delivery gets no more attempts than its policy allows."""

import math
from collections.abc import Iterator

from tests.simulation.checker.facts import LATELY, Facts, Violation
from tests.simulation.checker.policies import attempts_allowed
from tests.simulation.log import Requested

UNCOUNTED = 6
"""How many failures of one delivery may be put down to the endpoint while it is not down at all."""


def _takes_others(facts: Facts, request: Requested) -> bool:
    """Whether the endpoint has lately taken another message."""
    return any(
        answer.is_success and request.at - LATELY < answer.at < request.at
        for other in facts.at_endpoint[request.endpoint]
        if (answer := facts.answers.get(other.request)) is not None
    )


def attempts(facts: Facts) -> Iterator[Violation]:
    """Check how many attempts were counted, and how many were made."""
    for (message, endpoint), delivery in facts.ending.deliveries.items():
        allowed = attempts_allowed(facts, endpoint)
        if delivery.attempts > allowed:
            text = f"{message} to {endpoint}: {delivery.attempts} attempts, {allowed:g} are allowed"
            yield Violation(facts.ending.at, "too many attempts", text)
    for (message, endpoint), requests in facts.requests.items():
        if any(change.endpoint.fifo for change in facts.changes[endpoint]):
            continue  # an ordered endpoint takes no others before this one
        wishes = [one.at for one in facts.asked if one.endpoint == endpoint]
        asked_at = min(wishes, default=math.inf)  # a person may ask for more attempts
        failed = [
            request
            for request in requests
            if not request.is_down
            and request.at < asked_at
            and _takes_others(facts, request)
            and request.request in facts.answers
            and not facts.answers[request.request].is_success
        ]
        allowed = attempts_allowed(facts, endpoint) + UNCOUNTED
        if len(failed) > allowed:
            text = f"{message} to {endpoint} failed {len(failed)} times while it took others"
            yield Violation(failed[-1].at, "too many attempts", text)
