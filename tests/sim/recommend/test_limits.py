import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.backoff import Backoff, Exponential, Fixed
from tarry.core.jitter import Equal, Full, Jitter, Percent, Smooth
from tarry.core.policy import Policy
from tarry.sim.backlog.model import Backlog
from tarry.sim.chance import Chance
from tarry.sim.recommend.limits import limited, upward
from tarry.sim.run import Contestant


@pytest.mark.parametrize(
    ("number", "rounded"),
    [(1234.5, 1300), (1300, 1300), (1301, 1400), (0.0101, 0.011), (9.91, 10), (7, 7), (1, 1)],
)
def test_numbers_are_rounded_up_to_two_digits(number: float, rounded: float) -> None:
    assert upward(number) == rounded


@given(st.floats(1e-3, 1e9), st.integers(1, 5))
def test_rounding_up_never_takes_away_and_adds_little(number: float, digits: int) -> None:
    rounded = upward(number, digits)
    assert number * (1 - 1e-8) <= rounded <= number * (1 + 10.0 ** (1 - digits) + 1e-8)


@pytest.mark.parametrize("jitter", [Full(), Equal(), Smooth(), Percent(0.5)])
@pytest.mark.parametrize("backoff", [Fixed(30), Exponential(base=1, cap=30)])
def test_nobody_is_lost_in_an_outage_twice_as_long(backoff: Backoff, jitter: Jitter) -> None:
    policy = Policy(backoff=backoff, jitter=jitter)
    outage = 200.0
    backlog = Backlog(waiting=5000, capacity=1000, outage=2 * outage, endpoint="shed")
    found = limited(policy, outage=outage, recovery=40)
    assert found.within == 480
    run = backlog.simulate(Contestant("limited", found), Chance(3))
    assert run.metrics["lost"] == 0
    assert run.metrics["recovery"] is not None


def test_the_limits_do_end_it() -> None:
    policy = limited(Policy(backoff=Fixed(10), jitter=Equal()), outage=100, recovery=20)
    assert policy.within == 240
    assert policy.attempts is not None
    assert 240 / 7.5 < policy.attempts < 2 * 240 / 7.5
