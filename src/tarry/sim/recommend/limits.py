"""When a recommended policy may give up: not in this outage, nor in one twice as long."""

import math

from tarry.core.policy import Policy
from tarry.sim.recommend.pauses import pauses

MARGIN = 2.0
"""How many times as long an outage, and the recovery from it, the limits outlast."""
UNLUCKY = 6.0
"""Standard deviations: among a million clients hardly one makes more attempts."""
SPARE_ATTEMPTS = 8
DIGITS = 2


def limited(policy: Policy, *, outage: float, recovery: float) -> Policy:
    """The policy with `attempts` and `within` set, both rounded up."""
    within = upward(MARGIN * (outage + recovery))
    between = pauses(policy)
    many = within / between.mean
    chance = UNLUCKY * between.spread / between.mean * math.sqrt(many)
    attempts = upward(between.rising + many + chance + SPARE_ATTEMPTS)
    return policy.replace(within=within, attempts=math.ceil(attempts))


def upward(number: float, digits: int = DIGITS) -> float:
    """Round up to so many digits.

    >>> upward(1234.5), upward(0.0101)
    (1300.0, 0.011)
    """
    step = digits - 1 - math.floor(math.log10(number))
    lifted = math.ceil(round(number * 10.0**step, 9))
    return float(f"{lifted}e{-step}")
