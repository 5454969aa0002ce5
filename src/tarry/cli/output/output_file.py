"""The output file of a command: problems with it are reported before the work starts."""

import os
from collections.abc import Callable, Collection
from pathlib import Path

from tarry.cli.input.policy_file import BadFile


def check(option: str, path: Path, suffixes: Collection[str]) -> None:
    """Refuse a path that has none of these suffixes or that cannot be written."""
    if path.suffix.lower() not in suffixes:
        wanted = f"a name that ends in {' or '.join(suffixes)}"
    elif path.is_dir() or not path.parent.is_dir():
        wanted = "a file in a folder that is there"
    elif not os.access(path if path.exists() else path.parent, os.W_OK):
        wanted = "a file that can be written"
    else:
        return
    raise BadFile(f"{option!r} is {str(path)!r}; it must be {wanted}")


def write_file(path: Path, write: Callable[[], object]) -> None:
    """Call `write`, and report in one line if it fails after all."""
    try:
        write()
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror}; it could not be written") from None
