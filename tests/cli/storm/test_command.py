import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tarry.cli.commands import tarry
from tarry.cli.storm import simulation
from tarry.cli.storm.simulation import StormOptions
from tarry.sim.shipped import names, shipped


def run(*typed: str) -> Result:
    return CliRunner().invoke(tarry, ["storm", *typed])


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[StormOptions]:
    """What was asked for; nothing is simulated."""
    calls: list[StormOptions] = []
    monkeypatch.setattr(simulation, "run_simulation", calls.append)
    return calls


def test_a_storm_has_its_defaults(heard: list[StormOptions]) -> None:
    assert run("run", "brief-blip").exit_code == 0
    (asked,) = heard
    assert asked == StormOptions(
        scenario="brief-blip",
        policies=(),
        seed=1,
        runs=20,
        as_json=False,
        report=None,
        plot=None,
        command="tarry storm run brief-blip --seed 1 --runs 20",
    )


def test_everything_can_be_chosen(heard: list[StormOptions]) -> None:
    options = "--seed 7 --runs 3 --json --report out.html --plot out.png"
    assert run("run", "s.toml", *options.split(), "--policy", "my policy.toml").exit_code == 0
    (asked,) = heard
    assert asked == StormOptions(
        scenario="s.toml",
        policies=("my policy.toml",),
        seed=7,
        runs=3,
        as_json=True,
        report=Path("out.html"),
        plot=Path("out.png"),
        command="tarry storm run s.toml --policy 'my policy.toml' --seed 7 --runs 3",
    )


@pytest.mark.parametrize(
    "typed",
    [
        "s --policy a --policy b --policy c",
        "s --policy a b c",
        "s --policy a b --policy c",
        "s a b c",
        "s a --seed 1 b --json c",
        "--seed 1 s --policy=a b --runs=20 c",
        "--policy a s b c",
        "--policy a s --policy b --policy c",
    ],
)
def test_policies_are_taken_in_the_order_typed(heard: list[StormOptions], typed: str) -> None:
    assert run("run", *typed.split()).exit_code == 0
    (asked,) = heard
    assert (asked.scenario, asked.policies, asked.seed, asked.runs) == ("s", ("a", "b", "c"), 1, 20)


def test_compare_takes_its_policies_without_the_option(heard: list[StormOptions]) -> None:
    assert run("compare", "s", "b", "a", "--seed", "3").exit_code == 0
    (asked,) = heard
    assert (asked.scenario, asked.policies) == ("s", ("b", "a"))
    assert asked.command == "tarry storm compare s b a --seed 3 --runs 20"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("run", "Missing argument 'SCENARIO [POLICY ...]'"),
        ("run --policy a", "Missing argument 'SCENARIO [POLICY ...]'"),
        ("run s --policy", "Option '--policy' requires an argument"),
        ("run s --seed -1", "Invalid value for '--seed'"),
        ("run s --runs 0", "Invalid value for '--runs'"),
        ("run s --runs many", "Invalid value for '--runs'"),
        ("run s --wrong", "No such option"),
        ("compare s", "Missing argument 'POLICY ...'"),
        ("compare", "Missing argument 'SCENARIO POLICY ...'"),
        ("explode", "No such command 'explode'"),
    ],
)
def test_what_is_mistyped_ends_with_two(heard: list[StormOptions], typed: str, said: str) -> None:
    told = run(*typed.split())
    assert told.exit_code == 2
    assert told.stdout == ""
    assert said in told.stderr
    assert not heard


def test_a_whole_storm_from_the_command_line() -> None:
    told = run("run", "brief-blip", "full", "--runs", "2", "--json")
    assert told.exit_code == 0
    (result,) = json.loads(told.stdout)["results"]
    assert result["policy"] == "full"
    assert list(result["metrics"])[:3] == ["peak", "mean", "peak_to_mean"]
    assert told.stderr == ""


def test_a_scenario_that_is_wrong_ends_with_two_and_one_line() -> None:
    told = run("run", "breif-blip")
    assert told.exit_code == 2
    assert told.stdout == ""
    assert told.stderr.endswith("(did you mean brief-blip?)\n")
    assert told.stderr.count("\n") == 1


def test_the_list_has_every_scenario_with_its_model() -> None:
    told = run("list")
    assert told.exit_code == 0
    for name in names():
        (line,) = [line for line in told.stdout.splitlines() if f"│ {name} " in line]
        assert f"│ {shipped(name).model} " in line


def test_the_list_for_programs_has_what_each_is_about() -> None:
    told = run("list", "--json")
    assert told.exit_code == 0
    assert json.loads(told.stdout)["scenarios"] == [
        {"name": name, "model": shipped(name).model, "about": shipped(name).about}
        for name in names()
    ]


def test_a_scenario_is_shown_as_it_is_written() -> None:
    told = run("show", "brief-blip")
    assert told.exit_code == 0
    assert told.stdout == shipped("brief-blip").text


@pytest.mark.parametrize("command", ["run", "compare", "list", "show"])
def test_each_command_explains_itself(command: str) -> None:
    told = run(command, "--help")
    assert told.exit_code == 0
    assert f"Usage: tarry storm {command}" in told.stdout


@pytest.mark.parametrize("command", ["run", "compare"])
def test_the_help_names_the_options_and_the_exit_codes(command: str) -> None:
    told = run(command, "--help").stdout
    words = ("SCENARIO", "POLICY", "--seed", "--runs", "--json", "--report", "--plot", "130")
    for word in words:
        assert word in told
