"""The commands under `tarry`, one function each; the longer ones have their own file."""

import click

from tarry.cli.app import app
from tarry.cli.attempt import attempt
from tarry.cli.backup import backup
from tarry.cli.bench.command import bench
from tarry.cli.endpoint import endpoint
from tarry.cli.event_type import event_type
from tarry.cli.explain import explain
from tarry.cli.lane import lane, pause, policy, probe, resume, stats
from tarry.cli.listen import listen
from tarry.cli.message import message
from tarry.cli.migrate import migrate
from tarry.cli.recommend import recommend
from tarry.cli.recover import recover
from tarry.cli.seal import seal
from tarry.cli.send import send
from tarry.cli.serve import api, serve
from tarry.cli.signing import headers, rotate, secret
from tarry.cli.storm import storm
from tarry.cli.task import task
from tarry.cli.undelivered import undelivered
from tarry.cli.worker import worker
from tarry.core.schema import schema_text


@click.group(
    epilog="Exit codes: 0, it is done; 2, the command line or a file it names is wrong.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="tarry", message="tarry %(version)s")
def tarry() -> None:
    """Retries that never stampede."""


@tarry.command
def schema() -> None:
    """Print the JSON Schema of policy files."""
    click.echo(schema_text(), nl=False)


tarry.add_command(api)
tarry.add_command(app)
tarry.add_command(attempt)
tarry.add_command(backup)
tarry.add_command(bench)
tarry.add_command(endpoint)
tarry.add_command(event_type)
tarry.add_command(explain)
tarry.add_command(listen)
tarry.add_command(message)
tarry.add_command(migrate)
tarry.add_command(recommend)
tarry.add_command(recover)
tarry.add_command(seal)
tarry.add_command(send)
tarry.add_command(serve)
tarry.add_command(storm)
tarry.add_command(task)
tarry.add_command(undelivered)
tarry.add_command(worker)

for part in (secret, rotate, headers, pause, resume, probe, lane, policy, stats):
    endpoint.add_command(part)
