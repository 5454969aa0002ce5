"""Estimate how many attempts a policy makes, to refuse a run that would not end."""

from tarry.core.jitter import Decorrelated
from tarry.core.policy import Policy

MOST_ATTEMPTS = 10**9
"""The search stops at this number."""
PART = 1 / 2
"""The smallest share of the curve that jitter waits on average."""
DECORRELATED_PART = 1 / 6
"""The same for decorrelated jitter, which returns to short waits again and again."""


def most_attempts(policy: Policy, seconds: float, *, took: float = 0.0) -> int:
    """Estimate the most attempts that a call makes in this time if all of them fail.

    An attempt takes `took` seconds.
    """
    part = DECORRELATED_PART if isinstance(policy.jitter, Decorrelated) else PART
    left = seconds if policy.within is None else min(policy.within, seconds)
    low, high = 1, MOST_ATTEMPTS if policy.attempts is None else min(policy.attempts, MOST_ATTEMPTS)
    while low < high:
        middle = (low + high + 1) // 2
        waits = middle - 1
        if policy.backoff.total(waits) * part + took * waits <= left:
            low = middle
        else:
            high = middle - 1
    return low
