"""`tarry policy` and `tarry app quota`: settings for more than one endpoint."""

from pathlib import Path

import click

from tarry.cli.client.remote import EXIT_CODES, Remote, remote
from tarry.cli.input.ranges import Whole
from tarry.cli.resources.app import app_argument
from tarry.cli.resources.lane import put_policy


@click.command(epilog=EXIT_CODES)
@click.option("--app", metavar="APP", help="Use this application instead of the whole environment.")
@click.option(
    "--set", "file", type=click.Path(path_type=Path), metavar="FILE", help="Set this policy."
)
@click.option("--clear", is_flag=True, help="Remove its own policy.")
@remote
def policy(remote: Remote, *, app: str | None, file: Path | None, clear: bool) -> None:
    """Show or change the policy of endpoints without their own."""
    owner = ("environment",) if app is None else ("app", app)
    put_policy(remote, (*owner, "policy"), file, clear=clear)


@click.command(epilog=EXIT_CODES)
@app_argument
@click.option(
    "--set", "most", type=Whole(0), metavar="N", help="Allow at most N waiting deliveries."
)
@click.option("--clear", is_flag=True, help="Remove its own quota.")
@remote
def quota(remote: Remote, *, app: str, most: int | None, clear: bool) -> None:
    """Show or change how many deliveries may wait.

    Above this number the application's messages are refused.
    """
    path = ("app", app, "quota")
    if most is not None and clear:
        raise click.UsageError("--set and --clear cannot be used together")
    if most is not None:
        remote.server.request("PUT", *path, body={"mostWaiting": most})
    if clear:
        remote.server.request("DELETE", *path)
    answer = remote.get(*path)
    if remote.as_json:
        remote.print(answer)
        return
    quotas = answer.read()
    limit = "any number" if quotas["mostWaiting"] is None else f"at most {quotas['mostWaiting']}"
    click.echo(f"{limit} of its deliveries may wait (from: {quotas['source']})")
