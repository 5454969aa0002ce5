import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

import click
import pytest
from click.testing import CliRunner

from tarry.cli.client.client import Server
from tarry.cli.commands import GROUPS, tarry
from tarry.cli.extras import PACKAGES

ONE_FORM = {
    *(("serve",), ("api",), ("worker",), ("completion",), ("schema",), ("openapi",)),
    *(("migrate", "sql"), ("storm", "show")),
}
"""Commands that print nothing, or always the same."""
EXAMPLE = re.compile(r"\d+(ms|s|min|h|d)\b|likewise")


def test_the_version_is_the_package_s() -> None:
    told = CliRunner().invoke(tarry, ["--version"])
    assert told.output == f"tarry {version('tarry')}\n"
    assert told.exit_code == 0


def test_the_help_names_the_commands_and_the_exit_codes() -> None:
    told = CliRunner().invoke(tarry, ["-h"])
    assert told.exit_code == 0
    for word in ("Retries that never stampede.", "explain", "schema", "Exit codes: 0,", "2, the"):
        assert word in told.output


def test_the_help_tells_of_every_command_under_a_heading() -> None:
    told = CliRunner().invoke(tarry, ["-h"]).output.splitlines()
    assert [f"{heading}:" for heading in GROUPS] == [
        line for line in told if line[:1].isupper() and line.endswith(":") and line != "Options:"
    ]
    listed = {line.split()[0] for line in told if line.startswith("  ") and line[2] != " "}
    assert set(tarry.commands) <= listed


def every_command(
    command: click.Command = tarry, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from every_command(below, (*path, name))


@pytest.mark.parametrize(("path", "command"), list(every_command()), ids=str)
def test_every_help_fits_a_terminal_and_is_not_cut_short(
    path: tuple[str, ...], command: click.Command
) -> None:
    told = CliRunner().invoke(tarry, [*path, "--help"], env={"COLUMNS": "80"}).output
    assert max(map(len, told.splitlines())) <= 80
    assert "INTEGER" not in told
    assert "FLOAT" not in told
    if isinstance(command, click.Group):
        _, _, commands = told.partition("Options:")
        assert "..." not in commands
    else:
        assert ("--json" in told) is (path not in ONE_FORM), path


def test_ctrl_c_ends_a_command_with_its_own_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(Server, "request", interrupted)
    ended = CliRunner().invoke(tarry, ["app", "get", "shop", "--key", "k"])
    assert (ended.exit_code, ended.stderr) == (130, "\ninterrupted\n")


@pytest.mark.parametrize(
    "typed", [["schema"], ["storm", "list"], ["seal", "new"], ["--help"], ["--version"]]
)
def test_output_that_cannot_be_written_is_one_line(typed: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "tarry.cli", *typed],
            env={**os.environ, "PYTHONUNBUFFERED": ""},  # some of it is left for the end
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (1, "Error: No space left on device\n")


def test_who_stops_reading_is_no_error() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tarry.cli", "openapi"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as reading:
        assert reading.stdout
        assert reading.stderr
        reading.stdout.close()
        assert reading.stderr.read() == ""


@pytest.mark.parametrize("variable", ["NO_COLOR=1", "TERM=dumb", "TERM=xterm"])
def test_who_wants_no_colour_gets_none(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command
    def paint() -> None:
        click.secho("red", fg="red")

    monkeypatch.setitem(tarry.commands, "paint", paint)
    name, _, value = variable.partition("=")
    nothing: dict[str, str | None] = {"NO_COLOR": None, "TERM": "xterm"}
    told = CliRunner().invoke(tarry, ["paint"], env={**nothing, name: value}, color=True)
    assert ("\x1b" in told.stdout) is (variable == "TERM=xterm")


def test_a_worker_imports_no_other_command_and_no_package_that_prints_tables() -> None:
    program = (
        "import sys\n"
        "from tarry.cli.commands import tarry\n"
        "tarry(['worker', '--help'], standalone_mode=False)\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    imported = set(ended.stderr.decode().split())
    assert "tarry.cli.service.worker" in imported
    others = {path for part in GROUPS.values() for path in part.values()}
    assert imported & others == {"tarry.cli.service.worker"}
    assert imported.isdisjoint({"rich", "http.client", "email.message"})


def test_commands_that_ask_a_server_need_no_package_of_the_service() -> None:
    program = (
        "import sys; sys.modules.update(dict.fromkeys(sys.argv.pop().split()))\n"
        "from tarry.cli.main import main\nmain()\n"
    )
    typed = ("app", "list", "--server", "http://127.0.0.1:1", "--key", "k")
    ended = subprocess.run(
        [sys.executable, "-c", program, *typed, " ".join(PACKAGES)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 3
    assert ended.stderr.splitlines()[-1].startswith("Error: http://127.0.0.1:1 cannot be reached")


@pytest.mark.parametrize("typed", [["explode"], ["--wrong"], ["explain"]])
def test_a_mistyped_command_ends_with_two(typed: list[str]) -> None:
    told = CliRunner().invoke(tarry, typed)
    assert told.exit_code == 2
    assert told.stdout == ""
    (line,) = told.stderr.splitlines()
    assert line.startswith("Error: ")
    assert line.endswith("--help`)")


def test_what_is_missing_is_said_in_one_line_also_if_there_is_a_choice() -> None:
    told = CliRunner().invoke(tarry, ["completion"])
    (line,) = told.stderr.splitlines()
    assert "Choose from: bash, zsh, fish" in line


def test_a_group_alone_tells_what_is_in_it() -> None:
    told = CliRunner().invoke(tarry, ["app"])
    assert (told.exit_code, told.stdout) == (2, "")
    assert "Commands:" in told.stderr


@pytest.mark.parametrize(("path", "command"), list(every_command()), ids=str)
def test_every_command_tells_its_exit_codes_and_what_each_option_is(
    path: tuple[str, ...], command: click.Command
) -> None:
    if not isinstance(command, click.Group):
        assert (command.epilog or "").startswith("Exit codes: 0, "), path
    options = [
        param for param in command.params if isinstance(param, click.Option) and not param.hidden
    ]
    assert [one.name for one in options if not one.help] == []
    spans = [option for option in options if option.metavar in {"DURATION", "WHEN"}]
    unclear = [span.name for span in spans if not EXAMPLE.search(span.help or "")]
    assert unclear == [], "what is typed there is not shown"
