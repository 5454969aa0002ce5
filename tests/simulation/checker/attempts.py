"""A delivery gets no more attempts than its policy allows."""

from collections.abc import Iterator

from tests.simulation.checker.facts import Facts, Violation
from tests.simulation.checker.policies import attempts_allowed


def attempts(facts: Facts) -> Iterator[Violation]:
    """Check how many attempts are counted for every delivery."""
    for (message, endpoint), delivery in facts.ending.deliveries.items():
        allowed = attempts_allowed(facts, endpoint)
        if delivery.attempts > allowed:
            text = f"{message} to {endpoint}: {delivery.attempts} attempts, {allowed:g} are allowed"
            yield Violation(facts.ending.at, "too many attempts", text)
