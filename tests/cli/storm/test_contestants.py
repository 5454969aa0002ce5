from pathlib import Path

import pytest

from tarry.cli.input.policy_file import BadFile
from tarry.cli.storm.contestants import contestants
from tarry.core.budget import QuotaRule
from tarry.core.policy import Policy
from tarry.core.text import to_json, to_toml
from tarry.sim.run import Contestant
from tarry.sim.scenario.reader import from_toml

CROWD = "model = 'timeline'\nclients = 3\nretries = 1\n"
POLICIES = "[policies.one]\nattempts = 2\n[policies.two]\nattempts = 3\n"
BOTH = from_toml(CROWD + POLICIES, "both")
LANE = from_toml("model = 'backlog'\nwaiting = 3\ncapacity = 1\n", "lane")
ONE, TWO = Contestant("one", Policy(attempts=2)), Contestant("two", Policy(attempts=3))


def refused(*typed: str) -> str:
    with pytest.raises(BadFile) as caught:
        contestants(BOTH, typed)
    assert caught.value.exit_code == 2
    return caught.value.message


def test_without_a_word_the_scenario_s_own_are_taken() -> None:
    assert contestants(BOTH, []) == (ONE, TWO)


def test_those_that_are_named_are_taken_in_that_order() -> None:
    assert contestants(BOTH, ["two"]) == (TWO,)
    assert contestants(BOTH, ["two", "one"]) == (TWO, ONE)


def test_a_file_is_named_by_its_policy_or_else_by_itself(tmp_path: Path) -> None:
    named, plain = tmp_path / "a.toml", tmp_path / "b.json"
    named.write_text(to_toml(Policy(name="orders", attempts=7)))
    plain.write_text(to_json(Policy(attempts=8)))
    assert contestants(BOTH, [str(named), "one", str(plain)]) == (
        Contestant("orders", Policy(name="orders", attempts=7)),
        ONE,
        Contestant("b", Policy(attempts=8)),
    )


def test_a_file_gets_the_guards_of_the_scenario(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(to_toml(Policy()))
    storm = from_toml("model = 'server'\nload = 0.5\nbudget = {kind = 'quota'}", "s")
    assert contestants(storm, [str(path)]) == (Contestant("a", Policy(), QuotaRule()),)


def test_those_of_the_same_name_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "one.toml"
    path.write_text(to_toml(Policy()))
    found = contestants(BOTH, ["one", str(path), "two", "one"])
    assert [one.name for one in found] == ["one", "one (2)", "two", "one (3)"]


def test_paced_is_the_pacer_wherever_it_is_typed() -> None:
    assert contestants(LANE, ["paced"]) == (Contestant("paced", None),)


def test_the_pacer_has_nothing_to_pace_without_a_backlog() -> None:
    assert refused("paced").startswith("both: 'policy' is 'paced'; it must be a policy: ")


def test_a_word_that_means_nothing_gets_the_nearest_that_does() -> None:
    assert refused("tow") == (
        "'--policy' is 'tow'; it must be a .toml or .json file, or one of one, two, paced"
    )
    assert refused("pased").endswith("one of one, two, paced (did you mean paced?)")
    assert "it must be a .toml or .json file" in refused("policy.yaml")


def test_a_file_that_is_wrong_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("atempts = 2")
    assert refused(str(path)).startswith(f"{path}: 'atempts' is 2; it must be one of the keys")
    assert refused(str(tmp_path / "b.toml")).startswith(f"{tmp_path / 'b.toml'}: No such file")


def test_with_nobody_to_play_there_is_no_storm() -> None:
    with pytest.raises(BadFile, match=r"^lane: 'policies' is missing; there must be some, in the"):
        contestants(LANE, [])
