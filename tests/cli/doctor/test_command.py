import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tarry.cli.commands import tarry
from tarry.cli.doctor import command
from tarry.cli.doctor.finding import Finding, ok, wrong
from tests.cli.shell import Shell


@pytest.fixture(autouse=True)
def resolver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are found, whatever network this is."""
    monkeypatch.setattr(command, "names", lambda: ok("dns", "works"))


def found_of(shell: Shell, *typed: str) -> tuple[int, dict[str, str]]:
    ended = shell.run("doctor", *typed, "--json")
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    return ended.exit_code, {row["check"]: row["state"] for row in rows}


def test_everything_is_looked_at_one_after_the_other(shell: Shell) -> None:
    code, found = found_of(shell, "--db", shell.db)
    order = ["python", "extras", "settings", "variables", "dns", "outgoing", "schema", "server"]
    assert [check for check in found if check in order] == order
    assert (code, found["key"]) == (0, "ok")
    shell.out("endpoint", "create", "shop", shell.receiver.url)
    shell.out("send", "shop", "order.paid", "--wait")
    assert found_of(shell, "--db", shell.db)[1]["success"] == "ok"
    said = shell.out("doctor")
    assert "ok      python: CPython" in said


def test_a_settings_file_that_is_wrong_is_a_finding(shell: Shell, folder: Path) -> None:
    (folder / "tarry.toml").write_text("typo = 1\n")
    code, found = found_of(shell)
    assert (code, found["settings"], found["server"]) == (1, "wrong", "ok")
    (folder / "tarry.toml").write_text(f'db = "{shell.db}"\n')
    code, found = found_of(shell)
    assert (code, found["settings"], found["schema"]) == (0, "ok", "ok")


def test_a_server_is_asked_if_it_or_a_key_is_known() -> None:
    def asked(**variables: str) -> bool:
        nothing = dict.fromkeys(("TARRY_SERVER", "TARRY_KEY", "TARRY_DB"))
        ended = CliRunner().invoke(tarry, ["doctor", "--json"], env={**nothing, **variables})
        return '"check": "server"' in ended.stdout

    assert not asked()
    assert asked(TARRY_SERVER="http://127.0.0.1:1")
    assert asked(TARRY_KEY="k")


def test_rules_for_what_may_be_called_are_looked_at(shell: Shell) -> None:
    assert found_of(shell, "--allow-network", "10.0.0.0/99")[1]["outgoing"] == "wrong"


def test_without_the_extra_the_rest_is_looked_at(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(_db: str | None) -> list[Finding]:
        return [wrong("extras", "missing")]

    monkeypatch.setattr(command, "check_python_and_extras", lacking)
    code, found = found_of(shell, "--db", shell.db)
    assert (code, "outgoing" in found, "schema" in found, found["server"]) == (
        1,
        False,
        False,
        "ok",
    )
