"""The schema of a database file: which program it belongs to, its version, and migrations."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import apsw

from tarry.errors import SchemaMismatch, StoreError
from tarry.service.store.migrate import Migration, Status, status, steps
from tarry.service.store.sqlite.database.connection import connect, has_foreign_tables
from tarry.service.store.sqlite.database.faults import store_error
from tarry.service.store.sqlite.database.own_thread import IsUnwanted, in_own_thread, never

STEPS = steps(__package__)
NEWEST_VERSION = len(STEPS)
STEPS_PER_CHECK = 100_000
"""Long work checks whether it is still wanted after this many steps of SQLite's machine."""

Answer = TypeVar("Answer")


class SqliteMigrator:
    """Reads the schema of a file, and brings it up to date."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def status(self) -> Status:
        """Return the schema's version and the pending steps; a missing file has schema 0."""
        if not self._path.exists():
            return status(STEPS, 0)
        return await in_own_thread(partial(on_file, self._path, read_status))

    async def up(self) -> Status:
        """Run all pending steps; create the file if there is none."""
        return await in_own_thread(partial(on_file, self._path, bring_up, create=True))


def read_status(db: apsw.Connection) -> Status:
    """Return the schema's status; StoreError if the file belongs to another program."""
    version = int(db.pragma("user_version"))
    if has_foreign_tables(db):
        raise StoreError(
            f"{db.filename} is the database of another program: name another file for tarry"
        )
    return status(STEPS, version)


def bring_up(db: apsw.Connection) -> Status:
    """Run the pending steps, each in one transaction; return the status before."""
    before = read_status(db)
    for step in before.pending:
        _run_step(db, step)
    return before


def require(db: apsw.Connection) -> None:
    """Raise SchemaMismatch if the schema is not the one this tarry works with."""
    current = read_status(db)
    if current.pending:
        raise SchemaMismatch(current.found, current.wanted)


def on_file(
    path: Path,
    work: Callable[[apsw.Connection], Answer],
    is_unwanted: IsUnwanted = never,
    *,
    create: bool = False,
) -> Answer:
    """Run work on its own connection; StoreError says in words why it is not possible."""
    check_folder(path)
    if not create and not path.exists():
        raise StoreError(f"there is no file {path}; `tarry migrate up` makes one")
    try:
        db = connect(path, create=create)
        db.set_progress_handler(is_unwanted, STEPS_PER_CHECK)
        try:
            return work(db)
        finally:
            db.close()
    except apsw.Error as error:
        translated = store_error(error, path)
        raise translated from error
    except OSError as error:  # the empty file could not be created
        raise StoreError(f"{path} cannot be created: {error.strerror}") from error


def check_folder(path: Path) -> None:
    """Raise an error that names the problem: SQLite would only say "unable to open"."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder: name a file in it for the database")
    if not path.parent.is_dir():
        raise StoreError(f"{path} cannot be opened: the folder {path.parent} does not exist")
    if not os.access(path.parent, os.W_OK):
        raise StoreError(f"{path} cannot be opened: the folder {path.parent} is read-only")
    if path.exists() and not os.access(path, os.W_OK):
        raise StoreError(f"{path} cannot be opened: it is read-only")


def _run_step(db: apsw.Connection, step: Migration) -> None:
    """Run one step in a transaction, unless another process has run it by now."""
    db.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have run it while this one waited for the lock.
        if int(db.pragma("user_version")) < step.number:
            db.execute(step.sql)
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise
