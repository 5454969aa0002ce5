"""Options for a key: as a value, from a file, or from standard input.

Other users of a machine see the values of options in the list of processes. A file and standard
input keep a key out of it.
"""

import os
import stat
import sys
from collections.abc import Callable
from functools import update_wrapper
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from tarry.cli.input.option_group import option_group
from tarry.cli.output.safe_text import fits_a_header
from tarry.cli.service.options import FOUND, SETTINGS_FILE, WrongSettings, setting

C = TypeVar("C", bound=Callable[..., object])
STANDARD_INPUT = "-"
MOST_BYTES = 4096
SOURCES = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT, ParameterSource.DEFAULT_MAP)
"""Where settings come from; the first one wins."""


def key_options(name: str, about: str) -> Callable[[C], C]:
    """Declare `--NAME KEY` and `--NAME-file FILE`; the command gets the key as one argument."""
    argument, file_argument = name.replace("-", "_"), f"{name.replace('-', '_')}_file"

    def declare(command: C) -> C:
        def run(*args: object, **options: Any) -> object:  # noqa: ANN401  click's, by name
            file = options.pop(file_argument)
            options[argument] = _key(name, options[argument], file)
            return command(*args, **options)

        return option_group(
            setting(
                f"--{name}",
                metavar="KEY",
                help=f"{about} Other users of this machine can see it in the list of processes:"
                f" use --{name}-file, or - for the first line of standard input.",
            ),
            setting(
                f"--{name}-file",
                type=click.Path(path_type=Path),
                help="A file with this key, which only its owner may open (mode 0600).",
            ),
        )(update_wrapper(run, command))  # type: ignore[return-value]  # the same, without the file

    return declare


def _key(name: str, key: str | None, file: Path | None) -> str | None:
    """Return the key, from where it is set; the stronger of two sources wins."""
    if key is not None and file is not None:
        source_of = click.get_current_context().get_parameter_source
        argument = name.replace("-", "_")
        ranks = [_rank(source_of(argument)), _rank(source_of(f"{argument}_file"))]
        if ranks[0] == ranks[1]:
            raise WrongSettings(f"--{name} and --{name}-file cannot be used together")
        key, file = (key, None) if ranks[0] < ranks[1] else (None, file)
    if file is not None:
        return _checked(_read(name, file), f"the file {file} of --{name}-file")
    if key == STANDARD_INPUT:
        line = sys.stdin.buffer.readline(MOST_BYTES)
        return _checked(line, "the first line of standard input")
    return key


def refuse_foreign_server(server: str) -> None:
    """Refuse a server that a found `tarry.toml` names for a key that is not in that file.

    Otherwise a file in the current folder, put there by another user, could have the key sent to
    a server of theirs.
    """
    context = click.get_current_context()
    source_of, settings = context.get_parameter_source, context.default_map or {}
    if not context.meta.get(FOUND) or source_of("server") is not ParameterSource.DEFAULT_MAP:
        return
    sources = (source_of("key"), source_of("key_file"))
    has_own_key = settings.get("key") not in (None, STANDARD_INPUT) and "key_file" not in settings
    if has_own_key and all(_rank(source) >= _rank(SOURCES[-1]) for source in sources):
        return
    raise WrongSettings(
        f"{SETTINGS_FILE} in this folder names the server {server}, but has no key. A file that was"
        " only found must not decide where a key is sent. If you trust it, run with"
        f" --config {SETTINGS_FILE}; if not, give --server."
    )


def _rank(source: ParameterSource | None) -> int:
    """Return the place of a source in the order of strength."""
    return SOURCES.index(source) if source in SOURCES else len(SOURCES)


def _read(name: str, path: Path) -> bytes:
    """Return the content of a key file; refuse one that other users may open."""
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise WrongSettings(
                    f"the file {path} of --{name}-file has mode {mode:04o}: other users may open"
                    f" it; run chmod 600 {path}"
                )
            return file.read(MOST_BYTES)
    except OSError as error:
        raise WrongSettings(f"--{name}-file: {path} cannot be read: {error.strerror}") from error


def _checked(content: bytes, source: str) -> str:
    """Return a key without white space around it. Errors do not show it."""
    key = content.strip().decode("latin-1")
    if not fits_a_header(key):
        raise WrongSettings(f"{source} must hold a key: one line of printable ASCII characters")
    return key
