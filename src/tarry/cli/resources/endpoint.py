"""`tarry endpoint`: manage the endpoints of an application, over HTTP."""

from collections.abc import Mapping
from typing import Any

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
from tarry.cli.input.option_group import option_group
from tarry.cli.input.ranges import Whole
from tarry.cli.output.tables import Columns, time_cell
from tarry.cli.resources.app import app_argument, metadata_option, rate_option, uid_option

COLUMNS: Columns = {
    "Id": "id",
    "Uid": "uid",
    "URL": "url",
    "State": "standing",
    "Created": time_cell("createdAt"),
}
CLEARED: Mapping[str, tuple[str, object]] = {
    "uid": ("uid", None),
    "description": ("description", ""),
    "event-types": ("eventTypes", None),
    "channels": ("channels", None),
    "rate": ("throttleRate", None),
    "concurrency": ("concurrency", None),
    "metadata": ("metadata", {}),
}
"""For each value of `--clear`: the field of the API, and the value that clears it."""

endpoint_argument = click.argument("endpoint", metavar="ENDPOINT")


field_options = option_group(
    uid_option,
    click.option("--description", metavar="TEXT", help="A description for people."),
    click.option(
        "--event-type",
        "event_types",
        multiple=True,
        metavar="TYPE",
        help="Send only events of this type; repeatable.",
    ),
    click.option(
        "--channel",
        "channels",
        multiple=True,
        help="Send only messages of this channel; repeatable.",
    ),
    rate_option,
    click.option(
        "--concurrency",
        type=Whole(1, 100_000),
        metavar="N",
        help="Make at most N attempts at a time.",
    ),
    click.option("--fifo/--no-fifo", default=None, help="Send messages one at a time, in order."),
    click.option(
        "--blocking/--not-blocking",
        default=None,
        help="With --fifo: a failed message stops those after it.",
    ),
    metadata_option,
)
"""The fields of an endpoint that `create` and `update` share."""


@click.group
def endpoint() -> None:
    """Create, show and change endpoints and their lanes.

    APP and ENDPOINT are ids, or the uids that you gave them.
    """


@endpoint.command("list", epilog=EXIT_CODES)
@app_argument
@listed
@remote
def list_endpoints(remote: Remote, *, app: str, limit: int, everything: bool) -> None:
    """List an application's endpoints, the newest first."""
    remote.list(COLUMNS, "app", app, "endpoint", limit=limit, everything=everything)


@endpoint.command(epilog=EXIT_CODES)
@app_argument
@endpoint_argument
@remote
def get(remote: Remote, *, app: str, endpoint: str) -> None:
    """Show an endpoint."""
    remote.show(remote.get("app", app, "endpoint", endpoint))


@endpoint.command(epilog=EXIT_CODES)
@app_argument
@click.argument("url")
@field_options
@click.option(
    "--header",
    "headers",
    multiple=True,
    metavar="NAME=VALUE",
    help="Add this header to every request; repeatable.",
)
@click.option("--secret", metavar="WHSEC", help="Sign with this secret instead of a new one.")
@click.option("--disabled", is_flag=True, help="Create the endpoint disabled.")
@remote
def create(  # noqa: PLR0913  one argument per option
    remote: Remote,
    /,
    *,
    app: str,
    url: str,
    headers: tuple[str, ...],
    secret: str | None,
    disabled: bool,
    **fields: Any,  # noqa: ANN401  the values of the other options
) -> None:
    """Send an application's messages to URL."""
    body = given_fields(
        url=url, secret=secret, headers=pairs(headers, "--header"), disabled=disabled
    )
    body |= _fields_of_options(**fields)
    remote.show(remote.server.request("POST", "app", app, "endpoint", body=body))


@endpoint.command(epilog=EXIT_CODES)
@app_argument
@endpoint_argument
@click.option("--url", help="Send to this URL from now on.")
@field_options
@click.option("--enable/--disable", "enabled", default=None, help="Enable or disable the endpoint.")
@click.option(
    "--clear",
    type=click.Choice(list(CLEARED)),
    multiple=True,
    help="Remove this field; repeatable.",
)
@remote
def update(  # noqa: PLR0913  one argument per option
    remote: Remote,
    /,
    *,
    app: str,
    endpoint: str,
    url: str | None,
    enabled: bool | None,
    clear: tuple[str, ...],
    **fields: Any,  # noqa: ANN401  the values of the other options
) -> None:
    """Change an endpoint; other fields stay as they are.

    The new settings also apply to deliveries that are waiting.
    """
    given = given_fields(
        url=url, disabled=None if enabled is None else not enabled
    ) | _fields_of_options(**fields)
    body = changes(dict(CLEARED[name] for name in clear), given)
    remote.show(remote.server.request("PATCH", "app", app, "endpoint", endpoint, body=body))


@endpoint.command(epilog=EXIT_CODES)
@app_argument
@endpoint_argument
@yes_option
@remote
def delete(remote: Remote, *, app: str, endpoint: str, yes: bool) -> None:
    """Delete an endpoint, and discard its waiting deliveries."""
    confirm(f"Delete the endpoint {endpoint}, and discard its waiting deliveries?", yes=yes)
    remote.server.request("DELETE", "app", app, "endpoint", endpoint)
    remote.print_confirmation(f"{endpoint} is deleted")


def _fields_of_options(  # noqa: PLR0913  one argument per option
    *,
    uid: str | None,
    description: str | None,
    event_types: tuple[str, ...],
    channels: tuple[str, ...],
    rate: int | None,
    concurrency: int | None,
    fifo: bool | None,
    blocking: bool | None,
    metadata: tuple[str, ...],
) -> dict[str, object]:
    """Return the fields that were given, under the names that the API uses."""
    return given_fields(
        uid=uid,
        description=description,
        eventTypes=event_types,
        channels=channels,
        throttleRate=rate,
        concurrency=concurrency,
        fifo=fifo,
        blocking=blocking,
        metadata=pairs(metadata, "--metadata"),
    )
