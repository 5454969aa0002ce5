"""Read a policy file for a command, or end the command with one line that says what is wrong."""

from pathlib import Path

import click

from tarry.core.codec import from_dict
from tarry.core.policy import Policy
from tarry.core.text import PARSERS
from tarry.errors import PolicyFormatError


class BadFile(click.ClickException):
    """A file named on the command line cannot be used."""

    exit_code = 2


def read_policy(path: Path) -> Policy:
    """Read a policy from a .toml or .json file."""
    parse = PARSERS.get(path.suffix.lower())
    if parse is None:
        raise BadFile(f"{path}: the name must end in {' or '.join(PARSERS)}")
    try:
        return from_dict(parse(path.read_text(encoding="utf-8")))
    except PolicyFormatError as error:
        raise BadFile(f"{path}: {error}") from None
    except UnicodeDecodeError:
        raise BadFile(f"{path}: the file must be text in UTF-8") from None
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror}; name a policy file that can be read") from None
