"""`tarry undelivered`: list waiting and failed deliveries with their reasons, over HTTP."""

from itertools import groupby

import click

from tarry.cli.client.names import Names, Vocabulary
from tarry.cli.client.remote import EXIT_CODES, MORE, Remote, listed, remote
from tarry.cli.input.times import describe
from tarry.cli.output import tables
from tarry.cli.output.safe_text import plain
from tarry.cli.output.tables import Columns, due_cell

API_STATES = {"waiting": "live", "failed": "failed"}
"""For each value of `--state`: the value that the API expects."""


def _columns(vocabulary: Vocabulary) -> Columns:
    """Return the columns of the table of undelivered messages."""
    return {
        "Message": "msgId",
        "State": lambda row: vocabulary.label("states", row["state"]),
        "Reason": lambda row: vocabulary.label("reasons", row["reason"]),
        "Attempts": "tries",
        "Next attempt": due_cell("nextAt"),
        "Accepted": lambda row: _drop_future_time(describe(row["acceptedAt"])),
    }


def _reason(vocabulary: Vocabulary, typed: str) -> str:
    """Return the API's name for a reason that was typed; refuse it if the server has no such one.

    A server without a vocabulary, an earlier version of tarry, decides itself.
    """
    name, reasons = vocabulary.name("reasons", typed), vocabulary.table("reasons")
    if reasons and name not in reasons:
        labels = [words["label"] for words in reasons.values() if words.get("state") in API_STATES]
        known = ", ".join(map(repr, labels))
        raise click.BadParameter(f"{typed!r} is not one of {known}", param_hint="'--reason'")
    return name


def _drop_future_time(words: str) -> str:
    """Drop an instant in the future: for a scheduled message the API may give its due time here."""
    return "" if words.startswith("in ") else words


@click.command(epilog=EXIT_CODES)
@click.argument("app", metavar="[APP]", required=False)
@click.option(
    "--endpoint", metavar="ENDPOINT", help="With APP: show only deliveries to this endpoint."
)
@click.option(
    "--state", type=click.Choice(list(API_STATES)), help="Show only deliveries in this state."
)
@click.option(
    "--reason",
    metavar="TEXT",
    help="Show only deliveries with this reason, e.g. 'endpoint down'.",
)
@listed
@remote
def undelivered(  # noqa: PLR0913  one argument per option
    remote: Remote,
    *,
    app: str | None,
    endpoint: str | None,
    state: str | None,
    reason: str | None,
    limit: int,
    everything: bool,
) -> None:
    """List waiting and failed deliveries, of APP or of all."""
    if app is None and endpoint is not None:
        raise click.UsageError("--endpoint needs APP: name the application of the endpoint")
    path = ("undelivered",) if app is None else ("app", app, "undelivered")
    vocabulary, names = Vocabulary(remote.server), Names(remote.server)
    query = {
        "state": None if state is None else API_STATES[state],
        "reason": None if reason is None else _reason(vocabulary, reason),
        "endpoint_id": endpoint,
    }
    columns = _columns(vocabulary)
    most = None if everything else limit + 1
    if remote.as_json:
        remote.list(columns, *path, limit=limit, everything=everything, **query)
        return
    deliveries = list(remote.server.items(*path, most=most, **query))
    shown = deliveries if everything else deliveries[:limit]
    lanes = groupby(shown, lambda row: (row["appId"], row["endpointId"]))
    for number, (lane, rows) in enumerate(lanes):
        url = names.url(*lane)
        title = f"{names.app(lane[0])} {names.endpoint(*lane)}" + (f" ({url})" if url else "")
        click.echo(plain(title) if not number else f"\n{plain(title)}")
        tables.print_table(rows, columns)
    if not deliveries:
        chosen = endpoint is not None or state is not None or reason is not None
        empty_text = "no such deliveries" if chosen else "no deliveries are waiting or failed"
        click.echo(empty_text, err=True)
    elif len(deliveries) > len(shown):
        click.echo(MORE, err=True)
