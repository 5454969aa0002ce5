"""`tarry serve` and `tarry api`: messages come in over HTTP; the first one delivers them too."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import click

from tarry.cli.garbage import seldom_collected
from tarry.cli.plain import fits_a_header
from tarry.cli.ranges import Number
from tarry.cli.service_options import (
    EXIT_CODES,
    Told,
    config_option,
    db_option,
    dispatch_limits,
    dispatch_options,
    ended,
    quota_options,
    serving,
    setting,
    told_to_stop,
    wire_options,
)
from tarry.cli.together import together
from tarry.errors import SettingsError

FILE = "sqlite:///hooks.db"


def _refuse_port(_context: click.Context, _option: click.Parameter, typed: str | None) -> None:
    """Others call it so; what is nearest to it here, --ports, means something else."""
    if typed is not None:
        raise click.UsageError("where to listen is said by --listen HOST:PORT")


front_options = together(
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
    setting(
        "--api-key",
        metavar="KEY",
        help="A key that may do everything, beside those that `tarry key create` makes.",
    ),
    setting(
        "--key-rate",
        type=Number(min=0, min_open=True),
        metavar="N",
        help="Requests a second that each key may make, in this process. Any number, if not given.",
    ),
)
"""What says where the API listens and whom it lets in."""


@click.command(epilog=EXIT_CODES)
@config_option
@db_option(default=FILE)
@wire_options
@quota_options
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
    **settings: Any,  # noqa: ANN401  those of the other options, handed on
) -> None:
    """Serve the API and deliver messages, all in one process.

    On a database without keys it makes a first one, and shows it.
    """
    from tarry.service.build import without_password  # noqa: PLC0415  it needs the extra

    told = told_to_stop()
    settings["limits"] = dispatch_limits(in_flight=in_flight, lease=lease, grace=grace)
    async with _fronting(db, listen, told, settings) as (hooks, front):
        async with hooks.dispatching() as dispatcher:
            told.begun()
            async with front as url:
                click.echo(f"ready: {url}, delivering from {without_password(db)}", err=True)
                await _say_more(hooks, url, settings["api_key"])
                told.then(dispatcher.hurry)
                with seldom_collected():
                    await hooks.until(told.stop)
            click.echo("stopping: waiting for attempts on their way", err=True)
        ended(drained=dispatcher.drained)


@click.command(
    short_help="Serve the API, and leave delivering to workers.",
    epilog="Exit codes: 0, stopped; 2, a setting is wrong; 3, the database cannot be used.",
)
@config_option
@db_option(required=True)
@wire_options
@quota_options
@front_options
@serving
async def api(
    *,
    db: str,
    listen: str,
    **settings: Any,  # noqa: ANN401  those of the other options, handed on
) -> None:
    """Serve the API only: workers deliver (`tarry worker`), any number of both on PostgreSQL."""
    from tarry.service.build import without_password  # noqa: PLC0415  it needs the extra

    told = told_to_stop()
    async with _fronting(db, listen, told, settings) as (hooks, front), front as url:
        told.begun()
        click.echo(f"ready: {url}, accepting into {without_password(db)}", err=True)
        await _say_more(hooks, url, settings["api_key"])
        with seldom_collected():
            await hooks.until(told.stop)
    click.echo("stopped", err=True)


@asynccontextmanager
async def _fronting(
    db: str, listen: str, told: Told, settings: dict[str, Any]
) -> AsyncIterator[tuple[Any, Any]]:
    """The database, opened, and the server to be entered for as long as it is to answer."""
    from tarry.service.api.open import make_api  # noqa: PLC0415  it needs the extra
    from tarry.service.api.server import read_address  # noqa: PLC0415  likewise
    from tarry.service.api.server import serving as serving_http  # noqa: PLC0415  likewise
    from tarry.service.hooks import open_hooks  # noqa: PLC0415  likewise

    rest = dict(settings)
    api_key, key_rate = rest.pop("api_key"), rest.pop("key_rate")
    if api_key is not None and not fits_a_header(api_key):
        raise SettingsError("api-key", "...", "a secret of printable ASCII characters")
    _, port = read_address(listen)
    async with open_hooks(db, own=(listen,) if port else (), **rest) as hooks:
        answering = await make_api(hooks, api_key, key_rate=key_rate)
        yield hooks, serving_http(answering, listen, told.hurry)


async def _say_more(hooks: Any, url: str, api_key: str | None) -> None:  # noqa: ANN401  Hooks
    """Where to read on, and the first key if there is none."""
    click.echo(f"  dashboard: {url}/dashboard", err=True)
    click.echo(f"  docs: {url}/docs", err=True)
    if api_key is None and (first := await hooks.first_key()):
        click.echo(f"  first key, shown only now: {first}", err=True)
        click.echo(f"  to ask it: export TARRY_SERVER={url} TARRY_KEY={first}", err=True)
