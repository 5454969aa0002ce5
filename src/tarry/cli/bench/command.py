"""`tarry bench`: measure the service on this machine, and compare it with a floor."""

import click

from tarry.cli.bench.deliver import deliver
from tarry.cli.bench.ingest import ingest


@click.group
def bench() -> None:
    """Measure the webhook service on this machine."""


bench.add_command(deliver)
bench.add_command(ingest)
