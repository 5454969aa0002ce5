import pytest

from tarry.core.policy import Policy
from tarry.sim.estimate import estimate
from tarry.sim.headline import headline
from tarry.sim.run import Contestant, Measure, Scenario
from tarry.sim.scenario.storm import Storm
from tarry.sim.study import Result, Study

Values = dict[str, list[float | None]]


def study(**contestants: Values) -> Study:
    """A study that gave these numbers: for each contestant, for each metric, one a run."""
    results = tuple(
        Result(
            Contestant(name, Policy()),
            {metric: estimate(numbers) for metric, numbers in values.items()},
            {metric: tuple(numbers) for metric, numbers in values.items()},
            {},
        )
        for name, values in contestants.items()
    )
    some = next(iter(contestants.values()))
    runs = len(next(iter(some.values())))
    measures = {metric: Measure("") for metric in some}
    scenario: Scenario = None  # type: ignore[assignment]  # a headline never asks it
    return Study(Storm("s", "", "", {}, "", scenario), 1, runs, runs, measures, results)


def recovers(*seconds: float | None) -> Values:
    return {"recovery": list(seconds)}


def test_the_first_is_named_with_its_lead_over_the_next() -> None:
    found = study(b=recovers(12.0, 22.0), c=recovers(30.0, 40.0), a=recovers(10.0, 20.0))
    assert headline(found) == "First to recover: a, 2 s before b."


def test_a_long_lead_is_written_out() -> None:
    found = study(a=recovers(10.0, 10.0), b=recovers(12_355.0, 12_355.0))
    assert headline(found) == "First to recover: a, 12,345 s before b."


def test_the_lead_is_judged_run_by_run() -> None:
    """Alone, each of the two varies by far more than what lies between them."""
    found = study(slow=recovers(11.0, 101.0, 1001.0), fast=recovers(10.0, 100.0, 1000.0))
    assert headline(found) == "First to recover: fast, 1 s before slow."


def test_who_is_not_clearly_behind_leads_too() -> None:
    found = study(a=recovers(1.0, 2.0, 3.0), b=recovers(2.0, 2.0, 2.1), c=recovers(9.0, 9.0, 9.0))
    assert headline(found) == "First to recover: a, b, 7 s before c."


def test_who_fails_in_some_run_is_named() -> None:
    found = study(a=recovers(1.0, 1.0), b=recovers(0.5, None), c=recovers(None, None))
    assert headline(found) == "First to recover: a. Not every run ends well with b, c."


def test_nobody_may_make_it() -> None:
    found = study(a=recovers(None, 1.0), b=recovers(None, None))
    assert headline(found) == "First to recover: none in every run."


def test_who_are_alike_in_one_thing_are_compared_by_the_next() -> None:
    found = study(
        late={"recovery": [3.0, 4.0], "goodput": [0.7, 0.8]},
        soon={"recovery": [1.0, 2.0], "goodput": [0.7, 0.8]},
    )
    assert headline(found) == "First to recover: soon, 2 s before late."


def test_where_more_is_better_the_largest_leads() -> None:
    found = study(low={"goodput": [0.7, 0.8]}, high={"goodput": [0.8, 0.9]})
    assert headline(found) == "Highest goodput: high, 0.1 above low."


def test_who_are_alike_in_everything_are_said_to_be() -> None:
    found = study(
        one={"recovery": [0.0, 0.0], "goodput": [0.7, 0.8]},
        two={"recovery": [0.0, 0.0], "goodput": [0.8, 0.7]},
    )
    assert headline(found) == "In goodput and recovery these runs show no difference between them."


@pytest.mark.parametrize(
    ("metric", "said"),
    [("time", "First to be done: a, 1 s before b."), ("peak", "Lowest peak: a, 1 below b.")],
)
def test_each_model_has_its_own_words(metric: str, said: str) -> None:
    assert headline(study(a={metric: [1.0, 1.0]}, b={metric: [2.0, 2.0]})) == said


def test_one_contestant_or_one_run_is_no_comparison() -> None:
    assert headline(study(a=recovers(1.0, 2.0))) == ""
    assert headline(study(a=recovers(1.0), b=recovers(2.0))) == ""
