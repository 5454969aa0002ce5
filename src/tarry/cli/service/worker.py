"""`tarry worker`: deliver the messages in a database until a signal stops it."""

from typing import Any

import click

from tarry.cli.service.garbage_collection import seldom_collected
from tarry.cli.service.options import (
    EXIT_CODES,
    config_option,
    db_option,
    dispatch_limits,
    dispatch_options,
    ended,
    seal_payloads_option,
    serving,
    watch_stop_signals,
    wire_options,
)


@click.command(epilog=EXIT_CODES)
@config_option
@db_option(required=True)
@wire_options
@seal_payloads_option
@click.option("--migrate", is_flag=True, help="Bring the schema up to date first.")
@dispatch_options
@serving
async def worker(
    *,
    db: str,
    migrate: bool,
    in_flight: int,
    lease: float,
    grace: float,
    **wire: Any,  # noqa: ANN401  the values of wire_options, and seal_payloads
) -> None:
    """Deliver the messages that wait in a database.

    On PostgreSQL, any number of workers on any hosts share a database. An SQLite file has one
    worker. SIGTERM or Ctrl-C lets the worker finish the attempts in flight. A second one ends it at
    once.
    """
    from tarry.service import build, open_hooks  # noqa: PLC0415  it needs the extra

    signals = watch_stop_signals()
    limits = dispatch_limits(in_flight=in_flight, lease=lease, grace=grace)
    opened = open_hooks(db, migrate=migrate, limits=limits, **wire)
    async with opened as hooks, hooks.dispatching() as dispatcher:
        signals.end_of_start()
        shown = build.without_password(db)
        click.echo(f"delivering from {shown}; {len(dispatcher.shards.numbers)} shards", err=True)
        signals.on_second_signal(dispatcher.hurry)
        with seldom_collected():
            await hooks.until(signals.stop)
        click.echo("stopping: waiting for attempts in flight", err=True)
    ended(drained=dispatcher.drained)
