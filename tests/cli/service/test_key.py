import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.shell import KEY, Shell


@pytest.fixture(params=["db", "server"])
def where(shell: Shell, request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Both ways to the keys."""
    return {"db": ("--db", shell.db), "server": ("--server", shell.url)}[request.param]


def test_a_key_is_made_and_opens_what_it_may(shell: Shell, where: tuple[str, ...]) -> None:
    typed = ("--name", "ci", "--scope", "read", "--expires", "30d")
    told = shell.run("key", "create", *where, *typed)
    assert told.exit_code == 0, told.output
    text = told.stdout.strip()
    assert text.startswith("tarry_")
    assert told.stderr.endswith(" has the scopes read. The key is shown only now:\n")
    assert shell.run("app", "list", "--key", text).exit_code == 0
    code, said = shell.wrong("app", "create", "x", "--key", text)
    assert (code, "403 insufficient access" in said) == (1, True)


def test_keys_are_listed_without_their_texts_and_revoked(
    shell: Shell, where: tuple[str, ...]
) -> None:
    made = shell.json("key", "create", *where, "--name", "app", "--scope", "send")
    text = made.pop("key")
    found = {line["id"]: line for line in shell.lines("key", "list", *where, "--all")}
    assert found[made["id"]] == made
    said = shell.out("key", "list", *where, "--all")
    assert text not in said
    assert made["id"] in said
    assert max(map(len, said.splitlines())) <= 100
    assert shell.out("key", "revoke", made["id"], *where) == f"{made['id']} is revoked\n"
    (gone,) = (one for one in shell.lines("key", "list", *where) if one["id"] == made["id"])
    assert gone["revokedAt"] is not None
    assert "revoked" in shell.out("key", "list", *where)


def test_a_list_may_be_shown_in_part(shell: Shell, where: tuple[str, ...]) -> None:
    for _ in range(2):
        shell.out("key", "create", *where)
    told = shell.run("key", "list", *where, "--limit", "1", "--json")
    assert len(told.stdout.splitlines()) == 1
    assert "There are more" in told.stderr


def test_an_unknown_key_is_named(shell: Shell, where: tuple[str, ...]) -> None:
    code, said = shell.wrong("key", "revoke", "key_x", *where)
    assert (code, "key_x" in said) == (1, True)


def test_where_there_is_none_that_is_said_to_people(shell: Shell) -> None:
    nowhere = ("key", "list", "--db", shell.db, "--environment", "org_none")
    assert shell.run(*nowhere).stderr == "None found.\n"
    assert shell.run(*nowhere, "--json").stderr == ""


def test_environments_have_their_own_keys(shell: Shell) -> None:
    other = ("--db", shell.db, "--environment", "org_other")
    made = shell.json("key", "create", *other)
    assert [line["id"] for line in shell.lines("key", "list", *other)] == [made["id"]]
    assert made["id"] not in shell.out("key", "list", "--db", shell.db, "--all")
    assert shell.lines("app", "list", "--key", made["key"]) == []


def test_the_database_counts_unless_the_server_was_typed(shell: Shell, folder: Path) -> None:
    (folder / "tarry.toml").write_text(f'db = "{shell.db}"\n')
    made = shell.json("key", "create", "--key", "wrong")
    assert made["key"].startswith("tarry_")
    code, said = shell.wrong("key", "create", "--server", shell.url, "--key", "wrong")
    assert (code, "401" in said) == (1, True)


@pytest.mark.usefixtures("folder")
def test_it_must_be_said_where_they_are(shell: Shell) -> None:
    assert shell.wrong("key", "list", "--db", shell.db, "--server", shell.url)[0] == 2
    ended = subprocess.run(
        [sys.executable, "-m", "tarry.cli", "key", "list"],
        env={},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    said = "no API key for http://127.0.0.1:8400: give --key-file or --key, or set TARRY_KEY; or"
    assert f"{said} use the database directly, e.g. --db sqlite:///hooks.db" in ended.stderr


@pytest.mark.usefixtures("folder")
def test_the_server_is_asked_that_other_commands_ask(shell: Shell) -> None:
    assert shell.json("key", "create")["key"].startswith("tarry_")
    code, said = shell.wrong("key", "create", "--environment", "org_other")
    assert (code, "--environment needs --db" in said) == (2, True)


def test_a_database_that_is_not_there_is_not_made(shell: Shell, folder: Path) -> None:
    code, said = shell.wrong("key", "create", "--db", "sqlite:///typo.db")
    assert (code, said) == (3, "Error: there is no file typo.db; `tarry migrate up` makes one")
    assert not (folder / "typo.db").exists()


def test_with_nothing_but_a_server_a_key_is_needed(shell: Shell) -> None:
    shell.variables["TARRY_KEY"] = None
    try:
        code, said = shell.wrong("key", "list", "--server", shell.url)
    finally:
        shell.variables["TARRY_KEY"] = KEY
    assert (code, "no API key for" in said) == (2, True)
