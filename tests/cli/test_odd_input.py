"""Whatever is typed at a command that asks a server, it ends with one line and a known code."""

from collections.abc import Iterator

import click
import pytest

from tarry.cli.commands import tarry
from tests.cli.shell import Shell

ODD = (
    *("", " ", ".", "a/b", "-1", "0", "1.5", "nan", "9" * 400, "a" * 5000, "ü", "\udcff", "a\nb"),
    *("\x1b[31m", "\u202e", "@nope", "{}", "[", "http://[::1", "2h", "9999999d", "2026-13-41"),
    *("a=b", "=b", "whsec_", "%2e%2e", "'; --", "true"),
)
CODES = frozenset({0, 1, 2, 3, 4})


def asking(
    group: click.Group, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """The commands that ask a server, and nothing else."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from asking(command, (*path, name))
        elif {"server", "key"} <= {param.name for param in command.params} and name != "doctor":
            yield (*path, name), command


def typed(command: click.Command, word: str) -> Iterator[list[str]]:
    """A word in place of every argument; then as the value of each option, one at a time."""
    arguments = [word for param in command.params if isinstance(param, click.Argument)]
    yield arguments
    names = ["x" for _ in arguments]
    for option in command.params:
        if isinstance(option, click.Option) and not option.is_flag and option.name != "server":
            yield [*names, option.opts[0], word]


@pytest.mark.slow
@pytest.mark.parametrize(("path", "command"), list(asking(tarry)), ids=str)
def test_odd_words_end_well(shell: Shell, path: tuple[str, ...], command: click.Command) -> None:
    for word in ODD:
        for rest in typed(command, word):
            ended = shell.run(*path, *rest, given="")
            assert isinstance(ended.exception, SystemExit | None), (rest, ended.exc_info)
            assert ended.exit_code in CODES, rest
            assert "\x1b" not in ended.stderr, rest
            errors = [line for line in ended.stderr.splitlines() if line.startswith("Error: ")]
            assert len(errors) == (ended.exit_code in {1, 2, 3}), (rest, ended.stderr)
