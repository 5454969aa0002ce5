"""Read a policy file for a command, or end the command with a one-line error."""

from pathlib import Path

import click

from tarry.call.policy import Policy
from tarry.cli.exit_codes import WRONG
from tarry.core.text import PARSERS
from tarry.errors import PolicyFormatError


class BadFile(click.ClickException):
    """A file named on the command line cannot be used."""

    exit_code = WRONG


def read_policy(path: Path) -> Policy:
    """Read a policy from a .toml or .json file."""
    try:
        return Policy.load(path)
    except PolicyFormatError as error:
        raise BadFile(f"{path}: {error}") from None
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror}; name a policy file that can be read") from None


def read_document(path: Path) -> dict[str, object]:
    """Read a policy file without filling in defaults: the service has defaults of its own."""
    read_policy(path)
    return PARSERS["." + path.name.rpartition(".")[2].lower()](path.read_text(encoding="utf-8"))
