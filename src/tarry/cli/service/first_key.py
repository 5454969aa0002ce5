"""Hand the first key to the person who starts a server, and not to the readers of its log."""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tarry.service.hooks import Hooks

DAY = 86_400.0
"""Seconds for which a key that was written to a file is valid."""


async def hand_over_first_key(hooks: "Hooks", url: str) -> None:
    """Create the first key if the database has none; show it on a terminal, or write it to a file.

    Without a terminal, standard error is usually a log that is kept and read by many.
    """
    if sys.stderr.isatty():
        if first := await hooks.first_key():
            click.echo(f"  first key, shown only now: {first}", err=True)
            click.echo(f"  to use it: export TARRY_SERVER={url} TARRY_KEY={first}", err=True)
        return
    file = _file_of(hooks.settings.db)
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        click.echo(f"  no first key: {draft} cannot be written: {error.strerror}", err=True)
        return
    try:
        with os.fdopen(handle, "w", encoding="ascii") as opened:
            first = await hooks.first_key(expires_at=time.time() + DAY)
            opened.write(f"{first}\n")
        if first is not None:
            draft.replace(file)
            click.echo(f"  first key, valid for a day: in the file {file}", err=True)
            click.echo(f"  to use it: export TARRY_SERVER={url} TARRY_KEY_FILE={file}", err=True)
    finally:
        draft.unlink(missing_ok=True)


def _file_of(db: str) -> Path:
    """Return the file for the key: beside an SQLite database, otherwise in the current folder."""
    from tarry.service.build import scheme, sqlite_path  # noqa: PLC0415  it needs the extra

    if scheme(db) != "sqlite":
        return Path("tarry.first-key").resolve()
    database = sqlite_path(db).resolve()
    return database.with_name(f"{database.name}.first-key")
