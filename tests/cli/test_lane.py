from pathlib import Path

import pytest

from tests.cli.shell import Shell


@pytest.fixture
def endpoint(shell: Shell) -> str:
    made: str = shell.json("endpoint", "create", "shop", "https://example.com/in")["id"]
    return made


def test_an_endpoint_is_paused_and_resumed(shell: Shell, endpoint: str) -> None:
    assert shell.out("endpoint", "pause", "shop", endpoint) == f"{endpoint} is paused\n"
    assert shell.json("endpoint", "lane", "shop", endpoint)["standing"] == "paused"
    code, said = shell.wrong("endpoint", "probe", "shop", endpoint)
    assert (code, "400 not_enabled" in said) == (1, True)
    assert shell.json("endpoint", "resume", "shop", endpoint)["standing"] == "enabled"


def test_its_lane_is_shown(shell: Shell, endpoint: str) -> None:
    said = shell.out("endpoint", "lane", "shop", endpoint)
    assert said.splitlines()[0].split() == ["phase", "closed"]
    assert "backlog" in said
    assert shell.json("endpoint", "probe", "shop", endpoint)["phase"] == "closed"


def test_a_policy_is_given_shown_and_taken_away(shell: Shell, endpoint: str, folder: Path) -> None:
    (folder / "p.toml").write_text("attempts = 3\n")
    way = ("endpoint", "policy", "shop", endpoint)
    assert shell.out(*way).startswith("from: default\n")
    given = shell.json(*way, "--set", "p.toml")
    assert (given["source"], given["policy"]["attempts"]) == ("endpoint", 3)
    assert "up to 3 attempts" in shell.out(*way)
    assert shell.json(*way, "--clear")["source"] == "default"
    assert shell.wrong(*way, "--clear", "--set", "p.toml")[0] == 2
    assert shell.wrong(*way, "--set", "gone.toml")[0] == 2


def test_what_became_of_messages_is_counted(shell: Shell, endpoint: str) -> None:
    shell.out("endpoint", "pause", "shop", endpoint)
    shell.out("send", "shop", "order.paid")
    counts = shell.json("endpoint", "stats", "shop", endpoint, "--since", "1h")
    assert counts["messages"]["pending"] == 1
    assert counts["attempts"] == {"success": 0, "fail": 0, "canceled": 0}
    said = shell.out("endpoint", "stats", "shop", endpoint)
    assert "Pending" in said
    assert "attempts" in said
    code, words = shell.wrong("endpoint", "stats", "shop", endpoint, "--since", "90d")
    assert (code, "28 days" in words) == (1, True)
