from importlib.metadata import version

import pytest
from click.testing import CliRunner

from tarry.cli.commands import tarry
from tarry.core.schema import schema_text


def test_the_version_is_the_package_s() -> None:
    told = CliRunner().invoke(tarry, ["--version"])
    assert told.output == f"tarry {version('tarry')}\n"
    assert told.exit_code == 0


def test_the_help_names_the_commands_and_the_exit_codes() -> None:
    told = CliRunner().invoke(tarry, ["-h"])
    assert told.exit_code == 0
    for word in ("Retries that never stampede.", "explain", "schema", "Exit codes: 0,", "2, the"):
        assert word in told.output


def test_the_schema_is_printed_as_published() -> None:
    told = CliRunner().invoke(tarry, ["schema"])
    assert told.exit_code == 0
    assert told.stdout == schema_text()


@pytest.mark.parametrize("typed", [["explode"], ["--wrong"], ["explain"]])
def test_a_mistyped_command_ends_with_two(typed: list[str]) -> None:
    told = CliRunner().invoke(tarry, typed)
    assert told.exit_code == 2
    assert told.stdout == ""
    assert "Usage: " in told.stderr
