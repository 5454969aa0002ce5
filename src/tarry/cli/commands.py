"""The `tarry` command: the groups of its help, and how its errors and Ctrl-C end."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from errno import EPIPE
from typing import Any

import click

from tarry.cli.bench.command import bench
from tarry.cli.completion import completion
from tarry.cli.doctor.command import doctor
from tarry.cli.exit_codes import INTERRUPTED, WRONG
from tarry.cli.extras import needed_for
from tarry.cli.listen.command import listen
from tarry.cli.resources.app import app
from tarry.cli.resources.attempt import attempt
from tarry.cli.resources.defaults import policy as default_policy
from tarry.cli.resources.defaults import quota
from tarry.cli.resources.endpoint import endpoint
from tarry.cli.resources.event_type import event_type
from tarry.cli.resources.lane import lane, pause, policy, probe, resume, stats
from tarry.cli.resources.message import message
from tarry.cli.resources.recover import recover
from tarry.cli.resources.send import send
from tarry.cli.resources.signing import headers, rotate, secret
from tarry.cli.resources.task import task
from tarry.cli.resources.undelivered import undelivered
from tarry.cli.service.backup import backup
from tarry.cli.service.key import key
from tarry.cli.service.migrate import migrate
from tarry.cli.service.openapi import openapi
from tarry.cli.service.seal import seal
from tarry.cli.service.serve import api, serve
from tarry.cli.service.worker import worker
from tarry.cli.storm.command import storm
from tarry.cli.storm.explain import explain
from tarry.cli.storm.recommend import recommend
from tarry.core.schema import schema_text


@click.command(epilog="Exit codes: 0, it is done.")
def schema() -> None:
    """Print the JSON Schema of policy files."""
    click.echo(schema_text(), nl=False)


GROUPS: Mapping[str, tuple[click.Command, ...]] = {
    "Policies and storms": (explain, schema, storm, recommend),
    "Run the webhook service": (
        *(serve, api, worker, key, doctor),
        *(migrate, backup, seal, bench),
    ),
    "Use it": (
        *(send, app, endpoint, event_type, message, attempt),
        *(undelivered, recover, task, default_policy),
    ),
    "Try it out and build on it": (listen, openapi, completion),
}


class Mistyped(click.ClickException):
    """The command line is wrong; one line says how, and which help to read."""

    exit_code = WRONG

    def __init__(self, error: click.UsageError) -> None:
        path = f" (see `{error.ctx.command_path} --help`)" if error.ctx else ""
        super().__init__(" ".join(error.format_message().split()) + path)


@contextmanager
def _in_one_line() -> Iterator[None]:
    """End a mistyped command with one line of error; click would print three more.

    Do the same when output, or a file, cannot be written.
    """
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        raise Mistyped(error) from error
    except OSError as error:
        if error.errno == EPIPE or error.strerror is None:
            raise  # EPIPE is click's to handle; without a strerror it is not a system error
        _let_go_what_cannot_be_written()
        where = "" if error.filename is None else f"{error.filename}: "
        raise click.ClickException(f"{where}{error.strerror}") from error


def _let_go_what_cannot_be_written() -> None:
    """Discard buffered output that cannot be written.

    Otherwise Python retries at exit, prints a message of its own and ends with its own exit code.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Grouped(click.Group):
    """A group that lists its commands under headings and ends them properly at Ctrl-C."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401  click's arguments
    ) -> click.Context:
        """Parse the arguments before the subcommand."""
        with _in_one_line():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> object:
        """Run a subcommand; report Ctrl-C if the subcommand does not do so itself."""
        try:
            with _in_one_line(), needed_for("this command"):
                return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("\ninterrupted", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings."""
        _ = ctx
        longest = max(len(name) for name in self.commands)
        for heading, commands in GROUPS.items():
            with formatter.section(heading):
                limit = formatter.width - longest - 6
                formatter.write_dl(
                    [
                        (str(one.name).ljust(longest), one.get_short_help_str(limit))
                        for one in commands
                    ]
                )


@click.group(
    cls=Grouped,
    epilog="Exit codes: 0, it is done; 1, it could not be done; 2, the command line, a setting or a"
    " file it names is wrong; 3, the database or the server cannot be used; 4, what was waited for"
    " takes longer; 130, Ctrl-C.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="tarry", message="tarry %(version)s")
@click.pass_context
def tarry(context: click.Context) -> None:
    """Retries that never stampede."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        context.color = False


for commands in GROUPS.values():
    for command in commands:
        tarry.add_command(command)
for part in (secret, rotate, headers, pause, resume, probe, lane, policy, stats):
    endpoint.add_command(part)
app.add_command(quota)
