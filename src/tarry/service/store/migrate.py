"""Bring a database's schema up to date: numbered steps, forward only, each in one transaction.

A dialect keeps its steps in the folder `migrations/` as `0001_name.sql`, and says how to run a step
(`Migrator`). A newer schema is refused, because an older tarry does not know what it means.
"""

import logging
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Protocol

from msgspec import Struct

from tarry.errors import SchemaMismatch

log = logging.getLogger("tarry.service")

_FILE_NAME = re.compile(r"(?P<number>\d{4})_(?P<name>[a-z0-9_]+)\.sql")


class Migration(Struct, frozen=True):
    """One step: after it the schema has this number."""

    number: int
    name: str
    sql: str


class Status(Struct, frozen=True):
    """The version of a database's schema, and the steps that would bring it up to date."""

    found: int
    pending: tuple[Migration, ...]

    @property
    def wanted(self) -> int:
        """The schema version this tarry works with."""
        return self.found + len(self.pending)


class Migrator(Protocol):
    """Reads and changes the schema of a dialect."""

    async def status(self) -> Status:
        """Return the version and the pending steps; SchemaMismatch if the schema is newer."""

    async def up(self) -> Status:
        """Run all pending steps; return the status before."""


def steps(package: str) -> tuple[Migration, ...]:
    """Return all steps of a dialect's package in order; ValueError if one is missing."""
    migrations = []
    for file in (files(package) / "migrations").iterdir():
        if not file.name.endswith(".sql"):
            continue
        name_match = _FILE_NAME.fullmatch(file.name)
        if name_match is None:
            raise ValueError(f"{file.name!r} is no migration: it must be named like 0001_begin.sql")
        sql = file.read_text(encoding="utf-8")
        migrations.append(Migration(int(name_match["number"]), name_match["name"], sql))
    migrations.sort(key=lambda step: step.number)
    for number, step in enumerate(migrations, start=1):
        if step.number != number:
            raise ValueError(f"migration {number:04d} is missing or there twice in {package}")
    return tuple(migrations)


def status(migrations: Sequence[Migration], version: int) -> Status:
    """Return the status of a schema at this version; 0 means that there is no schema yet."""
    if version > len(migrations):
        raise SchemaMismatch(version, len(migrations))
    return Status(version, tuple(migrations[version:]))


def log_update(database: str, before: Status) -> None:
    """Log in one line that a database was set up or updated; `before` is what `up` returned."""
    if not before.pending:
        return
    if before.found:
        text = "updated the database %s from schema %d to schema %d"
        log.info(text, database, before.found, before.wanted)
    else:
        log.info("set up the new database %s with schema %d", database, before.wanted)


def script(pending: Sequence[Migration]) -> str:
    """Return the SQL of these steps, for people who want to read it or run it themselves."""
    return "\n".join(
        f"-- {step.number:04d} {step.name.replace('_', ' ')}\nBEGIN;\n{step.sql.strip()}\nCOMMIT;\n"
        for step in pending
    )
