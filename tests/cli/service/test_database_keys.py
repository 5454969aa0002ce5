from pathlib import Path

import click
import pytest

from tarry.cli.service.database_keys import DatabaseKeys
from tarry.cli.service.options import NoDatabase
from tests.cli.shell import Shell


def test_a_ring_tells_as_the_api_does(shell: Shell) -> None:
    keys = DatabaseKeys(shell.db, "org_ring")
    made = keys.create("one", ("read", "send"), "2100-01-01T00:00:00+00:00")
    assert made["scopes"] == ["read", "send"]
    assert made["expiresAt"] == "2100-01-01T00:00:00Z"
    (found,) = keys.list()
    assert found == {name: value for name, value in made.items() if name != "key"}
    keys.revoke(made["id"])
    (gone,) = keys.list()
    assert gone["revokedAt"] is not None


def test_what_the_command_line_does_is_in_the_audit_trail(shell: Shell) -> None:
    keys = DatabaseKeys(shell.db, "org_default")
    made = keys.create("one", ("read",), None)
    keys.revoke(made["id"])
    entries = shell.lines("audit", "--actor", "command-line")
    assert [(entry["operation"], entry["target"]["id"]) for entry in entries] == [
        ("tarry key revoke", made["id"]),
        ("tarry key create", made["id"]),
    ]


def test_what_is_not_there_is_told(shell: Shell) -> None:
    with pytest.raises(click.ClickException, match="key_x"):
        DatabaseKeys(shell.db, "org_ring").revoke("key_x")


@pytest.mark.usefixtures("folder")
def test_no_database_is_made() -> None:
    with pytest.raises(NoDatabase):
        list(DatabaseKeys("sqlite:///typo.db", "org_default").list())
    assert not Path("typo.db").exists()
