import math
from collections.abc import Mapping

import numpy as np
import pytest

from tarry.core.policy import Policy
from tarry.errors import ScenarioError
from tarry.sim.chance import Chance
from tarry.sim.estimate import Estimate, estimate
from tarry.sim.run import Contestant, Curve, Measure, Run
from tarry.sim.scenario.storm import Storm
from tarry.sim.study import Study, study

SLOW, FAST = (Contestant(name, Policy(), None) for name in ("slow", "fast"))
LINE = Curve("load", "1/s", np.array([0.0, 1.0]), np.array([5.0, 6.0]))


class World:
    """A scenario of a single draw; `fast` is one second ahead, and late draws never recover."""

    measures: Mapping[str, Measure] = {
        "recovery": Measure("until all is well", "s"),
        "luck": Measure("what was drawn"),
    }

    def __init__(self, *, never_above: float = 1.0, breaks_after: float = math.inf) -> None:
        self.never_above = never_above
        self.left = breaks_after

    def refuse(self, contestant: Contestant) -> None:
        if contestant.name == "unwanted":
            raise ScenarioError("policies.unwanted", "unwanted", "somebody else")

    def simulate(self, contestant: Contestant, chance: Chance) -> Run:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        luck = chance.draws("luck")()
        recovery = 10.0 + luck - (contestant.name == "fast")
        metrics = {"recovery": None if luck > self.never_above else recovery, "luck": luck}
        return Run(metrics, {"load": LINE})


def held(world: World, *contestants: Contestant, runs: int = 20, seed: int = 1) -> Study:
    return study(Storm("s", "", "world", {}, "", world), contestants, seed=seed, runs=runs)


def test_every_contestant_of_a_run_meets_the_same_chance() -> None:
    slow, fast = held(World(), SLOW, FAST).results
    assert slow.values["luck"] == fast.values["luck"]
    assert len(set(slow.values["luck"])) == 20
    pairs = zip(slow.values["recovery"], fast.values["recovery"], strict=True)
    ahead = [a - b for a, b in pairs if a is not None and b is not None]
    assert ahead == pytest.approx([1.0] * 20)


def test_the_results_are_in_the_order_of_the_contestants_and_sum_up_the_runs() -> None:
    found = held(World(), FAST, SLOW, runs=7)
    assert [result.policy for result in found.results] == ["fast", "slow"]
    assert (found.seed, found.asked, found.runs) == (1, 7, 7)
    for result in found.results:
        assert list(result.metrics) == ["recovery", "luck", "recovered"]
        for name, values in result.values.items():
            assert result.metrics[name] == estimate(values)
        assert result.curves == {"load": LINE}


def test_the_same_seed_gives_the_same_numbers_and_another_one_others() -> None:
    assert held(World(), SLOW).results == held(World(), SLOW).results
    assert held(World(), SLOW, seed=2).results != held(World(), SLOW).results


def test_more_runs_begin_with_the_same_runs() -> None:
    few, many = held(World(), SLOW, runs=3).results[0], held(World(), SLOW, runs=9).results[0]
    assert many.values["luck"][:3] == few.values["luck"]


def test_who_never_recovers_in_some_run_has_no_mean_but_a_share() -> None:
    (result,) = held(World(never_above=0.5), SLOW).results
    missing = result.values["recovery"].count(None)
    assert 0 < missing < 20
    assert result.metrics["recovery"] == Estimate(None, None, None, 20, missing)
    assert result.metrics["recovered"].mean == pytest.approx(1 - missing / 20)


def test_a_model_without_recovery_has_no_share_of_it() -> None:
    world = World()
    world.measures = {"luck": Measure("what was drawn")}
    found = held(world, SLOW)
    assert list(found.measures) == list(found.results[0].metrics) == ["luck"]


@pytest.mark.parametrize("odd", [math.inf, math.nan])
def test_what_is_no_finite_number_counts_as_missing(odd: float) -> None:
    class Odd(World):
        def simulate(self, contestant: Contestant, chance: Chance) -> Run:
            del contestant, chance
            return Run({"recovery": odd, "luck": 1.0}, {})

    (result,) = held(Odd(), SLOW, runs=2).results
    assert result.metrics["recovery"] == Estimate(None, None, None, 2, missing=2)
    assert result.metrics["recovered"].mean == 0.0


@pytest.mark.parametrize(("simulations", "runs"), [(0, 0), (1, 0), (2, 1), (5, 2)])
def test_ctrl_c_leaves_the_runs_that_every_contestant_has_finished(
    simulations: int, runs: int
) -> None:
    found = held(World(breaks_after=simulations), SLOW, FAST)
    assert (found.asked, found.runs) == (20, runs)
    assert [len(result.values["luck"]) for result in found.results] == ([runs] * 2 if runs else [])


def test_each_simulation_is_told_of() -> None:
    steps: list[None] = []
    storm = Storm("s", "", "world", {}, "", World())
    study(storm, [SLOW, FAST], seed=1, runs=3, on_step=lambda: steps.append(None))
    assert len(steps) == 6


def test_nobody_is_simulated_when_one_contestant_is_refused() -> None:
    world = World(breaks_after=0)
    with pytest.raises(ScenarioError, match="it must be somebody else"):
        held(world, SLOW, Contestant("unwanted", None))
