"""The `tarry` command: the groups of its help, and how its errors and Ctrl-C end."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from errno import EPIPE

import click

from tarry.cli.command_table import CommandTable
from tarry.cli.exit_codes import INTERRUPTED, WRONG
from tarry.cli.extras import needed_for

GROUPS: Mapping[str, Mapping[str, str]] = {
    "Policies and storms": {
        "explain": "tarry.cli.storm.explain",
        "schema": "tarry.cli.storm.schema",
        "storm": "tarry.cli.storm.command",
        "recommend": "tarry.cli.storm.recommend",
    },
    "Run the webhook service": {
        "serve": "tarry.cli.service.serve",
        "api": "tarry.cli.service.serve",
        "worker": "tarry.cli.service.worker",
        "key": "tarry.cli.service.key",
        "doctor": "tarry.cli.doctor.command",
        "migrate": "tarry.cli.service.migrate",
        "backup": "tarry.cli.service.backup",
        "seal": "tarry.cli.service.seal",
        "bench": "tarry.cli.bench.command",
    },
    "Use it": {
        "send": "tarry.cli.resources.send",
        "app": "tarry.cli.resources.groups",
        "endpoint": "tarry.cli.resources.groups",
        "event-type": "tarry.cli.resources.event_type",
        "message": "tarry.cli.resources.message",
        "attempt": "tarry.cli.resources.attempt",
        "undelivered": "tarry.cli.resources.undelivered",
        "recover": "tarry.cli.resources.recover",
        "task": "tarry.cli.resources.task",
        "audit": "tarry.cli.resources.audit",
        "policy": "tarry.cli.resources.defaults",
    },
    "Try it out and build on it": {
        "listen": "tarry.cli.listen.command",
        "openapi": "tarry.cli.service.openapi",
        "completion": "tarry.cli.completion",
    },
}
"""The commands under each heading of the help, and the module of each.

Only the module of the command that was typed is imported. A worker runs for months, and should not
keep the packages in memory that print tables.
"""


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


class CommandGroup(click.Group):
    """A group that lists its commands under headings and ends them properly at Ctrl-C."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: object,
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
                        (name.ljust(longest), self.commands[name].get_short_help_str(limit))
                        for name in commands
                    ]
                )


@click.group(
    cls=CommandGroup,
    commands=CommandTable({name: path for part in GROUPS.values() for name, path in part.items()}),
    epilog="Exit codes: 0, success; 1, failure; 2, the command line, a setting or a"
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
