"""`tarry send`: send a message to an application's endpoints, and follow it."""

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import NoReturn
from uuid import uuid4

import click

from tarry.cli.client.client import NoServer
from tarry.cli.client.polling import follow_message
from tarry.cli.client.remote import WAITED, Remote, given_fields, remote
from tarry.cli.input.quantities import seconds
from tarry.cli.input.times import ahead, to_api
from tarry.cli.output.safe_text import fits_a_header
from tarry.cli.resources.app import app_argument


def read_payload(typed: str) -> bytes:
    """Read a JSON object: typed, from stdin for `-`, or from a file for `@FILE`."""
    try:
        if typed == "-":
            raw = sys.stdin.buffer.read()
        elif typed.startswith("@"):
            raw = Path(typed[1:]).read_bytes()
        else:
            raw = typed.encode()
        text = raw.decode("utf-8-sig")
        if not text.strip():
            raise click.BadParameter("it is empty; {} is the least", param_hint="PAYLOAD")
        payload = json.loads(text, parse_constant=_refuse_constant, parse_int=str, parse_float=str)
    except OSError as error:
        problem = f"{typed[1:] or '@'} cannot be read: {error.strerror or error}"
        raise click.BadParameter(problem, param_hint="PAYLOAD") from error
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"it is not JSON: {error}", param_hint="PAYLOAD") from error
    if not isinstance(payload, dict):
        kind = "a list" if isinstance(payload, list) else "a single value"
        problem = f"it is {kind}; it must be an object: {{...}}"
        raise click.BadParameter(problem, param_hint="PAYLOAD")
    return text.strip().encode()


def read_key(_context: click.Context, _option: click.Parameter, typed: str | None) -> str:
    """Return a valid idempotency key; a new one if none is given."""
    if typed is None:
        return f"cli-{uuid4()}"
    if not fits_a_header(typed):
        raise click.BadParameter(f"{typed!r} is no key; printable ASCII characters make one")
    return typed


def _refuse_constant(word: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python's parser would accept."""
    raise ValueError(f"{word} is not a number in JSON")


@click.command(epilog=WAITED)
@app_argument
@click.argument("event_type", metavar="TYPE")
@click.argument("payload", metavar="[PAYLOAD|-|@FILE]", default="{}")
@click.option("--event-id", metavar="TEXT", help="Your own id of the event.")
@click.option(
    "--channel", "channels", multiple=True, help="Send it to this channel only; repeatable."
)
@click.option("--tag", "tags", multiple=True, help="A tag to find the message by; repeatable.")
@click.option(
    "--idempotency-key",
    callback=read_key,
    metavar="TEXT",
    help="Accept a repeated request only once; random if not given.",
)
@click.option(
    "--deliver-at",
    type=ahead,
    metavar="WHEN",
    help="Deliver it at this time: 30min for in half an hour, or an instant.",
)
@click.option(
    "--wait", is_flag=True, help="Wait for delivery to every endpoint, and report what delays it."
)
@click.option(
    "--timeout",
    type=seconds,
    default="1min",
    show_default=True,
    metavar="DURATION",
    help="With --wait: stop waiting after this time, e.g. 90s.",
)
@remote
def send(  # noqa: PLR0913  one argument per option
    remote: Remote,
    *,
    app: str,
    event_type: str,
    payload: str,
    event_id: str | None,
    channels: tuple[str, ...],
    tags: tuple[str, ...],
    idempotency_key: str,
    deliver_at: datetime | None,
    wait: bool,
    timeout: float,
) -> None:
    """Send a message of TYPE to the endpoints of APP.

    PAYLOAD is a JSON object, {} if you leave it out; - reads it from stdin, @FILE from a file. It
    is sent byte for byte. With --wait, the progress at each endpoint is shown.
    """
    rest = given_fields(
        eventType=event_type,
        eventId=event_id,
        channels=channels,
        tags=tags,
        deliverAt=to_api(deliver_at),
    )
    # The payload is inserted unchanged: parsing and writing it would change numbers and spaces.
    body = json.dumps(rest).encode()[:-1] + b', "payload": ' + read_payload(payload) + b"}"
    try:
        answer = remote.server.request("POST", "app", app, "msg", body=body, key=idempotency_key)
    except NoServer as error:
        if not remote.server.reached:
            raise
        again = f"to repeat it safely, use --idempotency-key {idempotency_key}"
        raise NoServer(f"{error.message}; {again}") from error
    message = answer.read()["id"]
    if remote.as_json:
        remote.print(answer)
    else:
        click.echo(f"{message} is accepted")
    if wait:
        follow_message(remote, app, message, timeout)
