"""A delivery gets no more attempts than its policy allows."""

import math
from collections.abc import Iterator

from tests.simulation.checker.facts import Facts, Violation
from tests.simulation.checker.policies import attempts_allowed

UNCOUNTED = 6
"""How many failures of one delivery may be put down to the endpoint while it is not down at all."""


def attempts(facts: Facts) -> Iterator[Violation]:
    """Check how many attempts were counted, and how many were made."""
    for (message, endpoint), delivery in facts.ending.deliveries.items():
        allowed = attempts_allowed(facts, endpoint)
        if delivery.attempts > allowed:
            text = f"{message} to {endpoint}: {delivery.attempts} attempts, {allowed:g} are allowed"
            yield Violation(facts.ending.at, "too many attempts", text)
    for (message, endpoint), requests in facts.requests.items():
        wishes = [one.at for one in facts.asked if one.endpoint == endpoint]
        asked_at = min(wishes, default=math.inf)  # a person may ask for more attempts
        failed = [
            request
            for request in requests
            if not request.is_down
            and request.at < asked_at
            and request.request in facts.answers
            and not facts.answers[request.request].is_success
        ]
        allowed = attempts_allowed(facts, endpoint) + UNCOUNTED
        if len(failed) > allowed:
            text = f"{message} to {endpoint} failed {len(failed)} times while it took others"
            yield Violation(failed[-1].at, "too many attempts", text)
