"""`tarry audit`: list who changed what, when and from where, over HTTP."""

from collections.abc import Mapping
from datetime import datetime

import click

from tarry.cli.client.names import Vocabulary
from tarry.cli.client.remote import EXIT_CODES, Remote, listed, remote
from tarry.cli.input.times import check_span, since_option, to_api, until_option
from tarry.cli.output.tables import Columns, time_cell


@click.command(epilog=EXIT_CODES)
@click.option(
    "--app", "app_id", metavar="APP", help="Show only changes of this application and its parts."
)
@click.option(
    "--actor",
    metavar="ACTOR",
    help="Show only changes with this key, by its id, or by this kind of actor, e.g. command-line.",
)
@click.option(
    "--operation",
    metavar="NAME",
    help="Show only changes by this operation of the API, or by this command.",
)
@click.option("--target", metavar="ID", help="Show only changes of what has this id.")
@since_option()
@until_option
@listed
@remote
def audit(
    remote: Remote,
    /,
    *,
    since: datetime | None,
    until: datetime | None,
    limit: int,
    everything: bool,
    **filters: str | None,
) -> None:
    """List who changed what, when and from where, the newest first.

    Values are shown only where they cannot be secret. Accepted messages are no changes: see
    `tarry message list`.
    """
    check_span(since, until)
    vocabulary = Vocabulary(remote.server)
    columns: Columns = {
        "Time": time_cell("timestamp"),
        "Actor": lambda row: _actor(vocabulary, row["actor"]),
        "Operation": "operation",
        "Target": lambda row: f"{row['target']['kind'].replace('-', ' ')} {row['target']['id']}",
        "Changes": lambda row: ", ".join(map(_change, row["changes"])),
        "Address": "address",
    }
    remote.list(
        columns,
        "audit",
        limit=limit,
        everything=everything,
        after=to_api(since),
        before=to_api(until),
        **filters,
    )


def _actor(vocabulary: Vocabulary, actor: Mapping[str, str | None]) -> str:
    """Return the kind of an actor, and the id of its key."""
    label = vocabulary.label("actors", str(actor["kind"]))
    return f"{label} {actor['keyId'] or ''}".rstrip()


def _change(change: Mapping[str, object]) -> str:
    """Return a changed field, with its values if they are shown."""
    if "after" not in change:
        return str(change["field"])
    before = f"{_value(change['before'])} → " if "before" in change else ""
    return f"{change['field']}: {before}{_value(change['after'])}"


def _value(value: object) -> str:
    """Return a value as the API writes it; a missing one is `none`."""
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else str(value)
