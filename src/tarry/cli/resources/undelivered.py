"""`tarry undelivered`: list waiting and failed deliveries with their reasons, over HTTP."""

from itertools import groupby

import click

from tarry.cli.client.names import Names
from tarry.cli.client.remote import EXIT_CODES, Remote, listed, remote
from tarry.cli.input.times import describe
from tarry.cli.output import tables
from tarry.cli.output.safe_text import plain
from tarry.cli.output.tables import Columns, due_cell

COLUMNS: Columns = {
    "Message": "msgId",
    "State": "state",
    "Reason": "reason",
    "Tries": "tries",
    "Next": due_cell("nextAt"),
    "Accepted": lambda row: _past(describe(row["acceptedAt"])),
}


def _past(words: str) -> str:
    """Drop an instant in the future: the API gives scheduled messages their due time here."""
    return "" if words.startswith("in ") else words


@click.command(epilog=EXIT_CODES)
@click.argument("app", metavar="[APP]", required=False)
@click.option("--endpoint", metavar="ENDPOINT", help="With APP: only those for this one.")
@click.option(
    "--state", type=click.Choice(["ready", "waiting", "failed"]), help="Only those that stand so."
)
@click.option(
    "--reason", metavar="WORD", help="Only those that wait or failed for this reason, e.g. backoff."
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
    """List waiting and failed deliveries of APP, or of all."""
    if app is None and endpoint is not None:
        raise click.UsageError("--endpoint goes with APP: whose is it?")
    way = ("undelivered",) if app is None else ("app", app, "undelivered")
    query = {"state": state, "reason": reason, "endpoint_id": endpoint}
    most = None if everything else limit + 1
    if remote.as_json:
        remote.list(COLUMNS, *way, limit=limit, everything=everything, **query)
        return
    found = list(remote.server.items(*way, most=most, **query))
    shown = found if everything else found[:limit]
    names = Names(remote.server)
    lanes = groupby(shown, lambda row: (row["appId"], row["endpointId"]))
    for number, (lane, rows) in enumerate(lanes):
        url = names.url(*lane)
        said = f"{names.app(lane[0])} {names.endpoint(*lane)}" + (f" ({url})" if url else "")
        click.echo(plain(said) if not number else f"\n{plain(said)}")
        tables.print_table(rows, COLUMNS)
    if not found:
        chosen = endpoint is not None or state is not None or reason is not None
        click.echo("there is none" if chosen else "everything is delivered", err=True)
    elif len(found) > len(shown):
        click.echo("there is more: --limit N shows up to N, --all everything", err=True)
