"""The timeline against closed forms, and against common claims about a thousand clients."""

import math
from collections.abc import Mapping
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from tarry.core.backoff import Backoff, Exponential, Fixed, Schedule
from tarry.core.breaker import BreakerRule
from tarry.core.budget import QuotaRule
from tarry.core.jitter import Decorrelated, Equal, Full, Jitter, NoJitter, Percent, Smooth
from tarry.core.policy import Policy
from tarry.errors import PolicyError, ScenarioError
from tarry.sim.chance import Chance
from tarry.sim.run import Contestant, Run
from tarry.sim.timeline import Timeline

UNCAPPED = 1e9
JITTERS: list[Jitter] = [NoJitter(), Full(), Equal(), Percent(0.2), Decorrelated(), Smooth()]


def contestant(jitter: Jitter, backoff: Backoff | None = None) -> Contestant:
    backoff = Exponential(base=0.1, cap=UNCAPPED) if backoff is None else backoff
    return Contestant("one", Policy(backoff=backoff, jitter=jitter))


def run(scenario: Timeline, jitter: Jitter, backoff: Backoff | None = None, seed: int = 1) -> Run:
    return scenario.simulate(contestant(jitter, backoff), Chance(seed))


def averages(scenario: Timeline, jitter: Jitter, runs: int) -> Mapping[str, float]:
    found = [scenario.simulate(contestant(jitter), Chance(1, run)).metrics for run in range(runs)]
    return {
        name: float(np.mean([metrics[name] for metrics in found])) for name in scenario.measures
    }


# --- Examples -----------------------------------------------------------------------------------


def test_without_jitter_everyone_is_in_every_wave() -> None:
    scenario = Timeline(clients=1_000, retries=5, bucket=0.05)
    metrics = run(scenario, NoJitter()).metrics
    assert metrics == {
        "peak": 1_000,
        "mean": pytest.approx(5_000 / 61),  # from 0.1 s to 3.1 s
        "peak_to_mean": pytest.approx(12.2),
        "completion": pytest.approx(3.1),
        "waited": pytest.approx(3.1),
        "spread": 0,
        "largest_step": 1_000,
        "first_wave": 1_000,
    }


def test_arrivals_are_counted_in_buckets_from_0() -> None:
    curve = run(Timeline(clients=3, retries=3, bucket=1), NoJitter(), Schedule([2, 1, 0])).curves
    assert curve["arrivals"].unit == "arrivals per 1 s"
    assert curve["arrivals"].seconds.tolist() == [0, 1, 2, 3]
    assert curve["arrivals"].values.tolist() == [0, 0, 3, 6]


def test_a_sum_that_rounding_left_short_of_a_bucket_is_in_it() -> None:
    assert list(accumulate([0.1] * 10))[-1] < 1  # sum() makes up for rounding since Python 3.12
    counts = run(Timeline(clients=1, retries=10, bucket=1), NoJitter(), Fixed(0.1)).curves
    assert counts["arrivals"].values.tolist() == [9, 1]


def test_a_storm_out_of_nothing_is_a_step() -> None:
    metrics = run(Timeline(clients=7, retries=2), NoJitter(), Fixed(0)).metrics
    assert metrics["largest_step"] == metrics["peak"] == metrics["mean"] == 14
    assert metrics["completion"] == metrics["spread"] == 0


def test_the_policys_own_limits_are_not_asked() -> None:
    policy = Policy(backoff=Fixed(1), jitter=NoJitter(), attempts=1, within=0.5)
    found = Timeline(clients=2, retries=4).simulate(Contestant("one", policy), Chance(1))
    assert found.metrics["completion"] == 4


def test_the_same_seed_gives_the_same_run_and_another_another() -> None:
    scenario = Timeline(clients=1_000, retries=3)
    one, same, other = (run(scenario, Full(), seed=seed) for seed in (1, 1, 2))
    assert one.metrics == same.metrics != other.metrics
    assert one.curves["arrivals"].values.tolist() == same.curves["arrivals"].values.tolist()


def test_every_metric_has_its_measure() -> None:
    scenario = Timeline(clients=2, retries=2, bucket=0.25)
    assert list(run(scenario, Full()).metrics) == list(scenario.measures)
    assert scenario.measures["peak"].unit == "arrivals per 0.25 s"
    assert scenario.measures["completion"].unit == "s"


# --- What it does not take ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "settings"),
    [
        ("clients", {"clients": 0, "retries": 1}),
        ("clients", {"clients": 1.5, "retries": 1}),
        ("retries", {"clients": 1, "retries": 0}),
        ("bucket", {"clients": 1, "retries": 1, "bucket": 0}),
        ("bucket", {"clients": 1, "retries": 1, "bucket": "1 s"}),
    ],
)
def test_a_setting_that_cannot_work_is_named(field: str, settings: dict[str, int]) -> None:
    with pytest.raises(PolicyError) as refused:
        Timeline(**settings)
    assert refused.value.field == field


def test_more_retries_than_can_be_kept_are_refused() -> None:
    with pytest.raises(ScenarioError, match="'retries' is 1000000; it must be at most 262,144"):
        Timeline(clients=1, retries=1_000_000)


def test_more_arrivals_than_can_be_counted_in_a_minute_are_refused() -> None:
    with pytest.raises(ScenarioError, match="must be at most 250,000,000 with retries = 8"):
        Timeline(clients=99_999_999_999, retries=8)


def test_the_pacer_is_sent_to_the_model_that_knows_it() -> None:
    with pytest.raises(ScenarioError, match=r"'policy' is 'paced'; .*model 'backlog'"):
        Timeline(clients=1, retries=1).refuse(Contestant("paced", None))


def test_guards_are_sent_to_the_model_that_has_them() -> None:
    scenario = Timeline(clients=1, retries=1)
    with pytest.raises(ScenarioError, match=r"'budget' is QuotaRule.*model 'server'"):
        scenario.refuse(Contestant("one", Policy(), budget=QuotaRule()))
    with pytest.raises(ScenarioError, match=r"'breaker' is BreakerRule.*model 'server'"):
        scenario.simulate(Contestant("one", Policy(), breaker=BreakerRule()), Chance(1))


@pytest.mark.parametrize("jitter", JITTERS, ids=str)
def test_buckets_too_small_for_the_memory_are_refused(jitter: Jitter) -> None:
    day_long = contestant(jitter, Schedule([50_000, 100_000]))
    with pytest.raises(ScenarioError, match=r"'bucket' is 0.0001; it must be at least 0\.0"):
        Timeline(clients=1, retries=3, bucket=0.0001).refuse(day_long)
    Timeline(clients=1, retries=3, bucket=0.1).refuse(day_long)


def test_a_high_cap_that_is_out_of_reach_refuses_nothing() -> None:
    Timeline(clients=1, retries=5, bucket=0.001).refuse(contestant(Decorrelated()))


# --- Properties ---------------------------------------------------------------------------------


@given(
    st.sampled_from(JITTERS),
    st.sampled_from([Fixed(0), Fixed(1), Exponential(0.1, cap=5), Schedule([0, 3, 1])]),
    st.integers(1, 50),
    st.integers(1, 6),
    st.floats(0.01, 10),
)
def test_nobody_is_lost_and_no_number_contradicts_another(
    jitter: Jitter, backoff: Backoff, clients: int, retries: int, bucket: float
) -> None:
    scenario = Timeline(clients=clients, retries=retries, bucket=bucket)
    found = run(scenario, jitter, backoff)
    metrics = {name: value for name, value in found.metrics.items() if value is not None}
    counts = found.curves["arrivals"].values
    assert counts.sum() == clients * retries
    assert counts.max() == metrics["peak"] >= metrics["mean"] > 0
    assert metrics["peak_to_mean"] == pytest.approx(metrics["peak"] / metrics["mean"])
    assert metrics["largest_step"] <= metrics["peak"]
    assert metrics["first_wave"] <= min(clients, metrics["peak"])
    assert metrics["waited"] <= metrics["completion"] * (1 + 1e-9)
    assert (len(counts) - 1) * bucket <= metrics["completion"] + 1e-6 * bucket


@pytest.mark.parametrize("jitter", JITTERS, ids=str)
def test_a_crowd_that_is_worked_on_in_parts_is_one_crowd(
    jitter: Jitter, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = Timeline(clients=10_000, retries=4)
    whole = run(scenario, jitter).metrics
    monkeypatch.setattr("tarry.sim.timeline.AT_A_TIME", 900)
    parts = run(scenario, jitter).metrics  # other draws for the same clients
    for name in ("mean", "completion", "waited", "spread"):
        assert parts[name] == pytest.approx(whole[name], rel=0.3 if name == "completion" else 0.1)


# --- Closed forms -------------------------------------------------------------------------------


MANY = 200_000


@pytest.mark.parametrize(
    ("jitter", "window"),
    [(Full(), 1.0), (Equal(), 0.5), (Decorrelated(), 2.0), (Percent(0.2), 0.4)],
)
def test_the_first_wave_is_as_dense_as_its_window_is_wide(jitter: Jitter, window: float) -> None:
    scenario = Timeline(clients=MANY, retries=1, bucket=0.1)
    metrics = run(scenario, jitter, Exponential(base=1, cap=UNCAPPED)).metrics
    dense = MANY * 0.1 / window
    largest_of_several = 3 * math.sqrt(dense)
    assert metrics["first_wave"] == pytest.approx(dense + largest_of_several / 2, rel=0.01)


def full_sum(retries: int) -> float:
    return (math.exp2(retries) - 1) / 2


def full_sd(retries: int) -> float:
    return math.sqrt((4**retries - 1) / 36)


def decorrelated_sum(retries: int) -> float:
    summed, mean = 0.0, 1.0
    for _ in range(retries):
        mean = (1 + 3 * mean) / 2
        summed += mean
    return summed


def line(t: float) -> float:
    """Where a smooth retry falls with base 1."""
    return math.exp2(t) * math.tanh(2 * math.sqrt(t)) / 1.4


def smooth_moment(retries: int, power: int) -> float:
    found, _ = integrate.quad(lambda t: line(t) ** power, retries - 1, retries)
    return float(found)


@pytest.mark.parametrize("retries", [1, 3, 6])
def test_waits_add_up_to_what_they_should(retries: int) -> None:
    scenario, backoff = Timeline(clients=MANY, retries=retries, bucket=1), Exponential(1, cap=1e6)
    expected: dict[Jitter, float] = {
        NoJitter(): 2**retries - 1,
        Full(): full_sum(retries),
        Equal(): 1.5 * full_sum(retries),
        Percent(0.3): 2**retries - 1,
        Decorrelated(): decorrelated_sum(retries),
        Smooth(): smooth_moment(retries, 1),
    }
    found = {jitter: run(scenario, jitter, backoff).metrics["waited"] for jitter in expected}
    assert found == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("retries", [1, 3, 6])
def test_clients_spread_as_far_as_they_should(retries: int) -> None:
    scenario, backoff = Timeline(clients=MANY, retries=retries, bucket=1), Exponential(1, cap=1e6)
    expected: dict[Jitter, float] = {
        NoJitter(): 0,
        Full(): full_sd(retries),
        Equal(): full_sd(retries) / 2,
        Percent(0.3): 0.6 * full_sd(retries),
        Smooth(): math.sqrt(smooth_moment(retries, 2) - smooth_moment(retries, 1) ** 2),
    }
    found = {jitter: run(scenario, jitter, backoff).metrics["spread"] for jitter in expected}
    assert found == pytest.approx(expected, rel=0.01)


def test_only_smooth_jitter_has_no_cliff() -> None:
    scenario, backoff = Timeline(clients=MANY, retries=5, bucket=0.1), Exponential(1, cap=1e6)
    steps = {
        type(jitter).__name__: (run(scenario, jitter, backoff).metrics["largest_step"] or 0) / MANY
        for jitter in JITTERS
    }
    assert steps["Smooth"] < 0.018
    assert steps["Decorrelated"] == pytest.approx(0.050, rel=0.05)
    assert steps["Full"] == pytest.approx(0.100, rel=0.05)
    assert steps["Equal"] == pytest.approx(0.200, rel=0.05)
    assert steps["NoJitter"] == 1


# --- Common claims about 1,000 clients x 5 retries, base 100 ms, in buckets of 50 ms ------------


@pytest.mark.parametrize(
    ("jitter", "peak", "ratio", "spread", "completion"),
    [
        (NoJitter(), 1_000, 12.2, 0, 3.1),
        (Full(), 703, 8.1, 0.533, 2.9),
        (Equal(), 1_000, 12.0, 0.266, 3.0),
        (Decorrelated(), 312, 27, 2.769, 21.8),
        (Smooth(), 500, 4.6, 0.328, 2.28),
    ],
    ids=str,
)
def test_the_peak_is_far_above_what_is_claimed(
    jitter: Jitter, peak: float, ratio: float, spread: float, completion: float
) -> None:
    found = averages(Timeline(clients=1_000, retries=5, bucket=0.05), jitter, runs=100)
    assert found["peak"] == pytest.approx(peak, rel=0.02)
    assert found["peak_to_mean"] == pytest.approx(ratio, rel=0.05)
    assert found["spread"] == pytest.approx(spread, rel=0.02)
    assert found["completion"] == pytest.approx(completion, rel=0.03)


def test_equal_jitter_does_not_align_again() -> None:
    curve = run(Timeline(clients=100_000, retries=6, bucket=0.05), Equal()).curves["arrivals"]
    ends = [0.1 * (2**retry - 1) for retry in range(1, 7)]  # no wave begins before the last ends
    waves = np.split(curve.values, np.searchsorted(curve.seconds, ends[:-1], side="right"))
    assert [wave.max() / 100 for wave in waves] == pytest.approx(
        [1_000, 502, 250, 125, 64, 32], rel=0.05
    )
