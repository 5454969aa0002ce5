"""What goes into a run and what comes out of it."""

import pytest

from tarry.core.breaker import BreakerRule
from tarry.core.budget import QuotaRule, RatioRule
from tarry.core.policy import Policy
from tarry.errors import ScenarioError
from tarry.sim.chance import Chance
from tarry.sim.contention import Contention
from tarry.sim.run import Contestant, Measure, Scenario, lone_policy
from tarry.sim.timeline import Timeline


def test_a_contestant_is_a_value_without_guards_unless_they_are_given() -> None:
    plain = Contestant("mine", Policy())
    assert plain.budget is None
    assert plain.breaker is None
    assert plain == Contestant("mine", Policy(), None, None)
    assert plain != Contestant("mine", Policy(), QuotaRule())


def test_a_measure_is_a_plain_number_unless_it_has_a_unit() -> None:
    assert Measure("how often").unit == ""


def test_a_policy_alone_is_what_a_simple_model_takes() -> None:
    policy = Policy(attempts=3)
    assert lone_policy(Contestant("mine", policy), "timeline") is policy


@pytest.mark.parametrize(
    ("contestant", "field", "model"),
    [
        (Contestant("paced", None), "policy", "'backlog'"),
        (Contestant("mine", Policy(), QuotaRule()), "budget", "'server'"),
        (Contestant("mine", Policy(), RatioRule()), "budget", "'server'"),
        (Contestant("mine", Policy(), None, BreakerRule()), "breaker", "'server'"),
    ],
    ids=["pacer", "quota", "ratio", "breaker"],
)
def test_what_a_simple_model_does_not_know_is_sent_to_the_one_that_does(
    contestant: Contestant, field: str, model: str
) -> None:
    with pytest.raises(ScenarioError, match=f"timeline has no .*, model {model} has") as refused:
        lone_policy(contestant, "timeline")
    assert refused.value.field == field


@pytest.mark.parametrize(
    "scenario", [Timeline(clients=3, retries=2), Contention(clients=3)], ids=str
)
def test_a_scenario_measures_what_it_tells_and_draws_lines_of_one_length(
    scenario: Scenario,
) -> None:
    found = scenario.simulate(Contestant("mine", Policy()), Chance(1))
    assert list(found.metrics) == list(scenario.measures)
    assert found.curves
    for curve in found.curves.values():
        assert curve.label
        assert curve.unit
        assert len(curve.seconds) == len(curve.values) > 0
