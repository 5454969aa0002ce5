"""T6: overflow.

Elsewhere the 1025th draw of an exponential wait raises OverflowError in place of the user's error,
or a wait of 4.6e18 s comes out.
"""

import math
import sys
from itertools import islice

import pytest

from tarry import (
    Decorrelated,
    Equal,
    Exponential,
    Fibonacci,
    Full,
    Linear,
    NoJitter,
    Percent,
    Policy,
    Smooth,
)
from tarry.core.backoff import Backoff
from tarry.core.jitter import Jitter

JITTERS: list[Jitter] = [NoJitter(), Full(), Equal(), Percent(1.0), Decorrelated(), Smooth()]
STEEP: list[Backoff] = [
    Exponential(base=1, cap=1e9),
    Exponential(base=1e-300, factor=1e300, cap=1e9),
    Fibonacci(base=1e9, cap=1e9),
    Linear(step=1e9, cap=1e9),
]


@pytest.mark.parametrize("backoff", STEEP, ids=repr)
@pytest.mark.parametrize("jitter", JITTERS, ids=repr)
def test_no_draw_overflows(backoff: Backoff, jitter: Jitter) -> None:
    waits = list(islice(Policy(backoff=backoff, jitter=jitter).waits(seed=1), 3_000))
    assert all(0 <= wait <= 2e9 for wait in waits)


@pytest.mark.parametrize("attempt", [1_025, 10**6, 10**9, sys.maxsize])
@pytest.mark.parametrize("jitter", JITTERS, ids=repr)
def test_no_attempt_is_too_late(attempt: int, jitter: Jitter) -> None:
    policy = Policy(backoff=Exponential(base=0.1, cap=10), jitter=jitter)
    for draw in (0.0, 0.5, math.nextafter(1, 0)):
        assert 0 <= policy.wait(attempt, None, draw)[0] <= 20


def test_the_users_error_comes_out_of_a_very_long_effort(slept: list[float]) -> None:
    error = KeyError("mine")
    tries: list[int] = []

    def fails() -> None:
        tries.append(1)
        raise error

    with pytest.raises(KeyError) as caught:
        Policy(attempts=2_000, within=None).call(fails, on=KeyError)
    assert caught.value is error
    assert len(tries) == 2_000
    assert len(slept) == 1_999
