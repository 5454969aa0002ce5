"""A slowdown of 20 s to a tenth, a line served in order, clients that wait for a second.

With three retries the server never comes back from it; without, it does as the fluid law says.
"""

import math
from collections.abc import Mapping
from statistics import fmean
from typing import Any

import pytest

from tarry.core.backoff import Exponential
from tarry.core.budget import QuotaRule, RatioRule
from tarry.core.jitter import Full, NoJitter
from tarry.core.policy import Policy
from tarry.sim.chance import Chance
from tarry.sim.fluid import drain_time
from tarry.sim.run import Contestant
from tarry.sim.server.model import Server

FOUR = Policy(attempts=4, within=None)
ONCE = Contestant("no retries", FOUR.replace(attempts=1))
RETRIES = Contestant("3 retries", FOUR)


def metrics(server: Server, contestant: Contestant, seed: int = 1) -> Mapping[str, float | None]:
    return server.simulate(contestant, Chance(seed)).metrics


def slowed(load: float, **changes: Any) -> Server:  # noqa: ANN401  any setting
    """A hundred attempts a second, of which a tenth for 20 s; clients wait for a second."""
    return Server(load=load, timeout=1, slowdown=20, **changes)


def recoveries(server: Server, contestant: Contestant, seeds: range) -> list[float | None]:
    return [metrics(server, contestant, seed)["recovery"] for seed in seeds]


def mean_recovery(server: Server, contestant: Contestant, seeds: range) -> float:
    return fmean(
        math.inf if found is None else found for found in recoveries(server, contestant, seeds)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "seconds"), [(0.5, 16.0), (0.7, 40.0), (0.85, 100.0), (0.9, 160.0)]
)
def test_a_backlog_drains_as_the_fluid_law_says(load: float, seconds: float) -> None:
    """Drained is when the line is empty, seen each second; back is a little before."""
    assert drain_time(load, 0) == pytest.approx(seconds)
    drained, recovered = [], []
    for seed in range(1, 9):
        run = slowed(load).simulate(ONCE, Chance(seed))
        line, recovery = run.curves["queue"], run.metrics["recovery"]
        after = (line.seconds > 40) & (line.values == 0)
        drained.append(float(line.seconds[after][0] - 40))
        recovered.append(math.inf if recovery is None else recovery)
    assert fmean(drained) == pytest.approx(seconds, rel=0.2)
    assert fmean(recovered) == pytest.approx(seconds, rel=0.2)


SLOW = Exponential(1, cap=20)


@pytest.mark.slow
@pytest.mark.parametrize(
    "policy",
    [
        FOUR,
        FOUR.replace(jitter=NoJitter()),
        FOUR.replace(jitter=Full()),
        FOUR.replace(backoff=SLOW),
    ],
    ids=["smooth", "none", "full", "slow"],
)
@pytest.mark.parametrize(("load", "watch"), [(0.3, 360), (0.5, 200), (0.7, 200), (0.85, 200)])
def test_three_retries_keep_a_server_down_whatever_the_jitter(
    policy: Policy, load: float, watch: float
) -> None:
    found = metrics(slowed(load, watch=watch), Contestant("", policy), seed=int(10 * load))
    assert found["recovery"] is None
    assert found["goodput"] == pytest.approx(0, abs=0.001)
    assert found["amplification"] == pytest.approx(4, abs=0.15)
    assert found["wasted"] == pytest.approx(1, abs=0.02)


@pytest.mark.slow
def test_below_a_quarter_of_the_capacity_three_retries_do_no_lasting_harm() -> None:
    assert 40 < mean_recovery(slowed(0.2), RETRIES, range(1, 5)) < 70
    assert mean_recovery(slowed(0.2), ONCE, range(1, 5)) < 2.5


@pytest.mark.slow
def test_with_a_quota_a_server_is_back_nearly_as_soon_as_without_retries() -> None:
    seeds = range(1, 11)
    quota = Contestant("quota", FOUR, QuotaRule())
    assert mean_recovery(slowed(0.85), quota, seeds) <= 1.25 * mean_recovery(
        slowed(0.85), ONCE, seeds
    )


@pytest.mark.slow
def test_a_ratio_lets_a_server_come_back_late_or_at_high_load_not_at_all() -> None:
    tenth, fifth = (Contestant("", FOUR, RatioRule(share)) for share in (0.1, 0.2))
    seeds = range(1, 3)
    assert 14 < mean_recovery(slowed(0.5), tenth, seeds) < 22
    assert 18 < mean_recovery(slowed(0.5), fifth, seeds) < 28
    assert 40 < mean_recovery(slowed(0.7), tenth, seeds) < 80
    assert recoveries(slowed(0.85), fifth, seeds) == [None, None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cure", "latest"),
    [
        ({"discipline": "lifo"}, 2.0),
        ({"queue": 50}, 0.5),  # half a second of work
        ({"discipline": "feasible"}, 0.5),
        ({"discipline": "codel"}, 2.0),
        ({"cancels": True}, 2.0),
    ],
    ids=["lifo", "short queue", "feasible", "codel", "cancels"],
)
@pytest.mark.parametrize("load", [0.5, 0.85])
def test_a_server_that_does_no_work_in_vain_is_back_at_once(
    cure: dict[str, Any], latest: float, load: float
) -> None:
    found = metrics(slowed(load, watch=60, **cure), RETRIES)
    assert found["recovery"] is not None
    assert found["recovery"] <= latest
    assert (found["goodput"] or 0) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("fault", [{"queue": 500}, {"discipline": "deadline"}])
def test_a_long_queue_or_a_check_that_comes_too_late_is_no_cure(fault: dict[str, Any]) -> None:
    found = metrics(slowed(0.7, watch=200, **fault), RETRIES)
    assert found["recovery"] is None
    assert found["wasted"] == pytest.approx(1, abs=0.02)
