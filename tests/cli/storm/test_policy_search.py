import json
from pathlib import Path

import pytest
from click.exceptions import Exit

from tarry.call.policy import Policy
from tarry.cli.input.policy_file import BadFile
from tarry.cli.storm.policy_search import BadWish, SearchOptions, search_policy
from tarry.sim.backlog.model import Backlog
from tarry.sim.chance import Chance
from tarry.sim.run import Contestant, Run

WISH = {"clients": 100, "capacity": 50.0, "outage": 5.0, "latency": 20.0, "endpoint": "brittle"}
ASKED = SearchOptions(WISH, seed=1, runs=4, as_json=True, save=None)


def interrupt_after(simulations: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C when so many simulations are done."""
    left = [None] * simulations
    simulate = Backlog.simulate

    def some(self: Backlog, contestant: Contestant, chance: Chance) -> Run:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        return simulate(self, contestant, chance)

    monkeypatch.setattr(Backlog, "simulate", some)


def test_people_get_sentences_a_table_and_a_policy(capsys: pytest.CaptureFixture[str]) -> None:
    search_policy(ASKED._replace(as_json=False))
    told = capsys.readouterr()
    assert told.out.startswith("100 clients fail when an outage of 5 s begins; ")
    assert 'kind = "' in told.out
    assert "┃ Policy" in told.out
    assert told.err == ""


def test_the_same_seed_gives_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for seed in (1, 1, 2):
        search_policy(ASKED._replace(seed=seed))
        told.append(capsys.readouterr().out)
    assert told[0] == told[1] != told[2]


@pytest.mark.parametrize("name", ["policy.toml", "policy.json", "POLICY.TOML"])
def test_the_policy_is_saved_as_it_was_told(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    search_policy(ASKED._replace(save=path))
    told = json.loads(capsys.readouterr().out)
    assert Policy.load(path).to_dict() == told["recommended"]["policy"]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("clients", 0, "'--clients' is 0; it must be a whole number, 1 or more"),
        ("capacity", 0.0, "'--capacity' is 0.0; it must be a number, 1 or more"),
        ("outage", -5.0, "'--outage' is -5.0; it must be a number of seconds above 0"),
        ("latency", float("nan"), "'--latency' is nan; it must be a number of seconds above 0"),
    ],
)
def test_a_wish_that_makes_no_sense_ends_with_two(field: str, value: object, said: str) -> None:
    with pytest.raises(BadWish) as caught:
        search_policy(ASKED._replace(wish={**WISH, field: value}))
    assert caught.value.message.startswith(said)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("policy.yaml", "a name that ends in .toml or .json"),
        ("nowhere/policy.toml", "a file in a folder that is there"),
    ],
)
def test_a_place_to_save_is_checked_before_the_work(
    name: str, wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    interrupt_after(0, monkeypatch)
    with pytest.raises(BadFile) as caught:
        search_policy(ASKED._replace(save=path))
    assert caught.value.message == f"'--save' is {str(path)!r}; it must be {wanted}"


def test_a_file_that_cannot_be_written_after_all_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    path = tmp_path / "policy.toml"
    with pytest.raises(BadFile) as caught:
        search_policy(ASKED._replace(save=path))
    assert caught.value.message == f"{path}: No space left on device; it could not be written"


def test_ctrl_c_prints_what_is_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupt_after(200, monkeypatch)
    with pytest.raises(Exit) as ended:
        search_policy(ASKED)
    assert ended.value.exit_code == 130
    told = capsys.readouterr()
    document = json.loads(told.out)
    assert document["complete"] is False
    assert document["coordinated"] is None
    assert document["recommended"]["toml"]
    assert told.err == "Interrupted: this is what was known by then.\n"


def test_a_policy_that_was_not_looked_at_to_the_end_is_not_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupt_after(200, monkeypatch)
    with pytest.raises(Exit):
        search_policy(ASKED._replace(save=tmp_path / "policy.toml"))
    assert not list(tmp_path.iterdir())
    assert capsys.readouterr().err.endswith(" Nothing was saved.\n")


def test_ctrl_c_before_anything_is_known_prints_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupt_after(0, monkeypatch)
    with pytest.raises(Exit) as ended:
        search_policy(ASKED)
    assert ended.value.exit_code == 130
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "Interrupted before anything was known: there is nothing to show.\n"


def test_an_infeasible_wish_ends_with_one(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Exit) as ended:
        search_policy(ASKED._replace(wish={**WISH, "latency": 2.2}))
    assert ended.value.exit_code == 1
    document = json.loads(capsys.readouterr().out)
    assert document["feasible"] is False
    assert document["why"].startswith("Infeasible for clients that retry for themselves")
