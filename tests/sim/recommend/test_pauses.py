from itertools import accumulate

import numpy as np
import pytest

from tarry.core.backoff import Backoff, Exponential, Fixed
from tarry.core.jitter import Equal, Full, Jitter, NoJitter, Percent, Smooth
from tarry.core.policy import Policy
from tarry.sim.backlog.due_times import DueTimes
from tarry.sim.chance import Chance
from tarry.sim.recommend.pauses import pauses


@pytest.mark.parametrize(
    ("jitter", "mean", "spread"),
    [
        (NoJitter(), 40, 0),
        (Full(), 20, 40 / 12**0.5),
        (Equal(), 30, 20 / 12**0.5),
        (Percent(0.5), 40, 40 / 12**0.5),
    ],
)
@pytest.mark.parametrize("backoff", [Fixed(40), Exponential(base=1, cap=40)])
def test_simple_jitters_have_their_closed_forms(
    backoff: Backoff, jitter: Jitter, mean: float, spread: float
) -> None:
    found = pauses(Policy(backoff=backoff, jitter=jitter))
    assert found.mean == pytest.approx(mean)
    assert found.spread == pytest.approx(spread, rel=0.02)


def test_smooth_jitter_waits_as_long_as_a_crowd_does() -> None:
    policy = Policy(
        backoff=Exponential(base=1, cap=40), jitter=Smooth(), attempts=None, within=None
    )
    crowd = DueTimes(policy, np.zeros(2000), Chance(5).stream("jitter"))
    everybody = np.arange(2000)
    for _ in range(70):
        crowd.fail(everybody, crowd.due.copy())
    before = crowd.due.mean()
    for _ in range(30):
        crowd.fail(everybody, crowd.due.copy())
    assert pauses(policy).mean == pytest.approx((crowd.due.mean() - before) / 30, rel=0.01)


@pytest.mark.parametrize(
    ("backoff", "rising"),
    [(Fixed(3), 0), (Exponential(base=1, cap=40), 6), (Exponential(base=1, cap=1e9), 30)],
)
def test_the_waits_that_rise_are_counted(backoff: Backoff, rising: int) -> None:
    assert pauses(Policy(backoff=backoff, jitter=NoJitter())).rising == rising
    totals = list(accumulate(backoff.curve(number) for number in range(1, rising + 2)))
    assert totals[-1] >= backoff.ceiling
