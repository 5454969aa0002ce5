"""Say what to install when a command needs a package of an extra that is missing."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import click

from tarry.cli.exit_codes import WRONG

PACKAGES: Mapping[str, str] = {
    "apsw": "service",
    "asyncpg": "postgres",
    "cryptography": "service",
    "httptools": "service",
    "jsonschema_rs": "service",
    "matplotlib": "plots",
    "msgspec": "service",
    "numpy": "sim",
    "uvicorn": "service",
    "uvloop": "service",
}
"""The extra that installs each package."""


class NotInstalled(click.ClickException):
    """An extra is missing."""

    exit_code = WRONG


@contextmanager
def needed_for(feature: str) -> Iterator[None]:
    """Import optional packages inside this block; an error says that `feature` needs them."""
    try:
        yield
    except ModuleNotFoundError as missing:
        extra = PACKAGES.get((missing.name or "").partition(".")[0])
        if extra is None:
            raise
        raise NotInstalled(f"{feature} needs: pip install 'tarry[{extra}]'") from None
