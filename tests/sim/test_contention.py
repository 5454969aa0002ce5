"""Contention against the simulator that AWS published, and by examples one can follow by hand.

`aws.csv` holds what that simulator gives when it is run itself: 300 runs a row, from the seed in
the row, base 5 ms, cap 2 s, messages of |Normal(10, 2)| ms.
"""

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.backoff import Exponential, Fixed
from tarry.core.breaker import BreakerRule
from tarry.core.budget import RatioRule
from tarry.core.jitter import Decorrelated, Equal, Full, Jitter, NoJitter, Percent, Smooth
from tarry.core.policy import Policy
from tarry.errors import PolicyError, ScenarioError
from tarry.sim.chance import Chance
from tarry.sim.contention import Contention
from tarry.sim.run import Contestant, Run

RUNS = 300
JITTERS: list[Jitter] = [NoJitter(), Full(), Equal(), Percent(0.2), Decorrelated(), Smooth()]
AT_ONCE = Policy(backoff=Fixed(0), jitter=NoJitter())
STRATEGIES = {  # the first ceiling of that simulator is twice its base, but for decorrelated
    "none": AT_ONCE,
    "exponential": Policy(backoff=Exponential(base=0.010, cap=2), jitter=NoJitter()),
    "full": Policy(backoff=Exponential(base=0.010, cap=2), jitter=Full()),
    "equal": Policy(backoff=Exponential(base=0.010, cap=2), jitter=Equal()),
    "decorrelated": Policy(
        backoff=Exponential(base=0.005, cap=2), jitter=Decorrelated(clamp="outside")
    ),
}


def run(scenario: Contention, policy: Policy = AT_ONCE, seed: int = 1, number: int = 0) -> Run:
    return scenario.simulate(Contestant("one", policy), Chance(seed, number))


# --- Examples -----------------------------------------------------------------------------------


def test_a_client_alone_needs_one_write_and_four_messages() -> None:
    metrics = run(Contention(clients=1, latency_sd=0)).metrics
    assert metrics == {"time": pytest.approx(0.040), "calls": 1}


def test_a_client_that_is_refused_reads_again_after_its_wait() -> None:
    policy = Policy(backoff=Fixed(0.5), jitter=NoJitter())
    metrics = run(Contention(clients=2, latency_mean=0.1, latency_sd=0), policy).metrics
    assert metrics == {"time": pytest.approx(0.4 + 0.5 + 0.4), "calls": 3}


def test_waits_grow_with_every_refusal() -> None:
    policy = Policy(backoff=Exponential(base=1, cap=60), jitter=NoJitter())
    metrics = run(Contention(clients=3, latency_mean=0.1, latency_sd=0), policy).metrics
    assert metrics == {"time": pytest.approx(0.4 + 1 + 0.4 + 2 + 0.4), "calls": 3 + 2 + 1}


def test_the_waits_are_the_policys_own() -> None:
    policy = Policy(backoff=Exponential(base=1, cap=60), jitter=Decorrelated())
    scenario = Contention(clients=2, latency_mean=0, latency_sd=0)
    wait, _ = policy.wait(1, None, Chance(1).draws("policy")())
    assert run(scenario, policy).metrics == {"time": wait, "calls": 3}


def test_messages_that_take_no_time_queue_up_and_end() -> None:
    found = run(Contention(clients=40, latency_mean=0, latency_sd=0))
    assert found.metrics == {"time": 0, "calls": 40 * 41 / 2}
    assert found.curves["writes"].values.tolist() == [820]


def test_a_message_takes_the_size_of_a_normal_number() -> None:
    scenario = Contention(clients=1, latency_mean=0, latency_sd=1)
    times = [run(scenario, number=number).metrics["time"] or 0 for number in range(2_000)]
    assert np.mean(times) == pytest.approx(4 * math.sqrt(2 / math.pi), rel=0.02)


def test_latencies_do_not_depend_on_the_policy() -> None:
    policies = STRATEGIES.values()
    assert len({run(Contention(clients=1), policy).metrics["time"] for policy in policies}) == 1


def test_the_same_seed_gives_the_same_run_and_another_another() -> None:
    scenario = Contention(clients=20)
    one, same, other = (run(scenario, Policy(), seed).metrics for seed in (1, 1, 2))
    assert one == same != other


def test_the_lines_to_draw_tell_when_clients_were_done_and_when_they_wrote() -> None:
    found = run(Contention(clients=2, latency_mean=0.5, latency_sd=0))
    done, writes = found.curves["done"], found.curves["writes"]
    assert done.seconds.tolist() == [0, 2, 4, 4]
    assert done.values.tolist() == [0, 0.5, 1, 1]
    assert writes.unit == "writes per 5 s"
    assert writes.seconds.tolist() == [0]
    assert writes.values.tolist() == [3]


def test_a_run_that_takes_long_is_not_drawn_in_more_buckets() -> None:
    policy = Policy(backoff=Fixed(10_000), jitter=NoJitter())
    writes = run(Contention(clients=2), policy).curves["writes"]
    assert len(writes.values) == 2_000
    assert writes.unit == "writes per 5 s"


# --- Giving up ----------------------------------------------------------------------------------


def test_limits_are_not_asked_unless_clients_may_give_up() -> None:
    once = AT_ONCE.replace(attempts=1)
    assert run(Contention(clients=5), once).metrics["calls"] == 15
    metrics = run(Contention(clients=5, give_up=True, latency_sd=0), once).metrics
    assert metrics == {"time": pytest.approx(0.040), "calls": 5, "gave_up": 0.8}


def test_clients_give_up_when_their_time_is_over() -> None:
    policy = Policy(backoff=Fixed(1), jitter=NoJitter(), attempts=None, within=2)
    scenario = Contention(clients=4, latency_mean=0.1, latency_sd=0, give_up=True)
    # They are answered at 0.4, 1.8 and 3.2: the wait that would end at 2.8 is not begun.
    found = run(scenario, policy)
    assert found.metrics == {"time": pytest.approx(1.8), "calls": 7, "gave_up": 0.5}
    assert found.curves["done"].values.tolist() == [0, 0.25, 0.5, 0.5]


@pytest.mark.parametrize("give_up", [False, True])
def test_every_metric_has_its_measure(*, give_up: bool) -> None:
    scenario = Contention(clients=2, give_up=give_up)
    assert list(run(scenario).metrics) == list(scenario.measures)


# --- What it does not take ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "settings"),
    [
        ("clients", {"clients": 0}),
        ("latency_mean", {"clients": 1, "latency_mean": -1}),
        ("latency_sd", {"clients": 1, "latency_sd": math.nan}),
        ("give_up", {"clients": 1, "give_up": 1}),
    ],
)
def test_a_setting_that_cannot_work_is_named(field: str, settings: dict[str, Any]) -> None:
    with pytest.raises(PolicyError) as refused:
        Contention(**settings)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("contestant", "field"),
    [
        (Contestant("paced", None), "policy"),
        (Contestant("one", AT_ONCE, budget=RatioRule()), "budget"),
        (Contestant("one", AT_ONCE, breaker=BreakerRule()), "breaker"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_it_has_no_use_for_is_refused(contestant: Contestant, field: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        Contention(clients=1).refuse(contestant)
    assert refused.value.field == field


# --- Properties ---------------------------------------------------------------------------------


@given(
    st.integers(1, 25),
    st.sampled_from(JITTERS),
    st.sampled_from([0, 0.01, 1]),
    st.sampled_from([0, 0.01, 1]),
)
def test_everyone_is_taken_once_and_nobody_fails_more_often_than_others_win(
    clients: int, jitter: Jitter, mean: float, deviation: float
) -> None:
    scenario = Contention(clients=clients, latency_mean=mean, latency_sd=deviation)
    found = run(scenario, Policy(backoff=Exponential(0.01, cap=1), jitter=jitter))
    calls, time = found.metrics["calls"], found.metrics["time"]
    assert calls is not None
    assert clients <= calls <= clients * (clients + 1) / 2
    assert found.curves["writes"].values.sum() == calls
    assert found.curves["done"].values[-1] == 1
    assert found.curves["done"].seconds[-1] == time
    assert (np.diff(found.curves["done"].seconds) >= 0).all()


# --- The published study ------------------------------------------------------------------------


class Comparison(NamedTuple):
    row: str
    ours: float
    theirs: float
    error: float  # of the difference

    @property
    def z(self) -> float:
        return abs(self.ours - self.theirs) / self.error if self.error else 0.0


def sample(clients: int, strategy: str, runs: int) -> dict[str, list[float]]:
    scenario, policy = Contention(clients=clients), STRATEGIES[strategy]
    found = [run(scenario, policy, clients, number).metrics for number in range(runs)]
    return {
        "time_ms": [1_000 * (metrics["time"] or 0) for metrics in found],
        "calls": [metrics["calls"] or 0 for metrics in found],
    }


def comparisons() -> Iterator[Comparison]:
    with Path(__file__).with_name("aws.csv").open(newline="") as rows:
        for row in csv.DictReader(rows):
            ours = sample(int(row["clients"]), row["algorithm"], RUNS)
            for name, values in ours.items():
                mean, deviation = float(row[f"{name}_mean"]), float(row[f"{name}_sd"])
                variances = np.var(values, ddof=1) / RUNS + deviation**2 / int(row["runs"])
                label = f"{row['clients']} {row['algorithm']} {name}"
                yield Comparison(label, float(np.mean(values)), mean, math.sqrt(variances))


@pytest.mark.slow
def test_it_agrees_with_the_published_simulator() -> None:
    found = list(comparisons())
    assert len(found) == 90
    assert [one for one in found if one.z >= 4] == []
    assert [one for one in found if one.error == 0 and one.ours != one.theirs] == []
    assert len([one for one in found if one.z > 2]) <= 9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clients", "strategy", "time_ms", "calls"),
    [
        (100, "none", 2_029, 2_422),
        (100, "full", 4_868, 795),
        (100, "decorrelated", 4_614, 1_002),
        (200, "equal", 9_631, 1_871),
    ],
)
def test_it_agrees_beyond_the_rows_of_the_file(
    clients: int, strategy: str, time_ms: float, calls: float
) -> None:
    ours = sample(clients, strategy, 60)
    assert np.mean(ours["time_ms"]) == pytest.approx(time_ms, rel=0.06)
    assert np.mean(ours["calls"]) == pytest.approx(calls, rel=0.015)


def test_more_clients_than_can_be_simulated_in_a_minute_are_refused() -> None:
    with pytest.raises(ScenarioError, match="'clients' is 20001; it must be at most 20,000"):
        Contention(clients=20_001)
