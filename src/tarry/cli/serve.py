"""`tarry serve`: messages come in over HTTP and are delivered, all in one process."""

from typing import Any

import click

from tarry.cli.service_options import (
    EXIT_CODES,
    config_option,
    db_option,
    ended,
    quota_options,
    serving,
    told_to_stop,
    wire_options,
)
from tarry.errors import SettingsError


@click.command(epilog=EXIT_CODES)
@config_option
@db_option
@wire_options
@quota_options
@click.option(
    "--listen",
    envvar="TARRY_LISTEN",
    default="127.0.0.1:8400",
    show_default=True,
    metavar="HOST:PORT",
    help="Where to listen  [TARRY_LISTEN]",
)
@click.option(
    "--api-key",
    envvar="TARRY_API_KEY",
    required=True,
    metavar="KEY",
    help="The key that senders have to give  [TARRY_API_KEY]",
)
@serving
async def serve(
    *,
    db: str,
    listen: str,
    api_key: str,
    **settings: Any,  # noqa: ANN401  those of wire_options and quota_options, handed on
) -> None:
    """Accept messages over HTTP, and deliver them.

    In this version the API takes messages in (one, or a batch); applications and endpoints are
    made from Python, with `tarry.service.open_hooks`.
    """
    from tarry.service.api.open import make_api  # noqa: PLC0415  it needs the extra
    from tarry.service.api.server import read_address  # noqa: PLC0415  likewise
    from tarry.service.api.server import serving as serving_http  # noqa: PLC0415  likewise
    from tarry.service.build import without_password  # noqa: PLC0415  likewise
    from tarry.service.hooks import open_hooks  # noqa: PLC0415  likewise

    told = told_to_stop()
    if not api_key.strip():
        raise SettingsError("api-key", api_key, "a secret that is not empty")
    _, port = read_address(listen)
    opened = open_hooks(db, own=(listen,) if port else (), **settings)
    async with opened as hooks, hooks.dispatching() as dispatcher:
        async with serving_http(await make_api(hooks, api_key), listen, told.hurry) as url:
            click.echo(f"ready: {url}, delivering from {without_password(db)}", err=True)
            told.then(dispatcher.hurry)
            await hooks.until(told.stop)
        click.echo("stopping: waiting for attempts on their way", err=True)
    ended(drained=dispatcher.drained)
