"""`tarry endpoint lane`, `pause`, `resume`, `probe`, `policy` and `stats`: an endpoint's lane."""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from tarry.cli.client.client import Answer
from tarry.cli.client.names import Vocabulary
from tarry.cli.client.remote import EXIT_CODES, Remote, remote
from tarry.cli.input import times
from tarry.cli.input.policy_file import read_document
from tarry.cli.input.times import BACK, check_span, since_option, to_api, until_option
from tarry.cli.output import tables
from tarry.cli.resources.app import app_argument
from tarry.cli.resources.endpoint import endpoint_argument
from tarry.core.duration import spoken
from tarry.core.explain import probes, sentences
from tarry.core.policy import Policy, RetryAfter
from tarry.core.text import from_json

SHARED_WITH = {
    "application": "several endpoints of the application at this host",
    "origin": "the whole host",
}
REFUSALS = (
    "After a 401, 403, 404 or 405 a message is retried until the endpoint accepts another message."
)


@click.command(epilog=EXIT_CODES)
@app_argument
@endpoint_argument
@remote
def lane(remote: Remote, *, app: str, endpoint: str) -> None:
    """Show an endpoint's state, its pace, and its backlog."""
    _show_lane(remote, remote.get("app", app, "endpoint", endpoint, "lane"))


@click.command(epilog=EXIT_CODES)
@app_argument
@endpoint_argument
@remote
def pause(remote: Remote, *, app: str, endpoint: str) -> None:
    """Pause sending to an endpoint; its messages wait."""
    _change_standing(remote, app, endpoint, "pause")


@click.command(epilog=EXIT_CODES)
@app_argument
@endpoint_argument
@remote
def resume(remote: Remote, *, app: str, endpoint: str) -> None:
    """Resume sending to an endpoint, at a limited rate."""
    _change_standing(remote, app, endpoint, "resume")


@click.command(epilog=EXIT_CODES)
@app_argument
@endpoint_argument
@remote
def probe(remote: Remote, *, app: str, endpoint: str) -> None:
    """Probe an endpoint that is down now, with a waiting delivery."""
    answer = remote.server.request("POST", "app", app, "endpoint", endpoint, "probe")
    if remote.as_json:
        remote.print(answer)
    else:
        click.echo(_probe_sentence(app, endpoint, answer.read(), Vocabulary(remote.server)))


def _probe_sentence(
    app: str, endpoint: str, lane: Mapping[str, Any], vocabulary: Vocabulary
) -> str:
    """Say what happens after a probe was requested; `lane` is the state at that time."""
    if lane["phase"] != "open" and lane["state"] != "failing":
        label = vocabulary.label("lanes", lane["state"])
        return f"{endpoint} is not down ({label}), so no probe is sent"
    result = f"`tarry endpoint lane {app} {endpoint}` shows the result"
    if not lane["backlog"]:
        return f"{endpoint} has no waiting delivery: its next message is the probe; {result}"
    return f"the next probe of {endpoint} was brought forward to now; {result}"


def _show_lane(remote: Remote, answer: Answer) -> None:
    """Print the state of a lane, with words from the server's vocabulary."""
    if remote.as_json:
        remote.print(answer)
        return
    lane, vocabulary = answer.read(), Vocabulary(remote.server)
    fields = {
        "state": vocabulary.label("lanes", lane["state"]),
        "meaning": vocabulary.meaning("lanes", lane["state"]),
        "affected": SHARED_WITH.get(lane.get("scope"), ""),
        "waiting": str(lane["backlog"]),
        "rate": _speed(lane["pace"]),
        "capacity": _speed(lane["capacity"]),
        "failures": str(lane["failures"] or ""),
        "last success": times.describe(lane["acceptedAt"]),
        "last failure": times.describe(lane["failedAt"]),
        "failing since": times.describe(lane["failingSince"]),
        "down since": times.describe(lane["downSince"]),
        "next probe": times.describe_due(lane["probeAt"]),
        "done": times.describe(lane["doneAt"]),
    }
    tables.print_pairs({name: words for name, words in fields.items() if words})


def _speed(rate: float | None) -> str:
    """Return a rate as text; nothing if there is no limit."""
    return "" if rate is None else f"{rate:.3g}/s"


@click.command(epilog=EXIT_CODES)
@app_argument
@endpoint_argument
@click.option(
    "--set", "file", type=click.Path(path_type=Path), metavar="FILE", help="Set this policy."
)
@click.option("--clear", is_flag=True, help="Remove its own policy.")
@remote
def policy(remote: Remote, *, app: str, endpoint: str, file: Path | None, clear: bool) -> None:
    """Show or change the policy that deliveries follow."""
    put_policy(remote, ("app", app, "endpoint", endpoint, "policy"), file, clear=clear)


def put_policy(remote: Remote, path: tuple[str, ...], file: Path | None, *, clear: bool) -> None:
    """Change or clear the policy at a path, if requested, and show it."""
    if file is not None and clear:
        raise click.UsageError("--set and --clear cannot be used together")
    if file is not None:
        remote.server.request("PUT", *path, body=read_document(file))
    if clear:
        remote.server.request("DELETE", *path)
    _show_policy(remote, remote.get(*path))


def _show_policy(remote: Remote, answer: Answer) -> None:
    """Print the policy in use and where it comes from, in sentences."""
    if remote.as_json:
        remote.print(answer)
        return
    document = answer.read()
    click.echo(f"from: {document['source']}")
    for sentence in of_delivery(from_json(json.dumps(document["policy"]))):
        click.echo(sentence)


def of_delivery(policy: Policy) -> list[str]:
    """Describe what a policy does to deliveries, without the parts that only calls use."""
    rule = policy.retry_after
    of_calls = policy.replace(
        nested=not policy.nested, retry_after=RetryAfter(honour=not rule.honour)
    )
    lines = [sentence for sentence in sentences(policy) if sentence in sentences(of_calls)]
    if (of_probes := probes(policy.probe)) not in lines:
        lines.append(of_probes)
    lines.append(REFUSALS)
    if not rule.honour:
        return [*lines, "Waits that the endpoint asks for (Retry-After) are ignored."]
    limit = f"up to {spoken(rule.at_most)}; longer ones are cut"
    return [*lines, f"Waits that the endpoint asks for (Retry-After) are honoured {limit}."]


@click.command(epilog=EXIT_CODES)
@app_argument
@endpoint_argument
@since_option(help=f"Start of the time span: {BACK}. Default: four weeks ago.")
@until_option
@remote
def stats(
    remote: Remote, *, app: str, endpoint: str, since: datetime | None, until: datetime | None
) -> None:
    """Count messages by status, and attempts."""
    check_span(since, until)
    path = ("app", app, "endpoint", endpoint)
    span = {"since": to_api(since), "until": to_api(until)}
    counts: dict[str, Any] = {
        "messages": remote.get(*path, "stats", **span).read(),
        "attempts": remote.get(*path, "attempt-stats", **span).read(),
    }
    if remote.as_json:
        click.echo(json.dumps(counts))
        return
    states = list(counts["messages"])
    rows = [{"of": of, **numbers} for of, numbers in counts.items()]
    tables.print_table(rows, {"": "of", **{state.capitalize(): state for state in states}})


def _change_standing(remote: Remote, app: str, endpoint: str, verb: str) -> None:
    """Enable, pause or disable an endpoint, and print its new standing."""
    answer = remote.server.request("POST", "app", app, "endpoint", endpoint, verb)
    if remote.as_json:
        remote.print(answer)
    else:
        click.echo(f"{endpoint} is {answer.read()['standing']}")
