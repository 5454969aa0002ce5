"""`tarry listen`: a local receiver that shows each webhook, and can be made to fail."""

import asyncio
import json
import signal

import click

from tarry.cli.extras import needed_for
from tarry.cli.input.quantities import seconds, share
from tarry.cli.input.ranges import Whole
from tarry.cli.listen.http_server import Listener
from tarry.cli.listen.inbox import Arrival, Inbox, OtherRequest, ResponseSettings
from tarry.cli.output.tables import json_option
from tarry.cli.service.options import WrongSettings
from tarry.core.duration import spoken
from tarry.errors import SettingsError
from tarry.receive import Webhook

DEFAULT_STATUS = 500
EXIT_CODES = (
    "Exit codes: 0, stopped by Ctrl-C or SIGTERM; 1, the output cannot be written, or its reader"
    " has stopped; 2, an option is wrong."
)


@click.command(epilog=EXIT_CODES)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=Whole(0, 65_535),
    metavar="PORT",
    default=8500,
    show_default=True,
    help="The port to listen on; 0 takes a free one.",
)
@click.option(
    "--secret",
    "secrets",
    envvar="TARRY_WEBHOOK_SECRET",
    show_envvar=True,
    multiple=True,
    metavar="WHSEC",
    help="Check signatures with this secret, or public key; repeatable.",
)
@click.option(
    "--fail",
    type=share,
    metavar="SHARE",
    help="Fail this share of the requests, e.g. 30%; all of them if only --status is given.",
)
@click.option(
    "--status",
    type=Whole(300, 599),
    metavar="STATUS",
    help=f"The status of failed requests. Default: {DEFAULT_STATUS}.",
)
@click.option(
    "--retry-after",
    type=seconds,
    metavar="DURATION",
    help="Answer failing requests with this Retry-After, e.g. 30s.",
)
@click.option(
    "--slow",
    type=seconds,
    default="0s",
    metavar="DURATION",
    help="Wait before every answer, e.g. 500ms.",
)
@click.option(
    "--down",
    type=seconds,
    default="0s",
    metavar="DURATION",
    help="Refuse connections for this long after the start, e.g. 1min.",
)
@click.option("--show-body", is_flag=True, help="Show bodies too.")
@json_option
def listen(  # noqa: PLR0913  one argument per option
    *,
    host: str,
    port: int,
    secrets: tuple[str, ...],
    fail: float | None,
    status: int | None,
    retry_after: float | None,
    slow: float,
    down: float,
    show_body: bool,
    as_json: bool,
) -> None:
    """Receive webhooks on this machine, and show each one.

    A line shows the time, the path if it is not /, the event type if the body names one (as "type",
    for example; else -), the message id, the attempt number from its header, the result of the
    signature check, and the response.

    While it runs, SIGUSR1 takes it down (connections are refused) and SIGUSR2 brings it back.
    Ctrl-C ends it and prints a summary.
    """
    if fail is None:
        fail = 0.0 if status is None else 1.0
    if retry_after is not None and not fail:
        raise click.UsageError("--retry-after goes with failures: give --fail or --status too")
    responses = ResponseSettings(fail, status or DEFAULT_STATUS, retry_after, slow)
    printer = _Printer(as_json=as_json, show_body=show_body)
    try:
        with needed_for("a public key"):
            webhook = Webhook(*secrets) if secrets else None
        asyncio.run(
            _listen(Inbox(webhook, responses, printer.print_request), host, port, down, printer)
        )
    except SettingsError as error:
        raise WrongSettings(str(error)) from error


class _Printer:
    """Prints what happens, for people or for programs, and stops the command if it cannot print.

    The request is answered all the same: an error in printing must not break the connection.
    """

    def __init__(self, *, as_json: bool, show_body: bool) -> None:
        self._json = as_json
        self._show_body = show_body
        self.stop = asyncio.Event()
        self.trouble: OSError | None = None

    def print_request(self, arrival: Arrival | OtherRequest) -> None:
        """Print a request that arrived."""
        if self._json:
            self._print(json.dumps(arrival.facts(body=self._show_body)))
        else:
            self._print(arrival.line())
            if self._show_body and (body := arrival.shown_body()):
                self._print(body)

    def print_event(self, event: str, words: str, **facts: object) -> None:
        """Print another event."""
        self._print(json.dumps({"event": event, **facts}) if self._json else words)

    def _print(self, words: str) -> None:
        """Print a line; if that fails, remember the error and stop."""
        if self.trouble is None:
            try:
                click.echo(words)
            except OSError as error:
                self.trouble = error
                self.stop.set()


async def _listen(inbox: Inbox, host: str, port: int, down: float, printer: _Printer) -> None:
    """Receive requests until a signal stops it, and print a summary."""
    listener = Listener(host, port, inbox.handle)
    turns = asyncio.Queue[bool]()
    _on_signals(printer.stop, turns)
    if down:
        asyncio.get_running_loop().call_later(down, turns.put_nowait, True)  # noqa: FBT003  True means up
        words = f"down for {spoken(down)}, then listening at {listener.url}"
        printer.print_event("down", words, url=listener.url)
    else:
        await listener.up()
        printer.print_event("listening", f"listening at {listener.url}", url=listener.url)
    turning = asyncio.create_task(_turn(listener, turns, printer))
    await printer.stop.wait()
    turning.cancel()
    await listener.close()
    counts = inbox.counts
    printer.print_event("summary", str(counts), **vars(counts))
    if printer.trouble is not None:
        raise printer.trouble


def _on_signals(stop: asyncio.Event, turns: "asyncio.Queue[bool]") -> None:
    """Stop at SIGINT or SIGTERM; go down at SIGUSR1 and up again at SIGUSR2."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGUSR1, turns.put_nowait, False)  # noqa: FBT003  False means down
    loop.add_signal_handler(signal.SIGUSR2, turns.put_nowait, True)  # noqa: FBT003  True means up


async def _turn(listener: Listener, turns: "asyncio.Queue[bool]", printer: _Printer) -> None:
    """Take the listener up or down whenever a signal asks for it."""
    while True:
        up = await turns.get()
        if up and not listener.is_up:
            await listener.up()
            printer.print_event("listening", f"listening at {listener.url}", url=listener.url)
        elif listener.is_up and not up:
            await listener.down()
            printer.print_event("down", "down: connections are refused", url=listener.url)
