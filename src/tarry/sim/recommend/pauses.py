"""How long a client waits between attempts once its waits have stopped growing."""

from functools import lru_cache
from itertools import islice
from statistics import fmean, pstdev
from typing import NamedTuple

from tarry.core.policy import Policy, waits
from tarry.sim.chance import Chance

RISING = 64
"""After this many attempts, any exponential backoff has reached its cap."""
WAITS = 4000


class Pauses(NamedTuple):
    """Mean and standard deviation of the waits, and how many shorter waits come before them."""

    mean: float
    spread: float
    rising: int


@lru_cache
def pauses(policy: Policy) -> Pauses:
    """Measure the waits of two clients that retry for a long time.

    >>> from tarry.core.backoff import Fixed
    >>> from tarry.core.jitter import Full
    >>> round(pauses(Policy(backoff=Fixed(10), jitter=Full())).mean, 6)
    5.0
    """
    backoff = policy.backoff
    rising = next(
        (number for number in range(RISING) if backoff.curve(number + 1) >= backoff.ceiling), RISING
    )
    draw = Chance(0).draws("pauses")
    draws = [draw() for _ in range(RISING + WAITS)]
    mirrored = [1 - draw for draw in draws]  # when one client is early, the other is late
    taken = [
        wait for side in (draws, mirrored) for wait in islice(waits(policy, side), RISING, None)
    ]
    return Pauses(fmean(taken), pstdev(taken), rising)
