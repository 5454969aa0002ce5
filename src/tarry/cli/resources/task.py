"""`tarry task`: long work that the server does in the background."""

import click

from tarry.cli.client.remote import EXIT_CODES, Remote, listed, remote
from tarry.cli.output.tables import Columns, time_cell

COLUMNS: Columns = {
    "Id": "id",
    "Task": "task",
    "Status": "status",
    "Result": "data",
    "Updated": time_cell("updatedAt"),
}


@click.group
def task() -> None:
    """Show background tasks, such as `tarry recover` starts."""


@task.command("list", epilog=EXIT_CODES)
@click.option(
    "--status",
    type=click.Choice(["running", "finished", "failed"]),
    help="Show only tasks in this state.",
)
@click.option(
    "--task", "kind", metavar="KIND", help="Show only tasks of this kind, e.g. endpoint.recover."
)
@listed
@remote
def list_tasks(
    remote: Remote, *, status: str | None, kind: str | None, limit: int, everything: bool
) -> None:
    """List background tasks, the newest first."""
    remote.list(
        COLUMNS, "background-task", limit=limit, everything=everything, status=status, task=kind
    )


@task.command(epilog=EXIT_CODES)
@click.argument("task", metavar="TASK")
@remote
def get(remote: Remote, *, task: str) -> None:
    """Show a background task and its result."""
    remote.show(remote.get("background-task", task))
