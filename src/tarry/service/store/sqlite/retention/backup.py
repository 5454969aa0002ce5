"""Copy a database file while it is in use."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

import apsw

from tarry.errors import StoreError
from tarry.service.store.sqlite.database.connection import connect_to_read
from tarry.service.store.sqlite.database.faults import store_error
from tarry.service.store.sqlite.database.own_thread import IsUnwanted, never
from tarry.service.store.sqlite.database.private_file import COMPANIONS, create_private

PAGES_PER_CHECK = 10_000
"""How many pages are copied before the next check whether the copy is still wanted."""


def back_up(path: Path, target: Path, is_unwanted: IsUnwanted = never) -> None:
    """Write a consistent copy to `target`; the file appears complete or not at all.

    Only its owner may read it. An existing file is replaced, unless it belongs to the database
    itself or is a database in use. Raises StoreError if the copy becomes unwanted before it is
    complete.
    """
    _refuse_own(path, target)
    if target.with_name(target.name + "-wal").exists():
        raise StoreError(f"no backup at {target}: it is a database in use, {target.name}-wal tells")
    # A name for each backup: if two used one draft, the first would publish the other's half copy.
    part = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
    try:
        _copy(path, part, is_unwanted)
        part.replace(target)
        _sync(target.parent)
    except (apsw.Error, OSError) as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
            part.with_name(part.name + "-journal").unlink(missing_ok=True)
        reason = store_error(error, part) if isinstance(error, apsw.Error) else error.strerror
        raise StoreError(f"no backup at {target}: {reason}") from error


def _refuse_own(path: Path, file: Path) -> None:
    """Raise StoreError if the backup would replace a file of the database."""
    own = [path.with_name(path.name + companion) for companion in COMPANIONS]
    if file.resolve() in own or (
        file.exists() and any(map(file.samefile, filter(Path.exists, own)))
    ):
        raise StoreError(f"no backup at {file}: it belongs to the database {path} itself")


def _copy(path: Path, part: Path, is_unwanted: IsUnwanted) -> None:
    """Copy the database to the file `part`, in pieces, as it is at one moment."""
    source = connect_to_read(path)
    try:
        # One snapshot for all steps: with one for each step, any write would restart the copy.
        source.execute("BEGIN")
        source.pragma("schema_version")
        create_private(part)
        copy = apsw.Connection(str(part))
        try:
            with copy.backup("main", source, "main") as backup:
                while not backup.done:
                    if is_unwanted():
                        raise apsw.InterruptError("the caller has stopped waiting")
                    backup.step(PAGES_PER_CHECK)
        finally:
            copy.close()
    finally:
        source.close()


def _sync(folder: Path) -> None:
    """Write a folder's entries to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
