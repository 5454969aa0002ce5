"""`tarry key`: manage API keys, directly in the database or through a running server."""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import update_wrapper
from itertools import islice
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import click
from click.core import ParameterSource

from tarry.cli.client.client import Server
from tarry.cli.client.remote import MORE, NoKey, key_option, listed, server_option
from tarry.cli.input.option_group import option_group
from tarry.cli.input.times import ahead, to_api
from tarry.cli.output import tables
from tarry.cli.output.tables import Columns, json_option, time_cell
from tarry.cli.service.key_options import refuse_foreign_server
from tarry.cli.service.options import config_option, db_option

EXIT_CODES = (
    "Exit codes: 0, success; 1, the request was refused; 2, the command line or a setting is wrong;"
    " 3, the database or the server cannot be used."
)
SCOPES = ("admin", "write", "read", "send")


def _end_of_key(row: Mapping[str, object]) -> str:
    """Return when a key expires, or that it was revoked."""
    if row["revokedAt"] is not None:
        return "revoked"
    return tables.format_value("expiresAt", row["expiresAt"]) if row["expiresAt"] else "never"


COLUMNS: Columns = {
    "Id": "id",
    "Name": "name",
    "Scopes": "scopes",
    "Created": time_cell("createdAt"),
    "Ends": _end_of_key,
}

P = ParamSpec("P")
T = TypeVar("T")
Thing = Mapping[str, Any]


class Keys(Protocol):
    """Where API keys are kept; each key is described as in the API's responses."""

    def create(self, name: str, scopes: tuple[str, ...], expires_at: str | None) -> Thing:
        """Create a key; the result includes its text."""

    def list(self) -> Iterator[Thing]:
        """Yield all keys."""

    def revoke(self, key: str) -> None:
        """Revoke a key."""


class ServerKeys:
    """API keys, managed through a server."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def create(self, name: str, scopes: tuple[str, ...], expires_at: str | None) -> Thing:
        """Create a key. Not retried: if the response is lost, so is the key's text."""
        body = {"name": name, "scopes": scopes, "expiresAt": expires_at}
        created: Thing = self._server.request("POST", "key", body=body, once=True).read()
        return created

    def list(self) -> Iterator[Thing]:
        """Yield all keys."""
        return self._server.items("key", most=None)

    def revoke(self, key: str) -> None:
        """Revoke a key."""
        self._server.request("DELETE", "key", key)


def with_keys(work: Callable[Concatenate[Keys, P], T]) -> Callable[P, T]:
    """Add the options that say where keys are kept, and pass a `Keys` as the first argument."""

    def run(*args: P.args, **options: P.kwargs) -> T:
        storage_options = {
            name: options.pop(name) for name in ("db", "server", "key", "environment")
        }
        return work(_keys(**storage_options), *args, **options)  # type: ignore[arg-type]  # click's, by name

    command: Callable[P, T] = update_wrapper(run, work)
    return option_group(
        config_option,
        db_option(help="Instead of a server: sqlite:///FILE or postgresql://..."),
        server_option,
        key_option,
        click.option(
            "--environment",
            default="org_default",
            show_default=True,
            metavar="NAME",
            help="With --db: the environment of the keys.",
        ),
        json_option,
    )(command)


def _keys(db: str | None, server: str, key: str | None, environment: str) -> Keys:
    """Choose the server, or the database if one is set; typed options override other settings."""
    source = click.get_current_context().get_parameter_source
    typed = {
        name
        for name in ("db", "server", "environment")
        if source(name) is ParameterSource.COMMANDLINE
    }
    if typed >= {"db", "server"}:
        raise click.UsageError("--db and --server cannot be used together")
    if db is not None and "server" not in typed:
        from tarry.cli.service.database_keys import DatabaseKeys  # noqa: PLC0415  loaded only if it is used

        return DatabaseKeys(db, environment)
    if "environment" in typed:
        raise click.UsageError(
            "--environment needs --db: the key to a server belongs to one environment"
        )
    if key is None:
        raise NoKey(server, "; or use the database directly, e.g. --db sqlite:///hooks.db")
    refuse_foreign_server(server)
    return ServerKeys(Server(server, key))


@click.group
def key() -> None:
    """Create, list and revoke API keys.

    This asks a server, with a key that may do everything. With --db it works on the database
    itself, and no server has to run.
    """


@key.command(epilog=EXIT_CODES)
@click.option("--name", default="", metavar="TEXT", help="A name for people.")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(SCOPES),
    multiple=True,
    default=("write",),
    show_default=True,
    help="What the key may do; repeatable. admin: everything; write: everything but keys;"
    " read: look, but not at secrets; send: send messages.",
)
@click.option(
    "--expires",
    type=ahead,
    metavar="WHEN",
    help="When the key expires: 30d for in thirty days, or an instant. Default: never.",
)
@with_keys
def create(
    keys: Keys, *, name: str, scopes: tuple[str, ...], expires: datetime | None, as_json: bool
) -> None:
    """Create a key and print it; it cannot be shown again."""
    created = keys.create(name, tuple(dict.fromkeys(scopes)), to_api(expires))
    if as_json:
        click.echo(json.dumps(created))
        return
    scopes_text = ", ".join(created["scopes"])
    click.echo(
        f"{created['id']} has the scopes {scopes_text}. The key is shown only now:", err=True
    )
    click.echo(created["key"])


@key.command("list", epilog=EXIT_CODES)
@listed
@with_keys
def list_keys(keys: Keys, *, limit: int, everything: bool, as_json: bool) -> None:
    """List keys, without their text."""
    rows = keys.list()
    shown = rows if everything else islice(rows, limit)
    count = tables.print_json_lines(shown) if as_json else tables.print_table(shown, COLUMNS)
    if not count and not as_json:
        click.echo("None found.", err=True)
    if not everything and next(rows, None) is not None:
        click.echo(MORE, err=True)


@key.command(epilog=EXIT_CODES)
@click.argument("revoked", metavar="KEY-ID")
@with_keys
def revoke(keys: Keys, *, revoked: str, as_json: bool) -> None:
    """Revoke a key; it stops working within a second."""
    keys.revoke(revoked)
    if not as_json:
        click.echo(f"{revoked} is revoked")
