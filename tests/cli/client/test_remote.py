from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tarry.cli.client.remote import confirm, given_fields, pairs
from tarry.cli.commands import tarry
from tests.cli.shell import KEY, Shell


@pytest.fixture
def runner(shell: Shell) -> CliRunner:
    """One whose environment says nothing."""
    return CliRunner(env=dict.fromkeys(shell.variables))


def test_flags_say_where_the_server_is(shell: Shell, runner: CliRunner) -> None:
    told = runner.invoke(tarry, ["app", "get", "shop", "--server", shell.url, "--key", KEY])
    assert told.exit_code == 0


@pytest.mark.usefixtures("folder")
def test_so_does_the_settings_file(shell: Shell, runner: CliRunner) -> None:
    Path("tarry.toml").write_text(f'server = "{shell.url}"\nkey = "{KEY}"\n')
    assert runner.invoke(tarry, ["app", "get", "shop"]).exit_code == 0


@pytest.mark.usefixtures("folder")
def test_without_a_key_one_line_says_so(runner: CliRunner) -> None:
    told = runner.invoke(tarry, ["app", "list"])
    assert told.exit_code == 2
    otherwise = "give --key-file or --key, or set TARRY_KEY"
    given_fields = f"Error: no API key for http://127.0.0.1:8400: {otherwise}\n"
    assert told.stderr == given_fields
    told = runner.invoke(tarry, ["app", "list"], env={"TARRY_API_KEY": "k"})
    assert told.exit_code == 2
    assert "(TARRY_API_KEY is only read by `tarry serve`)" in told.stderr
    Path("tarry.toml").write_text('api_key = "k"\n')
    assert "(api_key is only read by `tarry serve`" in runner.invoke(tarry, ["app", "list"]).stderr


@pytest.mark.usefixtures("folder")
def test_a_key_that_opens_nothing_is_refused(shell: Shell, runner: CliRunner) -> None:
    told = runner.invoke(tarry, ["app", "list", "--server", shell.url, "--key", "wrong"])
    assert (told.exit_code, "401 authentication_failed" in told.stderr) == (1, True)


def test_an_empty_list_is_said_to_be_empty_to_people_alone(shell: Shell) -> None:
    shell.out("app", "create", "lonely", "--uid", "lonely")
    told = shell.run("endpoint", "list", "lonely")
    assert (told.stdout, told.stderr) == ("", "None found.\n")
    told = shell.run("endpoint", "list", "lonely", "--json")
    assert (told.stdout, told.stderr) == ("", "")


def test_a_list_has_an_end(shell: Shell) -> None:
    for typed in (("app", "list"), ("key", "list")):
        code, given_fields = shell.wrong(*typed, "--limit", "9" * 30)
        assert (code, "is not in the range" in given_fields) == (2, True)


def test_pairs_are_read() -> None:
    assert pairs(["a=1", "b=", "c=x=y"], "--header") == {"a": "1", "b": "", "c": "x=y"}
    for wrong in ("a", "=a"):
        with pytest.raises(click.BadParameter, match="NAME=VALUE"):
            pairs([wrong], "--header")


def test_only_what_was_given_is_said() -> None:
    assert given_fields(a=None, b=(), c={}, d=False, e=0, f="") == {"d": False, "e": 0, "f": ""}


def test_a_change_changes_something(shell: Shell) -> None:
    code, told = shell.wrong("app", "update", "shop")
    assert code == 2
    assert told.startswith("Error: Nothing to change")


def test_what_is_given_is_not_taken_away_as_well(shell: Shell) -> None:
    for typed in (("app", "update", "shop"), ("endpoint", "update", "shop", "e")):
        code, told = shell.wrong(*typed, "--rate", "5", "--clear", "rate")
        assert (code, "name the same field" in told) == (2, True)


def test_who_is_sure_is_not_asked() -> None:
    confirm("Really?", yes=True)


def test_ctrl_c_at_the_question_ends_as_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("click.termui.visible_prompt_func", interrupt)
    with pytest.raises(click.exceptions.Exit) as ended:
        confirm("Really?", yes=False)
    assert ended.value.exit_code == 130
