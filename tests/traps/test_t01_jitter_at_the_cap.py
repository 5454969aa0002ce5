"""T1: clamping after jitter destroys the jitter.

Elsewhere 24 % to 100 % of the waits are exactly the cap once the curve has reached it.
"""

from collections import Counter
from itertools import islice
from random import Random

import pytest

from tarry import (
    Decorrelated,
    Equal,
    Exponential,
    Fibonacci,
    Fixed,
    Full,
    Linear,
    Percent,
    Policy,
    Schedule,
    Smooth,
)
from tarry.core.backoff import Backoff
from tarry.core.jitter import Jitter

DRAWS = 2_000
ATTEMPTS = 16
CAP = 10.0
BACKOFFS: list[Backoff] = [
    Exponential(base=0.1, cap=CAP),
    Exponential(base=1, cap=CAP),
    Linear(step=3, cap=CAP),
    Fibonacci(base=1, cap=CAP),
    Fixed(CAP),
    Schedule([1, 2, CAP]),
]
JITTERS: list[Jitter] = [Full(), Equal(), Percent(0.2), Decorrelated(), Smooth()]


@pytest.mark.slow
@pytest.mark.parametrize("backoff", BACKOFFS, ids=repr)
@pytest.mark.parametrize("jitter", JITTERS, ids=repr)
def test_no_wait_carries_mass_and_none_is_above_the_cap(backoff: Backoff, jitter: Jitter) -> None:
    policy = Policy(backoff=backoff, jitter=jitter)
    most = CAP * 1.2 if isinstance(jitter, Percent) else CAP  # around the capped curve
    clients = [list(islice(policy.waits(seed=client), ATTEMPTS)) for client in range(DRAWS)]
    for attempt, waits in enumerate(zip(*clients, strict=True), start=1):
        value, times = Counter(waits).most_common(1)[0]
        assert times <= 2, f"{times} of {DRAWS} wait {value} s after attempt {attempt}"
        assert max(waits) <= most
        assert min(waits) >= 0


@pytest.mark.parametrize("jitter", JITTERS, ids=repr)
@pytest.mark.parametrize("attempt", [50, 1_000, 10_000])
def test_the_jitter_survives_however_late_the_attempt(jitter: Jitter, attempt: int) -> None:
    policy = Policy(backoff=Exponential(base=0.1, cap=CAP), jitter=jitter)
    chance = Random(7)
    waits = [policy.wait(attempt, None, chance.random())[0] for _ in range(DRAWS)]
    assert len(set(waits)) >= DRAWS - 2
    assert sum(wait == CAP for wait in waits) <= 1


def test_the_form_that_piles_up_is_there_for_comparison_only() -> None:
    """The published AWS formula: the trap itself, and what the test above would find."""
    policy = Policy(backoff=Exponential(base=0.1, cap=CAP), jitter=Decorrelated(clamp="outside"))
    twelfth = [list(islice(policy.waits(seed=client), 12))[11] for client in range(DRAWS)]
    assert 0.15 < sum(wait == CAP for wait in twelfth) / DRAWS < 0.35
