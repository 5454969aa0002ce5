import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from tarry.cli.service.key_options import key_options
from tarry.cli.service.options import config_option


@click.command
@config_option
@key_options("the-key", "A key.")
def show(*, the_key: str | None) -> None:
    rest = sys.stdin.buffer.read().decode()
    click.echo(f"{the_key} {rest}")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with a key."""
    file = tmp_path / "key"
    file.touch(0o600)
    file.write_text("from-file\n")
    return file


def run(*typed: str, given: bytes = b"", **variables: str) -> Result:
    environment = {"TARRY_THE_KEY": None, "TARRY_THE_KEY_FILE": None, **variables}
    return CliRunner().invoke(show, typed, input=given, env=environment)


def test_a_key_comes_from_a_flag_a_file_or_a_variable(file: Path) -> None:
    assert run().stdout == "None \n"
    assert run("--the-key", "typed").stdout == "typed \n"
    assert run("--the-key-file", str(file)).stdout == "from-file \n"
    assert run(TARRY_THE_KEY="set").stdout == "set \n"
    assert run(TARRY_THE_KEY_FILE=str(file)).stdout == "from-file \n"


def test_standard_input_after_the_key_is_left_for_the_command() -> None:
    assert run("--the-key", "-", given=b" piped \nthe payload").stdout == "piped the payload\n"
    assert run(TARRY_THE_KEY="-", given=b"piped").stdout == "piped \n"


def test_a_flag_overrides_a_variable_whichever_of_the_two_it_is(file: Path) -> None:
    assert run("--the-key-file", str(file), TARRY_THE_KEY="set").stdout == "from-file \n"
    assert run("--the-key", "typed", TARRY_THE_KEY_FILE=str(file)).stdout == "typed \n"


def test_two_keys_of_one_source_are_an_error(file: Path) -> None:
    refused = run("--the-key-file", str(file), "--the-key", "typed")
    assert refused.exit_code == 2
    assert "--the-key and --the-key-file cannot be used together" in refused.stderr


@pytest.mark.parametrize("content", [b"", b"\n", b"two\nlines", b"\xff\xfe"])
def test_a_text_that_is_no_key_is_refused_and_not_shown(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    refused = run("--the-key-file", str(file))
    assert refused.exit_code == 2
    assert f"the file {file} of --the-key-file must hold a key" in refused.stderr
    assert "two" not in refused.stderr


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    refused = run("--the-key-file", str(tmp_path / "gone"))
    assert refused.exit_code == 2
    assert "gone cannot be read: No such file or directory" in refused.stderr


def test_without_standard_input_the_error_says_what_was_read() -> None:
    refused = run("--the-key", "-")
    assert refused.exit_code == 2
    assert "the first line of standard input must hold a key" in refused.stderr
