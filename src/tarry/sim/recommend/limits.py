"""The limits of a recommended policy: it must survive an outage twice as long as this one."""

import math

from tarry.core.policy import Policy
from tarry.sim.recommend.pauses import pauses

MARGIN = 2.0
"""The limits outlast an outage with its recovery that is this many times as long."""
UNLUCKY = 6.0
"""Standard deviations: of a million clients, hardly one makes more attempts."""
SPARE_ATTEMPTS = 8
DIGITS = 2


def limited(policy: Policy, *, outage: float, recovery: float) -> Policy:
    """Return the policy with `attempts` and `within` set, both rounded up."""
    within = upward(MARGIN * (outage + recovery))
    between = pauses(policy)
    many = within / between.mean
    chance = UNLUCKY * between.spread / between.mean * math.sqrt(many)
    attempts = upward(between.rising + many + chance + SPARE_ATTEMPTS)
    return policy.replace(within=within, attempts=math.ceil(attempts))


def upward(number: float, digits: int = DIGITS) -> float:
    """Round up to `digits` significant digits.

    >>> upward(1234.5), upward(0.0101)
    (1300.0, 0.011)
    """
    step = digits - 1 - math.floor(math.log10(number))
    lifted = math.ceil(round(number * 10.0**step, 9))
    return float(f"{lifted}e{-step}")
