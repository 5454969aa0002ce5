"""`tarry attempt`: list the attempts that were made and their responses, over HTTP."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from tarry.cli.client.names import Names
from tarry.cli.client.remote import EXIT_CODES, Remote, listed, remote
from tarry.cli.input.times import since_option, to_api
from tarry.cli.output.tables import Columns, time_cell
from tarry.cli.resources.app import app_argument
from tarry.core.duration import spoken

MOST_BODY_CHARACTERS = 40
"""How many characters of a response body a table shows."""
STATUS_NUMBERS = {"success": 0, "fail": 2}


def _response(attempt: Mapping[str, Any]) -> str:
    """Return the status and the beginning of the response's text."""
    status, text = attempt["responseStatusCode"], " ".join(attempt["response"].split())
    short = text if len(text) <= MOST_BODY_CHARACTERS else text[: MOST_BODY_CHARACTERS - 1] + "…"
    return f"{status} {short}".rstrip() if status else short or "none"


COLUMNS: Columns = {
    "Time": time_cell("timestamp"),
    "Result": "statusText",
    "Duration": lambda row: spoken(row["responseDurationMs"] / 1000),
    "Response": _response,
}


@click.group
def attempt() -> None:
    """Show attempts."""


@attempt.command("list", epilog=EXIT_CODES)
@app_argument
@click.option("--endpoint", metavar="ENDPOINT", help="Show attempts to send to this endpoint.")
@click.option("--message", metavar="MESSAGE", help="Show attempts to send this message.")
@click.option(
    "--status", type=click.Choice(list(STATUS_NUMBERS)), help="Show only attempts with this result."
)
@since_option()
@listed
@remote
def list_attempts(  # noqa: PLR0913  one argument per option
    remote: Remote,
    *,
    app: str,
    endpoint: str | None,
    message: str | None,
    status: str | None,
    since: datetime | None,
    limit: int,
    everything: bool,
) -> None:
    """List the attempts to an endpoint or for a message, newest first.

    With both, only the attempts for this message at this endpoint.
    """
    attempts_of(
        remote,
        app,
        endpoint=endpoint,
        message=message,
        status=None if status is None else STATUS_NUMBERS[status],
        after=to_api(since),
        before=None if since is None else to_api(datetime.now(UTC) + timedelta(days=1)),
        limit=limit,
        everything=everything,
    )


def attempts_of(  # noqa: PLR0913  one argument per filter
    remote: Remote,
    app: str,
    *,
    limit: int,
    everything: bool,
    endpoint: str | None = None,
    message: str | None = None,
    **query: object,
) -> None:
    """Print a list of attempts."""
    columns = dict(COLUMNS)
    if message is not None:
        path, query["endpoint_id"] = ("app", app, "attempt", "msg", message), endpoint
        names = Names(remote.server)
        columns["Endpoint"] = lambda row: names.endpoint(app, row["endpointId"])
    elif endpoint is not None:
        path = ("app", app, "attempt", "endpoint", endpoint)
        columns["Message"] = "msgId"
    else:
        raise click.UsageError("Give --endpoint, --message, or both.")
    remote.list(columns, *path, limit=limit, everything=everything, **query)
