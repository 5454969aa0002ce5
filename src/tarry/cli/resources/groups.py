"""`tarry app` and `tarry endpoint` with all their subcommands, which are in several files."""

from tarry.cli.resources.app import app
from tarry.cli.resources.defaults import quota
from tarry.cli.resources.endpoint import endpoint
from tarry.cli.resources.lane import lane, pause, policy, probe, resume, stats
from tarry.cli.resources.signing import headers, rotate, secret

__all__ = ["app", "endpoint"]

app.add_command(quota)
for part in (secret, rotate, headers, pause, resume, probe, lane, policy, stats):
    endpoint.add_command(part)
