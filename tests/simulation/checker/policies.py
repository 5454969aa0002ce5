"""The limits of an endpoint's policies, as far as the rules need them."""

import math
from functools import lru_cache

from tarry.core.policy import Policy
from tarry.service.model.policy import read_policy
from tarry.service.model.settings import DELIVERY
from tarry.service.wire.exchange import TIMEOUT
from tests.simulation.checker.facts import Facts


def attempts_allowed(facts: Facts, endpoint: str, *, least: bool = False) -> float:
    """Return the most attempts, or the least, that any policy of an endpoint has allowed."""
    allowed = [policy.attempts or math.inf for policy in _policies(facts, endpoint)]
    return min(allowed) if least else max(allowed)


def longest_timeout(facts: Facts, endpoint: str) -> float:
    """Return how long a request to an endpoint may take at the most, by any of its policies."""
    return max(policy.attempt_timeout or TIMEOUT for policy in _policies(facts, endpoint))


def oldest_allowed(facts: Facts, endpoint: str) -> float:
    """Return after how many seconds a delivery is too old, by the strictest of the policies."""
    return min(policy.within or math.inf for policy in _policies(facts, endpoint))


def shortest_wait(facts: Facts, endpoint: str) -> float:
    """Return the shortest wait before a first retry that any policy of an endpoint can draw."""
    return min(policy.wait(1, None, 0.0)[0] for policy in _policies(facts, endpoint))


def _policies(facts: Facts, endpoint: str) -> list[Policy]:
    documents = [change.endpoint.policy for change in facts.changes[endpoint]]
    return [DELIVERY if document is None else _read(document) for document in documents or [None]]


@lru_cache(100)
def _read(document: str) -> Policy:
    return read_policy(document)
