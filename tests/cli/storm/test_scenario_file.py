from pathlib import Path

import pytest

from tarry.cli.input.policy_file import BadFile
from tarry.cli.storm.scenario_file import read_storm
from tarry.sim.shipped import shipped

CROWD = "model = 'timeline'\nclients = 3\nretries = 1\n"


def refused(typed: str | Path) -> str:
    with pytest.raises(BadFile) as caught:
        read_storm(str(typed))
    assert caught.value.exit_code == 2
    return caught.value.message


def test_a_scenario_that_comes_along_is_found_by_name() -> None:
    assert read_storm("brief-blip").text == shipped("brief-blip").text


@pytest.mark.parametrize("name", ["mine.toml", "mine.TOML"])
def test_a_file_is_found_by_its_path(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(CROWD)
    storm = read_storm(str(tmp_path / name))
    assert (storm.name, storm.settings["clients"]) == ("mine", 3)


def test_a_name_nobody_knows_gets_the_nearest_one() -> None:
    assert refused("breif-blip") == (
        "'SCENARIO' is 'breif-blip'; it must be a .toml file, or a name that `tarry storm list` "
        "shows (did you mean brief-blip?)"
    )
    assert refused("something/else").endswith("`tarry storm list` shows")


def test_what_is_wrong_in_a_file_is_told_with_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(CROWD + "buckets = 3")
    assert refused(path) == (
        f"{path}: 'buckets' is 3; it must be one of the keys model, about, policies, clients, "
        "retries, bucket (did you mean bucket?)"
    )


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none.toml"
    wanted = "name a scenario that can be read"
    assert refused(path) == f"{path}: No such file or directory; {wanted}"
    path.mkdir()
    assert refused(path) == f"{path}: Is a directory; {wanted}"
