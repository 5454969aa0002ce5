"""Every duplicate has a cause: a fault, a lost answer, or a person's request."""

from collections.abc import Iterator
from itertools import pairwise

from tests.simulation.checker.facts import Facts, Place, Violation
from tests.simulation.log import Requested


def duplicates(facts: Facts) -> Iterator[Violation]:
    """Check each request for a message that was requested at the same endpoint before."""
    for place, requests in facts.requests.items():
        resends = sum(
            one.wish == "resend" and (one.message, one.endpoint) == place for one in facts.asked
        )
        unexplained = list(_unexplained(facts, place, requests))
        # A resend is one more request at any time; which one it was does not show.
        yield from unexplained[2 * resends :]


def _unexplained(facts: Facts, place: Place, requests: list[Requested]) -> Iterator[Violation]:
    _, endpoint = place
    for first, second in pairwise(requests):
        answer = facts.answers.get(first.request)
        is_open = answer is None or answer.at > second.at
        if answer is not None and not is_open and not answer.is_success:
            continue  # a retry
        wishes = facts.asked_between(first.at, second.at, endpoint=endpoint)
        if any(one.wish == "replayed" for one in wishes):
            continue
        if facts.fault_between(first.at, second.at, worker=first.worker) is not None:
            continue
        if facts.poisoned_between(first.at, second.at, message=first.message):
            continue
        what = "while the first was on its way" if is_open else "although it was taken"
        text = (
            f"{first.message} to {endpoint} was requested at {first.at:.3f} by {first.worker},"
            f" and again by {second.worker} {what}"
        )
        yield Violation(second.at, "unexplained duplicate", text)
