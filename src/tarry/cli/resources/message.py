"""`tarry message`: show messages and their deliveries, and why they wait; over HTTP."""

from datetime import UTC, datetime, timedelta
from typing import Any

import click

from tarry.cli.client.names import Vocabulary
from tarry.cli.client.polling import NO_ENDPOINT
from tarry.cli.client.remote import EXIT_CODES, Remote, confirm, listed, remote, yes_option
from tarry.cli.input.option_group import option_group
from tarry.cli.input.times import (
    check_span,
    since_option,
    to_api,
    until_option,
    with_local_times,
)
from tarry.cli.output import tables
from tarry.cli.output.safe_text import plain
from tarry.cli.output.tables import CellText, Columns, due_cell, known_as, time_cell
from tarry.cli.resources.app import app_argument
from tarry.cli.resources.attempt import attempts_of
from tarry.cli.resources.endpoint import endpoint_argument

COLUMNS: Columns = {
    "Id": "id",
    "Type": "eventType",
    "Event id": "eventId",
    "Accepted": time_cell("timestamp"),
}
STATUS_NAMES = ("success", "pending", "fail", "sending", "canceled")
"""The status of a message at an endpoint, in the order of the API's numbers."""

message_argument = click.argument("message", metavar="MESSAGE")


recent_options = option_group(
    click.option(
        "--event-type",
        "event_types",
        multiple=True,
        metavar="TYPE",
        help="Show only messages of this type; repeatable.",
    ),
    click.option("--channel", metavar="TEXT", help="Show only messages of this channel."),
    click.option("--tag", metavar="TEXT", help="Show only messages with this tag."),
    since_option(),
    until_option,
)
"""Options that select recent messages."""


def recent(
    *,
    since: datetime | None,
    until: datetime | None,
    tag: str | None,
    channel: str | None,
    event_types: tuple[str, ...],
) -> dict[str, object]:
    """Return the selection as a query. The API lists the newest first only if there is an end."""
    check_span(since, until)
    if since is not None and until is None:
        until = datetime.now(UTC) + timedelta(days=1)  # the server's clock may be ahead
    return {
        "after": to_api(since),
        "before": to_api(until),
        "tag": tag,
        "channel": channel,
        "event_types": event_types or None,
    }


@click.group
def message() -> None:
    """Show, explain, cancel and expunge messages.

    APP and ENDPOINT are ids or uids. MESSAGE is an id, or the event id that it was sent with.
    """


@message.command("list", epilog=EXIT_CODES)
@app_argument
@recent_options
@click.option(
    "--endpoint", metavar="ENDPOINT", help="Show only messages for it, with their state there."
)
@click.option(
    "--status",
    type=click.Choice(STATUS_NAMES),
    help="With --endpoint: show only messages with this API status. pending: waiting, no attempt"
    " yet; sending: waiting, attempted.",
)
@click.option("--content", is_flag=True, help="Show payloads.")
@listed
@remote
def list_messages(  # noqa: PLR0913  one argument per option
    remote: Remote,
    /,
    *,
    app: str,
    endpoint: str | None,
    status: str | None,
    content: bool,
    limit: int,
    everything: bool,
    **which: Any,  # noqa: ANN401  the values of the other options
) -> None:
    """List an application's messages, the newest first."""
    query = {**recent(**which), "with_content": content}
    path: tuple[str, ...] = ("app", app, "msg")
    columns = dict(COLUMNS)
    if endpoint is not None:
        path, columns["State"] = ("app", app, "endpoint", endpoint, "msg"), _state(remote)
        query["status"] = None if status is None else STATUS_NAMES.index(status)
        query["expanded_statuses"] = True
    elif status is not None:
        raise click.UsageError("--status needs --endpoint: a message has a state at each endpoint")
    if content:
        columns["Payload"] = "payload"
    remote.list(columns, *path, limit=limit, everything=everything, **query)


@message.command(epilog=EXIT_CODES)
@app_argument
@message_argument
@remote
def get(remote: Remote, *, app: str, message: str) -> None:
    """Show a message, and its status at each endpoint."""
    path = ("app", app, "msg", message)
    remote.show(remote.get(*path))
    if not remote.as_json:
        columns: Columns = {
            "Endpoint": known_as,
            "URL": "url",
            "State": _state(remote),
            "Next attempt": due_cell("nextAttempt"),
        }
        endpoints = remote.server.items(*path, "endpoint", most=None, expanded_statuses=True)
        click.echo()
        if not tables.print_table(endpoints, columns):
            click.echo(NO_ENDPOINT, err=True)


def _state(remote: Remote) -> CellText:
    """Return a function that fills a cell with the state of a delivery."""
    vocabulary = Vocabulary(remote.server)
    return lambda row: vocabulary.label("statuses", row["statusText"])


@message.command(epilog=EXIT_CODES)
@app_argument
@message_argument
@remote
def cancel(remote: Remote, *, app: str, message: str) -> None:
    """Make no more attempts to deliver a message.

    Its waiting deliveries are cancelled for good, also those that a recovery or replay has queued
    so far. A recovery or replay that continues or starts afterwards may still send the message to
    endpoints where it was delivered, failed or never sent. If one is running, cancel the message
    again when it is finished.
    """
    answer = remote.server.request("POST", "app", app, "msg", message, "cancel")
    if remote.as_json:
        remote.print(answer)
    else:
        click.echo(f"deliveries cancelled: {answer.read()['cancelled']}")


@message.command(epilog=EXIT_CODES)
@app_argument
@message_argument
@yes_option
@remote
def expunge(remote: Remote, *, app: str, message: str, yes: bool) -> None:
    """Erase a message's payload; it cannot be sent again."""
    confirm(f"Erase the payload of {message}?", yes=yes)
    remote.server.request("DELETE", "app", app, "msg", message, "content")
    remote.print_confirmation(f"erased the payload of {message}")


@message.command(epilog=EXIT_CODES)
@app_argument
@message_argument
@endpoint_argument
@remote
def resend(remote: Remote, *, app: str, message: str, endpoint: str) -> None:
    """Make one more attempt, ahead of waiting deliveries."""
    answer = remote.server.request(
        "POST", "app", app, "msg", message, "endpoint", endpoint, "resend"
    )
    if remote.as_json:
        remote.print(answer)
    else:
        click.echo(f"{message} will be sent to {endpoint} again")


@message.command(epilog=EXIT_CODES)
@app_argument
@message_argument
@endpoint_argument
@remote
def explain(remote: Remote, *, app: str, message: str, endpoint: str) -> None:
    """Explain why a message waits, or how its delivery ended.

    Lists each attempt with its response and the decision after it.
    """
    answer = remote.get("app", app, "msg", message, "endpoint", endpoint, "explain")
    if remote.as_json:
        remote.print(answer)
        return
    for sentence in answer.read()["sentences"]:
        click.echo(plain(with_local_times(sentence)))


@message.command(epilog=EXIT_CODES)
@app_argument
@message_argument
@listed
@remote
def attempts(remote: Remote, *, app: str, message: str, limit: int, everything: bool) -> None:
    """List the attempts to deliver a message, the newest first."""
    attempts_of(remote, app, message=message, limit=limit, everything=everything)
