"""`tarry worker`: deliver what waits in a database, until told to stop."""

from typing import Any

import click

from tarry.cli.service_options import (
    EXIT_CODES,
    config_option,
    db_option,
    ended,
    serving,
    told_to_stop,
    wire_options,
)


@click.command(epilog=EXIT_CODES)
@config_option
@db_option
@wire_options
@click.option("--migrate", is_flag=True, help="Bring the schema up to date first.")
@click.option(
    "--in-flight",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Attempts at a time.",
)
@click.option(
    "--lease",
    type=click.FloatRange(min=1),
    default=10.0,
    show_default=True,
    help="Seconds that a worker owns its shards without a sign of life.",
)
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    help="Seconds to wait for attempts on their way when told to stop.",
)
@serving
async def worker(
    *,
    db: str,
    migrate: bool,
    in_flight: int,
    lease: float,
    grace: float,
    **wire: Any,  # noqa: ANN401  those of wire_options, handed on
) -> None:
    """Deliver the messages that wait in a database.

    Any number of workers, on any hosts, share a PostgreSQL database; an SQLite file takes one.
    SIGTERM or Ctrl-C lets it finish what is on its way; a second one ends it without that.
    """
    from tarry.service import build  # noqa: PLC0415  it needs the extra
    from tarry.service.hooks import open_hooks  # noqa: PLC0415  likewise
    from tarry.service.model.settings import Limits  # noqa: PLC0415  likewise

    told = told_to_stop()
    limits = Limits(in_flight=in_flight, lease=lease, margin=min(2.0, lease / 5), grace=grace)
    opened = open_hooks(db, migrate=migrate, limits=limits, **wire)
    async with opened as hooks, hooks.dispatching() as dispatcher:
        shown = build.without_password(db)
        click.echo(f"delivering from {shown}; {len(dispatcher.shards.numbers)} shards", err=True)
        told.then(dispatcher.hurry)
        await hooks.until(told.stop)
        click.echo("stopping: waiting for attempts on their way", err=True)
    ended(drained=dispatcher.drained)
