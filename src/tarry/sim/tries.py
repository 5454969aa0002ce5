"""How many attempts a policy comes to, told before they are made: a run has to end."""

from tarry.core.jitter import Decorrelated
from tarry.core.policy import Policy

MOST_TRIES = 10**9
"""Nobody needs to know of more."""
PART = 1 / 2
"""What jitter leaves of the curve on average, at the least."""
DECORRELATED_PART = 1 / 6
"""Decorrelated jitter falls back to short waits again and again."""


def most_tries(policy: Policy, seconds: float, *, took: float = 0.0) -> int:
    """How many attempts a call can be expected to make at most in this time, if all of them fail.

    An attempt takes `took` seconds.
    """
    part = DECORRELATED_PART if isinstance(policy.jitter, Decorrelated) else PART
    left = seconds if policy.within is None else min(policy.within, seconds)
    low, high = 1, MOST_TRIES if policy.attempts is None else min(policy.attempts, MOST_TRIES)
    while low < high:
        middle = (low + high + 1) // 2
        waits = middle - 1
        if policy.backoff.total(waits) * part + took * waits <= left:
            low = middle
        else:
            high = middle - 1
    return low
