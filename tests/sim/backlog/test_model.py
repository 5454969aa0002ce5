from typing import Any

import numpy as np
import pytest

from tarry.core.backoff import Exponential, Fixed
from tarry.core.breaker import BreakerRule
from tarry.core.budget import QuotaRule
from tarry.core.jitter import Full, NoJitter
from tarry.core.pace import PacerRule
from tarry.core.policy import Policy
from tarry.errors import ScenarioError
from tarry.sim.backlog import lane, uncoordinated
from tarry.sim.backlog.model import Backlog
from tarry.sim.chance import Chance
from tarry.sim.run import Contestant

PACED = Contestant("paced", None)
FULL = Contestant(
    "full",
    Policy(backoff=Exponential(base=1, cap=60), jitter=Full(), attempts=None, within=None),
)


def backlog(**keys: object) -> Backlog:
    given: dict[str, Any] = {"waiting": 500, "capacity": 100, "endpoint": "shed", **keys}
    return Backlog(**given)


@pytest.mark.parametrize("contestant", [PACED, FULL], ids=["paced", "full"])
def test_metrics_are_the_ones_measured_in_their_order(contestant: Contestant) -> None:
    scenario = backlog(arrivals=5)
    run = scenario.simulate(contestant, Chance(1))
    assert list(run.metrics) == list(scenario.measures)
    assert set(run.curves) == {"arrivals", "capacity", "delivered"}
    assert all(value is not None for value in run.metrics.values())


@pytest.mark.parametrize("contestant", [PACED, FULL], ids=["paced", "full"])
def test_metrics_are_what_the_ledger_says(contestant: Contestant) -> None:
    scenario = backlog(arrivals=5, error_rate=0.05)
    metrics = scenario.simulate(contestant, Chance(3)).metrics
    log = (
        lane.simulate(scenario, PacerRule(), Chance(3))
        if contestant.policy is None
        else uncoordinated.simulate(scenario, contestant.policy, Chance(3))
    )
    assert log.recovery is not None
    assert metrics == {
        "recovery": log.recovery,
        "recovery_ratio": pytest.approx(log.recovery / (500 / 95)),
        "peak_ratio": log.peak_ratio(scenario.capacity),
        "peak_10ms": log.peak_10ms(),
        "attempts_during_outage": log.spent,
        "attempts_per_lane": log.spent,
        "attempts_per_delivery_after": len(log.attempts) / log.done,
        "fresh_p99": log.fresh_p99(),
        "lost": 0.0,
    }


def test_what_never_happens_is_none() -> None:
    metrics = backlog(error_rate=1.0, watch=60).simulate(PACED, Chance(1)).metrics
    assert metrics["recovery"] is metrics["recovery_ratio"] is None
    assert metrics["attempts_per_delivery_after"] is metrics["fresh_p99"] is None


def test_without_a_limit_there_is_no_ratio() -> None:
    metrics = backlog(arrivals=150, watch=60).simulate(PACED, Chance(1)).metrics
    assert metrics["recovery_ratio"] is None


def test_a_share_of_deliveries_is_lost_where_the_policy_gives_up() -> None:
    policy = Policy(backoff=Fixed(1), jitter=NoJitter(), attempts=3, within=None)
    metrics = backlog().simulate(Contestant("short", policy), Chance(1)).metrics
    assert metrics["lost"] == 1.0
    assert metrics["attempts_during_outage"] == 1_500


def test_the_pacer_spends_a_hundredth_of_what_lonely_retries_spend_and_is_sooner_done() -> None:
    scenario = backlog(waiting=2_000, endpoint="shed", remembered=95)
    paced, full = (scenario.simulate(one, Chance(1)).metrics for one in (PACED, FULL))
    assert paced["recovery"] is not None
    assert full["recovery"] is not None
    assert paced["recovery"] < full["recovery"]
    spent = [metrics["attempts_during_outage"] or 0.0 for metrics in (paced, full)]
    assert 100 * spent[0] < spent[1]


@pytest.mark.parametrize("guard", [{"budget": QuotaRule()}, {"breaker": BreakerRule()}])
def test_guards_are_refused_by_name(guard: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError, match="backlog has no guards but the pacer") as caught:
        backlog().refuse(Contestant("guarded", None, **guard))
    assert {caught.value.field: caught.value.value} == guard


HASTY = Policy(backoff=Fixed(0.1), jitter=NoJitter(), attempts=None, within=None)
SLOW = Exponential(base=0.001, factor=1.0001, cap=1e6)
MILLION = {"waiting": 1_000_000, "capacity": 10}


@pytest.mark.parametrize(
    ("policy", "keys", "field"),
    [
        (HASTY, {**MILLION, "outage": 86_400}, "outage"),
        (HASTY, {**MILLION, "outage": 0}, "watch"),
        (HASTY.replace(backoff=SLOW), {"waiting": 100_000, "outage": 3600}, "outage"),
        (HASTY.replace(backoff=Fixed(60), jitter=Full()), MILLION, "watch"),
        (HASTY, {"waiting": 1, "outage": 30 * 86_400}, "outage"),
        (HASTY, {"waiting": 1, "outage": 0, "arrivals": 1_000}, "watch"),
    ],
)
def test_more_attempts_than_can_be_counted_are_refused_before_they_are_made(
    policy: Policy, keys: dict[str, Any], field: str
) -> None:
    scenario = backlog(**keys)
    with pytest.raises(
        ScenarioError, match=r"shorter, or the waits longer: about [\d,]+"
    ) as caught:
        scenario.simulate(Contestant("hasty", policy), Chance(1))
    assert (caught.value.field, caught.value.value) == (field, getattr(scenario, field))
    scenario.refuse(PACED)


@pytest.mark.parametrize(
    ("policy", "keys"),
    [
        (HASTY.replace(attempts=5), {**MILLION, "outage": 86_400}),
        (HASTY.replace(within=10), {**MILLION, "outage": 86_400}),
        (HASTY.replace(backoff=Fixed(60), jitter=Full()), {**MILLION, "watch": 2_400}),
        (HASTY.replace(backoff=Exponential(base=1, cap=3600)), {**MILLION, "outage": 4 * 86_400}),
        (HASTY.replace(backoff=Fixed(60)), {"outage": 30 * 86_400, "watch": 1e6}),
    ],
)
def test_what_can_be_counted_is_not_refused(policy: Policy, keys: dict[str, Any]) -> None:
    backlog(**keys).refuse(Contestant("mine", policy))


def test_many_deliveries_are_not_looked_at_for_days() -> None:
    patient = Contestant("patient", HASTY.replace(backoff=Fixed(86_400)))
    with pytest.raises(ScenarioError) as caught:
        backlog(**MILLION, watch=1e6).refuse(patient)
    wanted = "at most 100,000: every second each delivery is looked at"
    assert (caught.value.field, caught.value.wanted) == ("watch", wanted)
    backlog(**MILLION, watch=1e5).refuse(patient)


def test_the_longest_outage_and_the_longest_watch_can_be_played() -> None:
    policy = HASTY.replace(backoff=Fixed(86_400), jitter=Full())
    scenario = backlog(waiting=10, error_rate=1.0, outage=30 * 86_400, watch=1e6)
    run = scenario.simulate(Contestant("patient", policy), Chance(1))
    assert run.metrics["recovery"] is None
    assert len(run.curves["arrivals"].values) == 1_000_060


@pytest.mark.parametrize("contestant", [PACED, FULL], ids=["paced", "full"])
def test_curves_run_from_the_last_minute_of_the_outage_to_the_end_and_add_up(
    contestant: Contestant,
) -> None:
    run = backlog(waiting=2_000).simulate(contestant, Chance(1))
    arrivals, capacity, delivered = (
        run.curves[name] for name in ("arrivals", "capacity", "delivered")
    )
    assert (arrivals.seconds[0], capacity.seconds[0], delivered.seconds[0]) == (-60, -60, -60)
    back = arrivals.seconds >= 0
    after = run.metrics["attempts_per_delivery_after"] or 0.0
    assert arrivals.values[back].sum() == pytest.approx(2_000 * after)
    assert 0 < arrivals.values[~back].sum() <= (run.metrics["attempts_during_outage"] or 0.0)
    assert set(capacity.values[back]) == {100.0}
    assert set(capacity.values[~back]) == {0.0}
    assert delivered.values[-1] == 2_000
    assert (np.diff(delivered.values) >= 0).all()


@pytest.mark.parametrize("contestant", [PACED, FULL], ids=["paced", "full"])
def test_a_seed_gives_the_same_numbers_again(contestant: Contestant) -> None:
    scenario = backlog(arrivals=5, error_rate=0.1, endpoint="degrade")
    one, two, other = (scenario.simulate(contestant, Chance(seed)).metrics for seed in (5, 5, 6))
    assert one == two
    assert one != other
