"""How long a client waits between attempts once its waits have stopped to rise."""

from functools import lru_cache
from itertools import islice
from statistics import fmean, pstdev
from typing import NamedTuple

from tarry.core.policy import Policy, waits
from tarry.sim.chance import Chance

RISING = 64
"""After so many attempts any exponential backoff is at its cap."""
WAITS = 4000


class Pauses(NamedTuple):
    """Mean and standard deviation of the waits, and how many shorter ones come before."""

    mean: float
    spread: float
    rising: int


@lru_cache
def pauses(policy: Policy) -> Pauses:
    """Take the waits of two clients that go on for long.

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
    mirrored = [1 - draw for draw in draws]  # what one client was early, the other is late
    taken = [
        wait for side in (draws, mirrored) for wait in islice(waits(policy, side), RISING, None)
    ]
    return Pauses(fmean(taken), pstdev(taken), rising)
