"""What the commands that call a server share: its URL, the key, and how responses are shown."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import update_wrapper
from itertools import islice
from typing import Any, Concatenate, ParamSpec, TypeVar

import click

from tarry.cli.client.client import Answer, Server
from tarry.cli.exit_codes import INTERRUPTED
from tarry.cli.input.option_group import option_group
from tarry.cli.input.ranges import Whole
from tarry.cli.output import tables
from tarry.cli.output.json_text import with_text
from tarry.cli.output.tables import Columns, json_option
from tarry.cli.service.key_options import key_options, refuse_foreign_server
from tarry.cli.service.options import WrongSettings, config_option, setting

EXIT_CODES = (
    "Exit codes: 0, success; 1, the server refused the request; 2, the command line or a setting is"
    " wrong; 3, the server cannot be reached or has an internal error."
)
WAITED = (
    "Exit codes: 0, success; 1, the server refused the request, or the awaited work failed; 2, the"
    " command line or a setting is wrong; 3, the server cannot be reached or has an internal error;"
    " 4, the timeout passed first; 130, Ctrl-C."
)
"""The exit codes of commands with --wait."""
URL = "http://127.0.0.1:8400"
MORE = "There are more: use --limit N or --all."
"""Printed after a list that was cut at its limit."""

P = ParamSpec("P")
T = TypeVar("T")

server_option = setting(
    "--server",
    default=URL,
    metavar="URL",
    help="The URL of the server.",
)
key_option = key_options("key", "An API key; `tarry key create` makes one.")
limit_option = click.option(
    "--limit",
    type=Whole(min=1, max=1_000_000_000),
    default=50,
    show_default=True,
    metavar="N",
    help="Show at most N.",
)
all_option = click.option("--all", "everything", is_flag=True, help="Show all.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


class NoKey(WrongSettings):
    """No API key was given."""

    def __init__(self, url: str, otherwise: str = "") -> None:
        message = f"no API key for {url}: give --key-file or --key, or set TARRY_KEY{otherwise}"
        context = click.get_current_context(silent=True)
        settings = (context.default_map if context else None) or {}
        for name, settings_by_name in (("TARRY_API_KEY", os.environ), ("api_key", settings)):
            if name in settings_by_name:
                message += f" ({name} is only read by `tarry serve`)"
                break
        super().__init__(message)


class Remote:
    """A server, and the format in which its responses are shown."""

    def __init__(self, server: Server, *, as_json: bool) -> None:
        self.server, self.as_json = server, as_json

    def get(self, *path: str, **query: object) -> Answer:
        """Request a resource."""
        return self.server.request("GET", *path, query=query)

    def show(self, answer: Answer) -> None:
        """Show a resource; for programs, print the very bytes of the response."""
        if self.as_json:
            self.print(answer)
        else:
            tables.print_fields(with_text(answer.body.decode(), tables.PAYLOAD))

    def print(self, answer: Answer) -> None:
        """Print a response as it came."""
        if answer.body:
            click.echo(answer.body)

    def print_confirmation(self, words: str) -> None:
        """Print a confirmation for people; programs use the exit code."""
        if not self.as_json:
            click.echo(words)

    def list(
        self,
        columns: Columns,
        *path: str,
        limit: int,
        everything: bool = False,
        **query: object,
    ) -> None:
        """Show a list: up to `limit` items, or everything."""
        most = None if everything else limit + 1
        items: Iterator[object]
        if query.get("with_content") is False:
            items = map(_without_payload, self.server.items(*path, most=most, **query))
        elif self.as_json:
            items = self.server.item_texts(*path, most=most, **query)
        elif query.get("with_content"):
            texts = self.server.item_texts(*path, most=most, **query)
            items = (with_text(text, tables.PAYLOAD) for text in texts)
        else:
            items = self.server.items(*path, most=most, **query)
        self.rows(items if everything else islice(items, limit), columns)
        if not everything and next(items, None) is not None:
            click.echo(MORE, err=True)

    def rows(self, items: Iterable[Any], columns: Columns) -> None:
        """Print items as a table, or as JSON lines."""
        count = (
            tables.print_json_lines(items) if self.as_json else tables.print_table(items, columns)
        )
        if not count and not self.as_json:
            click.echo("None found.", err=True)


def _without_payload(row: Mapping[str, object]) -> Mapping[str, object]:
    """Drop the payload of a message listed without content: the API's {} is not what was sent."""
    return {name: value for name, value in row.items() if name != "payload"}


def remote(command: Callable[Concatenate[Remote, P], T]) -> Callable[P, T]:
    """Add the options that say which server to call, and pass a `Remote` as the first argument."""

    def call_with_remote(*args: P.args, **options: P.kwargs) -> T:
        """Make the `Remote` from the options, and call the command with it."""
        url, key = options.pop("server"), options.pop("key")
        as_json = bool(options.pop("as_json"))
        if key is None:
            raise NoKey(str(url))
        refuse_foreign_server(str(url))
        server = Remote(Server(str(url), str(key)), as_json=as_json)
        return command(server, *args, **options)

    wrapped: Callable[P, T] = update_wrapper(call_with_remote, command)
    return option_group(config_option, server_option, key_option, json_option)(wrapped)


listed = option_group(limit_option, all_option)
"""Adds the options that lists have."""


def pairs(typed: Iterable[str], option: str) -> dict[str, str]:
    """Read NAME=VALUE pairs."""
    values = {}
    for pair in typed:
        name, is_pair, value = pair.partition("=")
        if not is_pair or not name:
            raise click.BadParameter(f"{pair!r} is not NAME=VALUE", param_hint=option)
        values[name] = value
    return values


def given_fields(**fields: object) -> dict[str, object]:
    """Return the fields that were given; an option that was left out is None, or empty."""
    return {name: value for name, value in fields.items() if value not in (None, (), {})}


def changes(cleared: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of an update; refuse an empty one, and a field both cleared and set."""
    if not cleared and not given:
        raise click.UsageError("Nothing to change: give at least one option.")
    if cleared.keys() & given.keys():
        raise click.UsageError("An option and --clear name the same field: give only one of them.")
    return {**cleared, **given}


def confirm(question: str, *, yes: bool) -> None:
    """Ask for confirmation, and end the command unless the answer is yes."""
    if yes:
        return
    try:
        is_confirmed = click.confirm(question, err=True)
    except click.Abort as abort:
        click.echo(err=True)
        if isinstance(abort.__context__, KeyboardInterrupt):
            raise click.exceptions.Exit(INTERRUPTED) from None
        is_confirmed = False
    if not is_confirmed:
        raise click.UsageError("Not confirmed. Run again with --yes to skip this question.")
