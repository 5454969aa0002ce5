import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tarry.call.policy import Policy
from tarry.cli.commands import tarry
from tarry.cli.storm import policy_search
from tarry.cli.storm.policy_search import SearchOptions

WISH = ("--clients", "100", "--capacity", "50", "--outage", "5", "--latency")


def run(*typed: str) -> Result:
    return CliRunner().invoke(tarry, ["recommend", *typed])


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[SearchOptions]:
    """What was asked for; nothing is simulated."""
    asked: list[SearchOptions] = []
    monkeypatch.setattr(policy_search, "search_policy", asked.append)
    return asked


def test_a_wish_has_its_defaults(heard: list[SearchOptions]) -> None:
    assert run(*WISH, "20").exit_code == 0
    wish = {"clients": 100, "capacity": 50.0, "outage": 5.0, "latency": 20.0}
    assert heard == [
        SearchOptions({**wish, "endpoint": "brittle"}, 1, 20, as_json=False, save=None)
    ]


def test_everything_can_be_chosen(heard: list[SearchOptions]) -> None:
    options = "--endpoint shed --seed 7 --runs 3 --json --save p.toml"
    assert run(*WISH, "20", *options.split()).exit_code == 0
    (asked,) = heard
    assert asked.wish["endpoint"] == "shed"
    assert asked[1:] == (7, 3, True, Path("p.toml"))


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("--capacity 60 --outage 20 --latency 60", "Missing option '--clients'"),
        ("--clients 5 --outage 20 --latency 60", "Missing option '--capacity'"),
        ("--clients 5 --capacity 60 --latency 60", "Missing option '--outage'"),
        ("--clients 5 --capacity 60 --outage 20", "Missing option '--latency'"),
        ("--clients few", "Invalid value for '--clients'"),
        ("--endpoint glass", "'glass' is not one of 'shed', 'brittle', 'degrade'"),
        ("--runs 1", "Invalid value for '--runs'"),
        ("--seed -1", "Invalid value for '--seed'"),
    ],
)
def test_what_is_mistyped_ends_with_two(heard: list[SearchOptions], typed: str, said: str) -> None:
    told = run(*typed.split())
    assert told.exit_code == 2
    assert told.stdout == ""
    assert said in told.stderr
    assert not heard


def test_a_wish_that_comes_true_ends_with_nothing_wrong(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    told = run(*WISH, "20", "--json", "--save", str(path))
    assert told.exit_code == 0
    assert told.stderr == ""
    document = json.loads(told.stdout)
    assert document["feasible"] is True
    assert Policy.load(path).to_dict() == document["recommended"]["policy"]


def test_a_wish_that_cannot_come_true_ends_with_one() -> None:
    told = run(*WISH, "1.5")
    assert told.exit_code == 1
    assert "Infeasible: no policy can." in told.stdout
    assert "Recommended for clients that retry for themselves:" in told.stdout


def test_the_help_names_the_options_and_the_exit_codes() -> None:
    told = run("--help")
    assert told.exit_code == 0
    words = ("--clients N", "--capacity C", "--outage SECONDS", "--latency SECONDS", "--endpoint")
    for word in (*words, "--json", "--save", "Exit codes: 0,", "130"):
        assert word in told.stdout


def test_without_numpy_it_says_what_to_install() -> None:
    program = "import sys; sys.modules['numpy'] = None\nfrom tarry.cli.main import main\nmain()\n"
    ended = subprocess.run(
        [sys.executable, "-c", program, "recommend", *WISH, "20"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "Error: the simulator needs: pip install 'tarry[sim]'\n"
