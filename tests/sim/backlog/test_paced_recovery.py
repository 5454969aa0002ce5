"""What the pacer promises, measured: how soon a backlog is gone, and how gently.

Ratios and peaks are means over the runs of a case, each run with its own seed; what must hold in
every run is held to the worst of them. A peak is the most attempts in any second, to the capacity.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from tarry.core.pace import Pace, PacerRule, Phase
from tarry.core.probe import JITTER, interval
from tarry.sim.backlog.endpoint import MANNERS, Manner
from tarry.sim.backlog.lane import simulate
from tarry.sim.backlog.model import Backlog
from tarry.sim.chance import Chance
from tarry.sim.estimate import Estimate, estimate
from tarry.sim.run import Contestant

pytestmark = pytest.mark.slow

RULE = PacerRule()
PACED = Contestant("paced", None)
RUNS = 10
MORE_RUNS = 20
"""For what differs much from run to run."""
HEADLINE: Mapping[str, Any] = {"waiting": 10_000, "capacity": 200}
HALF_AS_LARGE: Mapping[str, Any] = {"waiting": 5_000, "capacity": 100}
DRIFTING = [[5 * step, 100 - 3 * step] for step in range(15)]


def every_endpoint(usual: Manner) -> pytest.MarkDecorator:
    """Run a test with this kind of endpoint, and with the others in a long run."""
    others = [pytest.param(manner, marks=pytest.mark.long) for manner in MANNERS if manner != usual]
    return pytest.mark.parametrize("endpoint", [usual, *others])


class Case:
    """A backlog, played so many times."""

    def __init__(self, keys: Mapping[str, Any], *, runs: int = RUNS) -> None:
        self.scenario = Backlog(**keys)
        self.runs = [self.scenario.simulate(PACED, Chance(1, run)).metrics for run in range(runs)]

    def all(self, metric: str) -> list[float]:
        """The metric in each run; every run must have one."""
        found = [run[metric] for run in self.runs]
        assert None not in found, f"{metric} is missing in a run"
        return [value for value in found if value is not None]

    def mean(self, metric: str) -> float:
        """The mean over the runs, which must be known to a tenth with 95 % confidence."""
        found: Estimate = estimate(self.all(metric))
        assert found.mean is not None
        assert found.low is not None
        assert found.mean - found.low < 0.1 * found.mean, found
        return found.mean

    def worst(self, metric: str) -> float:
        """The most in any run."""
        return max(self.all(metric))

    @property
    def limit(self) -> float:
        """The time that no one can beat."""
        assert self.scenario.limit is not None
        return self.scenario.limit

    @property
    def detection(self) -> float:
        """The longest time between the last probe of the outage and the one that passes."""
        world = self.scenario
        down = Pace(phase=Phase.OPEN, capacity=world.remembered, down_since=-world.outage)
        return (1 + JITTER) * interval(RULE, down, now=-1.0, waiting=world.waiting)

    @property
    def promised(self) -> float:
        """When the backlog is gone where the capacity is remembered and steady."""
        return self.limit + max(0.1 * self.limit, self.detection / 2 + 2)


# --- How soon -----------------------------------------------------------------------------------


@every_endpoint("shed")
@pytest.mark.parametrize(
    "keys",
    [
        {**HEADLINE, "remembered": 190},
        {"waiting": 2_000, "capacity": 200, "outage": 3_600, "remembered": 190},
    ],
    ids=["10,000 at 200", "2,000 at 200 after an hour"],
)
def test_with_a_remembered_capacity(endpoint: Manner, keys: Mapping[str, Any]) -> None:
    case = Case({"endpoint": endpoint, **keys}, runs=MORE_RUNS)
    assert case.mean("recovery") <= case.promised
    assert case.mean("peak_ratio") <= 1.1
    rate = case.worst("peak_ratio") * case.scenario.capacity.given(0.0)
    assert case.worst("peak_10ms") <= math.ceil(0.01 * rate) + 1
    assert case.mean("attempts_per_delivery_after") <= 1.05


@every_endpoint("brittle")
@pytest.mark.parametrize(
    "keys",
    [HEADLINE, {"waiting": 50_000, "capacity": 1_500}],
    ids=["10,000 at 200", "50,000 at 1,500"],
)
def test_without_memory(endpoint: Manner, keys: Mapping[str, Any]) -> None:
    case = Case({"endpoint": endpoint, **keys})
    assert case.mean("recovery_ratio") <= 1.25
    assert case.mean("peak_ratio") <= 1.5


@every_endpoint("degrade")
@pytest.mark.parametrize(
    "keys",
    [
        {**HEADLINE, "error_rate": 0.1, "remembered": 190},
        {**HALF_AS_LARGE, "capacity": [[0, 100], [25, 50]], "remembered": 95},
        {**HEADLINE, "capacity": [[0, 200], [25, 400]], "remembered": 190},
        {**HALF_AS_LARGE, "cold_start": 30, "remembered": 95},
        {**HALF_AS_LARGE, "capacity": DRIFTING, "remembered": 95},
    ],
    ids=["errors", "halves", "doubles", "cold", "drifts"],
)
def test_with_trouble(endpoint: Manner, keys: Mapping[str, Any]) -> None:
    assert Case({"endpoint": endpoint, **keys}).mean("recovery_ratio") <= 1.3


@every_endpoint("shed")
@pytest.mark.parametrize("remembered", [None, 190], ids=["without memory", "with memory"])
@pytest.mark.parametrize("share", [0.3, 0.5])
def test_with_many_failures_by_chance(
    endpoint: Manner, share: float, remembered: float | None
) -> None:
    keys = {**HEADLINE, "error_rate": share, "remembered": remembered}
    case = Case({"endpoint": endpoint, **keys}, runs=MORE_RUNS)
    assert case.mean("recovery") <= 1.4 * case.limit / (1 - share)  # what the retries need
    assert case.mean("attempts_per_delivery_after") <= 1.4 / (1 - share)


@every_endpoint("brittle")
@pytest.mark.parametrize("remembered", [None, 114], ids=["without memory", "with memory"])
def test_with_little_waiting_after_a_short_outage(
    endpoint: Manner, remembered: float | None
) -> None:
    keys = {"waiting": 3_000, "capacity": 120, "outage": 40, "remembered": remembered}
    assert Case({"endpoint": endpoint, **keys}).mean("recovery_ratio") <= 1.3


@every_endpoint("degrade")
@pytest.mark.parametrize("remembered", [50, 200])
def test_with_a_memory_that_is_wrong(endpoint: Manner, remembered: float) -> None:
    case = Case({**HALF_AS_LARGE, "endpoint": endpoint, "remembered": remembered})
    assert case.mean("recovery_ratio") <= 1.25


@every_endpoint("shed")
def test_with_slow_answers(endpoint: Manner) -> None:
    case = Case({**HALF_AS_LARGE, "endpoint": endpoint, "latency": 1.0, "remembered": 95})
    # A brittle endpoint feels the overload of the second in which its answers are on their way.
    assert case.mean("recovery_ratio") <= (1.5 if endpoint == "brittle" else 1.35)


@every_endpoint("brittle")
def test_with_a_new_owner_every_five_seconds(endpoint: Manner) -> None:
    case = Case({**HEADLINE, "endpoint": endpoint, "handover": 5, "remembered": 190})
    assert case.mean("recovery") <= case.promised
    assert case.mean("peak_ratio") <= 1.1


@every_endpoint("degrade")
def test_with_an_endpoint_that_asks_for_half_a_minute(endpoint: Manner) -> None:
    keys = {**HALF_AS_LARGE, "endpoint": endpoint, "retry_after": 30, "remembered": 95}
    case = Case(keys, runs=MORE_RUNS)
    assert case.mean("recovery") <= case.limit + (1 + JITTER / 2) * 30 / 2 + 0.1 * case.limit
    assert case.worst("attempts_during_outage") <= RULE.failures + 1 + 600 / 30


# --- How gently ---------------------------------------------------------------------------------


@every_endpoint("shed")
def test_the_pace_is_flat_in_hundredths_of_a_second_even_while_it_searches(
    endpoint: Manner,
) -> None:
    world = Backlog(**{**HEADLINE, "endpoint": endpoint})
    for run in range(3):
        times = simulate(world, RULE, Chance(1, run)).attempts
        hundredths = np.bincount((times * 100).astype(np.int64))
        tenths = np.bincount((times * 10).astype(np.int64) + 1, minlength=len(hundredths) // 10 + 3)
        around = np.max([tenths[:-2], tenths[1:-1], tenths[2:]], axis=0)  # a pace may begin between
        assert (hundredths <= np.ceil(np.repeat(around, 10)[: len(hundredths)] / 10) + 1).all()


@pytest.mark.parametrize("remembered", [None, 190], ids=["without memory", "with memory"])
def test_an_endpoint_that_queues_gets_no_pile(remembered: float | None) -> None:
    case = Case({**HEADLINE, "endpoint": "shed", "queue": 3, "remembered": remembered})
    assert case.mean("recovery_ratio") <= 1.25
    assert case.mean("attempts_per_delivery_after") <= 1.01
    for run in range(5):
        times = simulate(case.scenario, RULE, Chance(1, run)).attempts
        # Work comes in one by one and flows off at the capacity.
        pile, waits = 0.0, []
        for gap in np.diff(times, prepend=times[0]):
            pile = max(0.0, pile - 200 * gap) + 1
            waits.append(pile / 200)
        assert np.median(waits) <= 0.5
        assert max(waits) <= 1.5


@pytest.mark.parametrize("waiting", [1, 600, 2_000, 10_000])
def test_a_dead_endpoint_gets_few_probes(waiting: int) -> None:
    case = Case({"waiting": waiting, "capacity": 200, "outage": 3_600, "watch": 1})
    assert case.worst("attempts_during_outage") <= 6 * max(0.03 * waiting, 20)
    assert min(case.all("attempts_during_outage")) >= 4 * 20


@pytest.mark.parametrize(("waiting", "most"), [(1, 300), (10_000, 2_000)])
def test_an_endpoint_that_is_dead_for_five_days_is_left_alone(waiting: int, most: int) -> None:
    case = Case({"waiting": waiting, "capacity": 200, "outage": 432_000, "watch": 1}, runs=3)
    assert case.worst("attempts_during_outage") <= most


def test_two_thousand_lanes_behind_one_gateway_share_their_probes() -> None:
    case = Case({**HEADLINE, "lanes": 2_000, "outage": 1_200, "remembered": 190, "watch": 1})
    assert case.worst("attempts_during_outage") <= 2 * max(0.03 * 10_000, 20)
    assert case.worst("attempts_per_lane") == 1  # in turns: most of them are never asked


@every_endpoint("brittle")
def test_new_messages_hardly_wait_once_the_endpoint_is_found(endpoint: Manner) -> None:
    case = Case(
        {"waiting": 2_500, "capacity": 100, "endpoint": endpoint, "arrivals": 45, "remembered": 95}
    )
    assert case.worst("fresh_p99") <= case.detection + 1


def test_one_message_for_a_quiet_endpoint_outlives_four_days() -> None:
    case = Case({"waiting": 1, "capacity": 10, "outage": 4 * 86_400}, runs=3)
    assert case.worst("lost") == 0
    assert case.worst("recovery") <= case.detection + 1
