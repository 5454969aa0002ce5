import json
from importlib.metadata import version
from io import StringIO
from typing import cast

import pytest
from rich.console import Console

from tarry.cli.storm.results import as_json, show
from tarry.core.policy import Policy
from tarry.sim.estimate import estimate
from tarry.sim.run import Contestant, Measure, Scenario
from tarry.sim.scenario.storm import Storm
from tarry.sim.study import Result, Study

STORM = Storm("s", "", "world", {"clients": 3, "outage": None}, "", cast("Scenario", None))
MEASURES = {"recovery": Measure("until all is well", "s"), "peak_ratio": Measure("height")}
Numbers = list[float | None]


def study(*contestants: tuple[str, Numbers, Numbers], asked: int = 0) -> Study:
    """A study of contestants by name, recoveries and peaks."""
    results = tuple(
        Result(
            Contestant(name, Policy()),
            {"recovery": estimate(recoveries), "peak_ratio": estimate(peaks)},
            {"recovery": tuple(recoveries), "peak_ratio": tuple(peaks)},
            {},
        )
        for name, recoveries, peaks in contestants
    )
    runs = len(contestants[0][1])
    return Study(STORM, 7, asked or runs, runs, MEASURES, results)


PLAIN = study(("fast", [50.0, 60.0], [1.0, 1.0]), ("[b]", [100.0, None], [2.0, 1234.5]))
LONG = PLAIN._replace(
    measures={**MEASURES, "peak_again": Measure("the same")},
    results=tuple(
        result._replace(
            metrics={**result.metrics, "peak_again": result.metrics["peak_ratio"]},
            values={**result.values, "peak_again": result.values["peak_ratio"]},
        )
        for result in PLAIN.results
    ),
)


def shown(found: Study, width: int = 80) -> list[str]:
    out = StringIO()
    show(found, Console(file=out, width=width, highlight=False))
    return out.getvalue().splitlines()


def rows(lines: list[str]) -> list[list[str]]:
    kept = [line for line in lines if line[0] in "│┃"]
    return [[cell.strip() for cell in line[1:-1].replace("┃", "│").split("│")] for line in kept]


def test_programs_get_means_with_their_intervals_and_how_to_repeat_it() -> None:
    document = json.loads(as_json(PLAIN))
    assert list(document) == ["results", "scenario", "seed", "runs", "asked", "tarry"]
    assert document["results"] == [
        {
            "policy": "fast",
            "metrics": {
                "recovery": {"mean": 55.0, "ci95": list(estimate([50.0, 60.0])[1:3])},
                "peak_ratio": {"mean": 1.0, "ci95": [1.0, 1.0]},
            },
        },
        {
            "policy": "[b]",
            "metrics": {
                "recovery": {"mean": None, "ci95": None},
                "peak_ratio": {"mean": 618.25, "ci95": list(estimate([2.0, 1234.5])[1:3])},
            },
        },
    ]
    assert document["scenario"] == {
        "name": "s",
        "model": "world",
        "settings": {"clients": 3, "outage": None},
    }
    assert (document["seed"], document["runs"], document["asked"]) == (7, 2, 2)
    assert document["tarry"] == version("tarry")


def test_one_run_has_a_mean_and_no_interval() -> None:
    (only,) = json.loads(as_json(study(("a", [1.5], [2.0]))))["results"]
    assert only["metrics"]["recovery"] == {"mean": 1.5, "ci95": None}


def test_people_get_a_row_for_each_policy_and_what_it_says() -> None:
    lines = shown(PLAIN)
    assert rows(lines) == [
        ["", "recovery", ""],
        ["Policy", "(s)", "peak ratio"],
        ["fast", "55 ± 64", "1"],
        ["[b]", "never (1 of 2)", "618 ± 7,830"],
    ]
    assert lines[-2:] == [
        "2 runs, seed 7. ± is the 95 % confidence interval of the mean.",
        "First to recover: fast. Not every run ends well with [b].",
    ]


def test_what_never_happened_at_all_is_said_without_a_count() -> None:
    lines = shown(study(("a", [None, None], [None, None])))
    assert rows(lines)[-1] == ["a", "never", "none"]


def test_where_a_row_is_too_long_policies_stand_side_by_side() -> None:
    lines = shown(LONG, width=48)
    assert rows(lines) == [
        ["Metric", "fast", "[b]"],
        ["recovery (s)", "55 ± 64", "never (1 of 2)"],
        ["peak ratio", "1", "618 ± 7,830"],
        ["peak again", "1", "618 ± 7,830"],
    ]


def test_where_even_that_is_too_wide_there_are_several_tables() -> None:
    lines = shown(LONG, width=36)
    assert rows(lines) == [
        ["Metric", "fast"],
        ["recovery (s)", "55 ± 64"],
        ["peak ratio", "1"],
        ["peak again", "1"],
        ["Metric", "[b]"],
        ["recovery (s)", "never (1 of 2)"],
        ["peak ratio", "618 ± 7,830"],
        ["peak again", "618 ± 7,830"],
    ]


@pytest.mark.parametrize("width", [20, 36, 44, 80, 200])
def test_no_table_is_wider_than_the_terminal(width: int) -> None:
    assert max(len(line) for line in shown(LONG, width) if line[0] in "┏│└") <= width


def test_runs_that_were_not_made_are_owned_up_to() -> None:
    found = study(("a", [1.0], [1.0]), asked=20)
    assert shown(found)[-1] == "1 of 20 runs, seed 7."
    assert shown(study(("a", [1.0], [1.0])))[-1] == "1 run, seed 7."
    assert json.loads(as_json(found))["asked"] == 20
