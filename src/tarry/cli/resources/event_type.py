"""`tarry event-type`: manage the event types of messages, over HTTP."""

import json
from pathlib import Path

import click

from tarry.cli.client.remote import (
    EXIT_CODES,
    Remote,
    confirm,
    given_fields,
    listed,
    remote,
    yes_option,
)
from tarry.cli.output.tables import Columns, time_cell

COLUMNS: Columns = {
    "Name": "name",
    "Description": "description",
    "Archived": "archived",
    "Created": time_cell("createdAt"),
}

name_argument = click.argument("name", metavar="NAME")


@click.group("event-type")
def event_type() -> None:
    """Create and show event types."""


@event_type.command("list", epilog=EXIT_CODES)
@click.option("--archived", is_flag=True, help="Show deleted event types too.")
@listed
@remote
def list_event_types(remote: Remote, *, archived: bool, limit: int, everything: bool) -> None:
    """List event types."""
    remote.list(
        COLUMNS, "event-type", limit=limit, everything=everything, include_archived=archived
    )


@event_type.command(epilog=EXIT_CODES)
@name_argument
@remote
def get(remote: Remote, *, name: str) -> None:
    """Show an event type."""
    remote.show(remote.get("event-type", name))


@event_type.command(epilog=EXIT_CODES)
@name_argument
@click.option("--description", default="", metavar="TEXT", help="A description for people.")
@click.option(
    "--schema",
    type=click.Path(path_type=Path),
    metavar="FILE.json",
    help="The JSON Schema of its payloads.",
)
@click.option("--validate", is_flag=True, help="Refuse messages whose payload does not match.")
@remote
def create(
    remote: Remote, *, name: str, description: str, schema: Path | None, validate: bool
) -> None:
    """Create an event type."""
    body = given_fields(name=name, description=description, validatePayload=validate or None)
    if schema is not None:
        try:
            body["schemas"] = {"1": json.loads(schema.read_bytes())}
        except OSError as error:
            words = f"{schema} cannot be read: {error.strerror or error}"
            raise click.BadParameter(words, param_hint="--schema") from error
        except ValueError as error:
            words = f"{schema} is no JSON: {error}"
            raise click.BadParameter(words, param_hint="--schema") from error
    remote.show(remote.server.request("POST", "event-type", body=body))


@event_type.command(epilog=EXIT_CODES)
@name_argument
@click.option("--expunge", is_flag=True, help="Delete it completely instead of archiving it.")
@yes_option
@remote
def delete(remote: Remote, *, name: str, expunge: bool, yes: bool) -> None:
    """Delete an event type.

    Without --expunge it is only archived.
    """
    confirm(f"Delete the event type {name}?", yes=yes)
    remote.server.request("DELETE", "event-type", name, query={"expunge": expunge})
    remote.print_confirmation(f"{name} is {'deleted' if expunge else 'archived'}")
