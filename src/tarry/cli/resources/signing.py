"""`tarry endpoint secret`, `rotate` and `headers`: how an endpoint's messages are signed."""

import click

from tarry.cli.client.remote import EXIT_CODES, Remote, given_fields, pairs, remote
from tarry.cli.input.quantities import seconds
from tarry.cli.output import tables
from tarry.cli.resources.app import app_argument
from tarry.cli.resources.endpoint import endpoint_argument


@click.command(epilog=EXIT_CODES)
@app_argument
@endpoint_argument
@remote
def secret(remote: Remote, *, app: str, endpoint: str) -> None:
    """Print the secret that the receiver verifies with."""
    answer = remote.get("app", app, "endpoint", endpoint, "secret")
    if remote.as_json:
        remote.print(answer)
    else:
        click.echo(answer.read()["key"])


@click.command(epilog=EXIT_CODES)
@app_argument
@endpoint_argument
@click.option("--secret", metavar="WHSEC", help="The new secret. Default: a random one.")
@click.option(
    "--grace",
    type=seconds,
    metavar="DURATION",
    help="How long to sign with the old secret too, up to 7d. Default: 1d.",
)
@remote
def rotate(
    remote: Remote, *, app: str, endpoint: str, secret: str | None, grace: float | None
) -> None:
    """Sign with a new secret, and print it.

    The receiver verifies with this secret from now on. For a while, messages are signed with the
    old one as well.
    """
    body = given_fields(key=secret, gracePeriodSeconds=None if grace is None else round(grace))
    path = ("app", app, "endpoint", endpoint, "secret", "rotate")
    answer = remote.server.request("POST", *path, body=body, once=True)
    if remote.as_json:
        remote.print(answer)
    else:
        click.echo(answer.read()["key"])


@click.command(epilog=EXIT_CODES)
@app_argument
@endpoint_argument
@click.option(
    "--set",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    help="Add this header to every request; repeatable.",
)
@click.option("--unset", multiple=True, metavar="NAME", help="Remove this header; repeatable.")
@remote
def headers(
    remote: Remote, *, app: str, endpoint: str, given: tuple[str, ...], unset: tuple[str, ...]
) -> None:
    """Show or change the headers that are sent along."""
    path = ("app", app, "endpoint", endpoint, "headers")
    if given or unset:
        body = {"headers": pairs(given, "--set"), "deleteHeaders": list(unset)}
        remote.server.request("PATCH", *path, body=body)
    answer = remote.get(*path)
    if remote.as_json:
        remote.print(answer)
        return
    shown = answer.read()
    hidden = dict.fromkeys(shown["sensitive"], "(not shown)")
    tables.print_pairs({**shown["headers"], **hidden})
    if not shown["headers"] and not hidden:
        click.echo("None found.", err=True)
