"""`tarry recover`: deliver the failed messages of an endpoint again."""

from datetime import datetime
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tarry.cli.client.client import Answer
from tarry.cli.client.polling import interruptible, poll
from tarry.cli.client.remote import WAITED, Remote, given_fields, remote
from tarry.cli.exit_codes import FAILED, TOO_LATE
from tarry.cli.input.quantities import seconds
from tarry.cli.input.times import BACK, check_span, since_option, to_api, until_option
from tarry.cli.resources.app import app_argument
from tarry.cli.resources.endpoint import endpoint_argument


@click.command(epilog=WAITED)
@app_argument
@endpoint_argument
@since_option(required=True, help=f"Include messages accepted since then: {BACK}.")
@until_option
@click.option("--missing", is_flag=True, help="Send messages that were never sent to it instead.")
@click.option("--wait", is_flag=True, help="Wait until all deliveries are queued.")
@click.option(
    "--timeout",
    type=seconds,
    metavar="DURATION",
    help="With --wait: stop waiting after this time, e.g. 5min.",
)
@remote
def recover(  # noqa: PLR0913  one argument per option
    remote: Remote,
    *,
    app: str,
    endpoint: str,
    since: datetime,
    until: datetime | None,
    missing: bool,
    wait: bool,
    timeout: float | None,
) -> None:
    """Deliver failed messages to ENDPOINT again.

    The server does this in the background, at a rate that the endpoint can handle. `tarry task
    get` shows the progress.
    """
    check_span(since, until)
    path = ("app", app, "endpoint", endpoint, "replay-missing" if missing else "recover")
    body = given_fields(since=to_api(since), until=to_api(until))
    answer = remote.server.request("POST", *path, body=body)
    if wait:
        answer = _awaited(remote, answer, timeout)
    task = answer.read()
    if remote.as_json:
        remote.print(answer)
    else:
        click.echo(_progress(task))
    if task["status"] == "failed":
        raise click.exceptions.Exit(FAILED)
    if wait and task["status"] == "running":
        raise click.exceptions.Exit(TOO_LATE)


def _awaited(remote: Remote, begun: Answer, timeout: float | None) -> Answer:
    """Return the finished task, or the task as it started if the time is over first."""
    task = begun.read()["id"]
    later = f"`tarry task get {task}` shows its progress."
    with interruptible(f"Stopped waiting. The server continues. {later}"), _bar():
        done: Answer | None = poll(lambda: remote.get("background-task", task), _has_ended, timeout)
    return done or begun


def _has_ended(answer: Any) -> bool:  # noqa: ANN401  an Answer
    """Return whether the task has finished or failed."""
    return bool(answer.read()["status"] != "running")


def _progress(task: dict[str, Any]) -> str:
    """Return a sentence about the progress of a task."""
    match task["status"]:
        case "running":
            return f"{task['id']} is running; `tarry task get {task['id']}` shows its progress"
        case "finished":
            return f"{task['id']} is finished; messages queued: {task['data']['messagesSent']}"
        case _:
            return f"{task['id']} failed: {task['data'].get('error', 'unknown error')}"


def _bar() -> Progress:
    """Return a progress bar without an end, shown on a terminal only."""
    console = Console(stderr=True)
    columns = (TextColumn("recovering"), BarColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    bar.add_task("recovering", total=None)
    return bar
