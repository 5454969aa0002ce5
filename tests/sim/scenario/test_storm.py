from typing import cast

from tarry.core.budget import QuotaRule
from tarry.core.policy import Policy
from tarry.sim.run import Contestant, Scenario
from tarry.sim.scenario.storm import Storm


def test_a_policy_from_elsewhere_gets_the_guards_of_the_storm() -> None:
    quota = QuotaRule(500, 5, 1)
    storm = Storm("s", "", "none", {}, "", cast("Scenario", None), budget=quota)
    policy = Policy(attempts=3)
    assert storm.contestant("mine", policy) == Contestant("mine", policy, quota)
