from pathlib import Path

import pytest

from tests.cli.shell import Shell


@pytest.mark.parametrize(
    ("place", "source"), [((), "environment"), (("--app", "shop"), "application")]
)
def test_a_policy_is_given_shown_and_taken_away(
    shell: Shell, folder: Path, place: tuple[str, ...], source: str
) -> None:
    (folder / "p.toml").write_text("attempts = 3\n")
    way = ("policy", *place)
    assert shell.out(*way).startswith("from: default\n")
    given = shell.json(*way, "--set", "p.toml")
    assert (given["source"], given["policy"]["attempts"]) == (source, 3)
    assert shell.out("policy", "--app", "shop").startswith(f"from: {source}\n")
    assert shell.json(*way, "--clear")["source"] == "default"
    assert shell.wrong(*way, "--clear", "--set", "p.toml")[0] == 2


def test_a_quota_is_given_shown_and_taken_away(shell: Shell) -> None:
    way = ("app", "quota", "shop")
    free = "any number of its deliveries may wait (from: default)\n"
    assert shell.out(*way) == free
    said = shell.out(*way, "--set", "5")
    assert said == "at most 5 of its deliveries may wait (from: application)\n"
    assert shell.json(*way) == {"source": "application", "mostWaiting": 5}
    assert shell.out(*way, "--clear") == free
    assert shell.wrong(*way, "--clear", "--set", "5")[0] == 2
    assert shell.wrong(*way, "--set", "-1")[0] == 2
