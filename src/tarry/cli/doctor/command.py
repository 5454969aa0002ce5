"""`tarry doctor`: report what works, what is wrong, and what could be better."""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
from click.core import ParameterSource

from tarry.cli.client.remote import key_option, server_option
from tarry.cli.doctor.finding import Finding, State, ok, wrong
from tarry.cli.doctor.machine import EXTRAS, check_python_and_extras, names, variables
from tarry.cli.doctor.outgoing import outgoing
from tarry.cli.doctor.server import serving
from tarry.cli.output.tables import json_option
from tarry.cli.service.key_options import refuse_foreign_server
from tarry.cli.service.options import (
    SETTINGS_FILE,
    WrongSettings,
    allow_network_option,
    db_option,
    disk_reserve_option,
    from_file,
    ports_option,
)
from tarry.cli.service.options import serving as on_a_loop

COLOURS = {State.OK: "green", State.ADVICE: "yellow", State.WRONG: "red"}
_WRONG_FILE = "tarry.doctor.settings"


def lenient(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """Read the settings file, and keep an error in it as a finding."""
    try:
        return from_file(context, option, path)
    except WrongSettings as error:
        context.meta[_WRONG_FILE] = error.message
        return path or SETTINGS_FILE


@click.command(
    short_help="Look for problems, here or with a server.",
    epilog="Exit codes: 0, nothing is wrong; 1, something is wrong; 2, an option is wrong.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    callback=lenient,
    is_eager=True,
    help="A TOML file with settings; tarry.toml in this folder if there is one.",
)
@db_option(help="The database to check, if any.")
@server_option
@key_option
@allow_network_option
@ports_option
@disk_reserve_option
@json_option
def doctor(  # noqa: PLR0913  one argument per option
    *,
    config: Path | None,
    db: str | None,
    server: str,
    key: str | None,
    allow_network: tuple[str, ...],
    ports: str,
    disk_reserve: int | None,
    as_json: bool,
) -> None:
    """Check this machine, a database and a server for problems.

    A server is checked if you name one, or if a key to it is set. Fix everything that is wrong; you
    may ignore advice.
    """
    context = click.get_current_context()
    printer = _Printer(as_json=as_json)
    printer.show_all(check_python_and_extras(db))
    if (broken := context.meta.get(_WRONG_FILE)) is not None:
        printer.show(wrong("settings", broken))
    else:
        summary = "no settings file" if config is None else f"{config} is valid"
        printer.show(ok("settings", summary))
    printer.show(variables(os.environ, _variables_of(context.find_root().command)))
    printer.show(names())
    looked = not printer.lacking and db is not None
    if not printer.lacking:
        printer.show(outgoing(allow_network, ports))
    if looked and db is not None:
        _check_database(db, disk_reserve, printer)
    named = context.get_parameter_source("server") is not ParameterSource.DEFAULT
    if named or key is not None:
        if key is not None:
            refuse_foreign_server(server)
        printer.show_all(serving(server, key, backlog=not looked))
    if printer.anything_wrong:
        raise click.exceptions.Exit(1)


class _Printer:
    """Prints findings, and remembers whether anything is wrong."""

    def __init__(self, *, as_json: bool) -> None:
        self._json = as_json
        self.anything_wrong = self.lacking = False

    def show(self, finding: Finding) -> None:
        """Print one finding."""
        if finding.state is State.WRONG:
            self.anything_wrong = True
            self.lacking = self.lacking or finding.check == EXTRAS
        if self._json:
            click.echo(json.dumps(finding._asdict(), ensure_ascii=False))
        else:
            word = click.style(f"{finding.state:6}", fg=COLOURS[finding.state])
            click.echo(f"{word}  {finding.check}: {finding.words}")

    def show_all(self, findings: Iterable[Finding]) -> None:
        """Print several findings."""
        for finding in findings:
            self.show(finding)


def _check_database(db: str, disk_reserve: int | None, printer: _Printer) -> None:
    """Print what can be said about a database."""
    from tarry.cli.doctor.database import database  # noqa: PLC0415  it needs the extra
    from tarry.service.settings import Settings  # noqa: PLC0415  likewise

    @on_a_loop
    async def look() -> None:
        async for finding in database(Settings(db=db, disk_reserve=disk_reserve)):
            printer.show(finding)

    look()


def _variables_of(command: click.Command) -> Iterator[str]:
    """Yield the environment variables of all options of a command and its subcommands."""
    for option in command.params:
        if isinstance(option.envvar, str):
            yield option.envvar
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            yield from _variables_of(subcommand)
