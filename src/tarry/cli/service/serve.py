"""`tarry serve` and `tarry api`: serve the HTTP API; `serve` also delivers the messages."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import click

from tarry.cli.input.option_group import option_group
from tarry.cli.input.ranges import Number
from tarry.cli.output.safe_text import fits_a_header
from tarry.cli.service.first_key import hand_over_first_key
from tarry.cli.service.garbage_collection import seldom_collected
from tarry.cli.service.key_options import key_options
from tarry.cli.service.options import (
    EXIT_CODES,
    StopSignals,
    config_option,
    db_option,
    dispatch_limits,
    dispatch_options,
    ended,
    quota_options,
    seal_payloads_option,
    serving,
    setting,
    size_options,
    watch_stop_signals,
    wire_options,
)
from tarry.errors import SettingsError

if TYPE_CHECKING:
    from tarry.service.hooks import Hooks

DEFAULT_DATABASE = "sqlite:///hooks.db"


def _refuse_port(_context: click.Context, _option: click.Parameter, typed: str | None) -> None:
    """Point to --listen: other servers have --port, and ours, --ports, means something else."""
    if typed is not None:
        raise click.UsageError("where to listen is said by --listen HOST:PORT")


front_options = option_group(
    setting(
        "--listen",
        default="127.0.0.1:8400",
        metavar="HOST:PORT",
        help="Where to listen.",
    ),
    click.option(
        *("--port", "--host", "--bind"),
        hidden=True,
        expose_value=False,
        callback=_refuse_port,
    ),
    key_options(
        "api-key", "A key with all rights, besides the keys that `tarry key create` makes."
    ),
    key_options(
        "metrics-key", "A key that /metrics needs. Anybody may read them, if none is given."
    ),
    setting(
        "--key-rate",
        type=Number(min=0, min_open=True),
        metavar="N",
        help="Requests a second that each key may make, in this process. Default: no limit.",
    ),
    setting(
        "--public-url",
        metavar="URL",
        help="Where clients reach this server, e.g. https://hooks.example.com: for links to the"
        " portal, and no endpoint may have it. Default: the address that the request was sent to.",
    ),
    setting(
        "--trusted-proxy",
        multiple=True,
        metavar="NETWORK",
        help="A proxy in front of this server whose X-Forwarded-For, X-Forwarded-Host and"
        " X-Forwarded-Proto count, e.g. 10.0.0.7; repeatable. Default: none.",
    ),
    setting(
        "--redact",
        multiple=True,
        metavar="RULE",
        help="What the API never shows: a JSON path into payloads and responses, e.g."
        " $.card.number, or a header of endpoints, e.g. header:x-customer; repeatable. Default:"
        " none.",
    ),
)
"""Options for where the API listens, which keys it accepts, and what it shows."""


@click.command(epilog=EXIT_CODES)
@config_option
@db_option(default=DEFAULT_DATABASE)
@wire_options
@quota_options
@seal_payloads_option
@size_options
@front_options
@dispatch_options
@serving
async def serve(
    *,
    db: str,
    listen: str,
    in_flight: int,
    lease: float,
    grace: float,
    **settings: Any,  # noqa: ANN401  the values of the other options
) -> None:
    """Serve the API and deliver messages, all in one process.

    On a database without API keys, it creates the first one and shows it.
    """
    signals = watch_stop_signals()
    settings["limits"] = dispatch_limits(in_flight=in_flight, lease=lease, grace=grace)
    async with _fronting(db, listen, signals, settings) as (hooks, front, shown):
        async with hooks.dispatching() as dispatcher:
            signals.end_of_start()
            async with front as url:
                click.echo(f"ready: {url}, delivering from {shown}", err=True)
                await _say_more(hooks, url, settings["api_key"])
                signals.on_second_signal(dispatcher.hurry)
                with seldom_collected():
                    await hooks.until(signals.stop)
            click.echo("stopping: waiting for attempts in flight", err=True)
        ended(drained=dispatcher.drained)


@click.command(
    short_help="Serve the API, and leave delivering to workers.",
    epilog="Exit codes: 0, stopped; 2, a setting is wrong; 3, the database cannot be used.",
)
@config_option
@db_option(required=True)
@wire_options
@quota_options
@seal_payloads_option
@size_options
@front_options
@serving
async def api(
    *,
    db: str,
    listen: str,
    **settings: Any,  # noqa: ANN401  the values of the other options
) -> None:
    """Serve the API only; `tarry worker` delivers.

    On PostgreSQL you can run any number of both.
    """
    signals = watch_stop_signals()
    async with _fronting(db, listen, signals, settings) as (hooks, front, shown), front as url:
        signals.end_of_start()
        click.echo(f"ready: {url}, accepting into {shown}", err=True)
        await _say_more(hooks, url, settings["api_key"])
        with seldom_collected():
            await hooks.until(signals.stop)
    click.echo("stopped", err=True)


@asynccontextmanager
async def _fronting(
    db: str, listen: str, signals: StopSignals, settings: dict[str, Any]
) -> AsyncIterator[tuple[Any, Any, str]]:
    """Open the database, and yield it with the HTTP server, which the caller then enters.

    The third value is the database's URL as it may be shown.
    """
    from tarry.service import Sizes, open_hooks  # noqa: PLC0415  it needs the extra
    from tarry.service.api import open as composition  # noqa: PLC0415  likewise
    from tarry.service.api import server  # noqa: PLC0415  likewise
    from tarry.service.api.http.public_address import PublicAddress  # noqa: PLC0415  likewise
    from tarry.service.build import without_password  # noqa: PLC0415  likewise

    rest = dict(settings)
    rest["sizes"] = Sizes(
        endpoints=rest.pop("most_endpoints"),
        metadata=rest.pop("most_metadata"),
        filters=rest.pop("most_filters"),
    )
    api_key, key_rate = rest.pop("api_key"), rest.pop("key_rate")
    metrics_key = rest.pop("metrics_key")
    public_url = rest.pop("public_url")
    public_address = PublicAddress.of(public_url, rest.pop("trusted_proxy"))
    for name, key in (("api-key", api_key), ("metrics-key", metrics_key)):
        if key is not None and not fits_a_header(key):
            raise SettingsError(name, "...", "a secret of printable ASCII characters")
    own = server.own_of(listen, public_url)
    async with open_hooks(db, own=own, **rest) as hooks:
        answering = await composition.make_api(
            hooks,
            api_key,
            key_rate=key_rate,
            metrics_key=metrics_key,
            public_address=public_address,
        )
        yield hooks, server.serving(answering, listen, signals.hurry), without_password(db)


async def _say_more(hooks: "Hooks", url: str, api_key: str | None) -> None:
    """Print the URLs of the dashboard and docs, and the first key if it was just created."""
    click.echo(f"  dashboard: {url}/dashboard", err=True)
    click.echo(f"  docs: {url}/docs", err=True)
    if api_key is None:
        command = f"tarry {click.get_current_context().info_name}"
        await hand_over_first_key(hooks.for_command(command), url)
