"""`tarry app`: manage the applications of an environment, over HTTP."""

from collections.abc import Mapping

import click

from tarry.cli.client.remote import (
    EXIT_CODES,
    Remote,
    changes,
    confirm,
    given_fields,
    listed,
    pairs,
    remote,
    yes_option,
)
from tarry.cli.input.ranges import Whole
from tarry.cli.output.tables import Columns, time_cell

COLUMNS: Columns = {"Id": "id", "Uid": "uid", "Name": "name", "Created": time_cell("createdAt")}
CLEARED: Mapping[str, tuple[str, object]] = {
    "uid": ("uid", None),
    "rate": ("throttleRate", None),
    "metadata": ("metadata", {}),
}
"""For each value of `--clear`: the field of the API, and the value that clears it."""

app_argument = click.argument("app", metavar="APP")
name_option = click.option("--name", metavar="TEXT", help="The name to show to people.")
uid_option = click.option(
    "--uid", metavar="TEXT", help="Your own id for it; commands accept it in place of the id."
)
rate_option = click.option(
    "--rate", type=Whole(1, 65_535), metavar="N", help="Send at most N attempts a second."
)
metadata_option = click.option(
    "--metadata", multiple=True, metavar="NAME=VALUE", help="Your own data; repeatable."
)


@click.group
def app() -> None:
    """Create, show and change applications.

    APP is an id, or the uid that you gave the application.
    """


@app.command("list", epilog=EXIT_CODES)
@listed
@remote
def list_apps(remote: Remote, *, limit: int, everything: bool) -> None:
    """List applications."""
    remote.list(COLUMNS, "app", limit=limit, everything=everything)


@app.command(epilog=EXIT_CODES)
@app_argument
@remote
def get(remote: Remote, *, app: str) -> None:
    """Show an application."""
    remote.show(remote.get("app", app))


@app.command(epilog=EXIT_CODES)
@click.argument("name")
@uid_option
@rate_option
@metadata_option
@click.option(
    "--if-missing",
    is_flag=True,
    help="If an application with this uid exists, show it instead of failing.",
)
@remote
def create(  # noqa: PLR0913  one argument per option
    remote: Remote,
    *,
    name: str,
    uid: str | None,
    rate: int | None,
    metadata: tuple[str, ...],
    if_missing: bool,
) -> None:
    """Create an application."""
    body = given_fields(
        name=name, uid=uid, throttleRate=rate, metadata=pairs(metadata, "--metadata")
    )
    remote.show(
        remote.server.request("POST", "app", query={"get_if_exists": if_missing}, body=body)
    )


@app.command(epilog=EXIT_CODES)
@app_argument
@name_option
@uid_option
@rate_option
@metadata_option
@click.option(
    "--clear",
    type=click.Choice(list(CLEARED)),
    multiple=True,
    help="Remove this field; repeatable.",
)
@remote
def update(  # noqa: PLR0913  one argument per option
    remote: Remote,
    *,
    app: str,
    name: str | None,
    uid: str | None,
    rate: int | None,
    metadata: tuple[str, ...],
    clear: tuple[str, ...],
) -> None:
    """Change an application; other fields stay as they are."""
    given = given_fields(
        name=name, uid=uid, throttleRate=rate, metadata=pairs(metadata, "--metadata")
    )
    body = changes(dict(CLEARED[name] for name in clear), given)
    remote.show(remote.server.request("PATCH", "app", app, body=body))


@app.command(epilog=EXIT_CODES)
@app_argument
@yes_option
@remote
def erase(remote: Remote, *, app: str, yes: bool) -> None:
    """Erase an application's sealed payloads and responses.

    They can never be read again, and waiting deliveries of these messages are discarded. Payloads
    that were stored while the setting --seal-payloads was off are not sealed, and stay.
    """
    confirm(f"Erase all sealed payloads and responses of {app}, for ever?", yes=yes)
    answer = remote.server.request("POST", "app", app, "erase")
    if remote.as_json:
        remote.print(answer)
    elif answer.read()["erased"]:
        click.echo(f"erased the sealed payloads and responses of {app}; unsealed ones stay")
    else:
        click.echo(f"{app} has no sealed payloads or responses")


@app.command(epilog=EXIT_CODES)
@app_argument
@yes_option
@remote
def delete(remote: Remote, *, app: str, yes: bool) -> None:
    """Delete an application, and discard its waiting deliveries."""
    confirm(f"Delete the application {app}, and discard its waiting deliveries?", yes=yes)
    remote.server.request("DELETE", "app", app)
    remote.print_confirmation(f"{app} is deleted")
