"""The schema `tarry` of a database: its version, and migrations."""

import logging
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tarry.errors import SchemaMismatch
from tarry.service.store.migrate import Status, status, steps
from tarry.service.store.postgres.database import address
from tarry.service.store.postgres.database.pool import Connection, Database
from tarry.service.store.postgres.queries import SQL

log = logging.getLogger("tarry.service")

STEPS = steps(__package__)
NEWEST_VERSION = len(STEPS)


class PostgresMigrator:
    """Reads a database's schema and brings it up to date."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def status(self) -> Status:
        """Return the schema's version and the pending steps."""
        return await self._database.run(read_status)

    async def up(self) -> Status:
        """Run all pending steps, all or none; wait for another process that does so."""

        async def run_pending(connection: Connection) -> Status:
            current = await read_status(connection)
            if not current.pending:
                return current
            await connection.execute(SQL["up_patience"])
            (turn,) = await connection.fetch(SQL["up_turn"])
            if not turn["ours"]:
                log.warning("another process changes the schema: waiting for it")
                await connection.execute(SQL["up_lock"], timeout=math.inf)
            before = await read_status(connection)
            for step in before.pending:
                # a step saves its own number; on a large table it can take long
                await connection.execute(step.sql, timeout=math.inf)
            return before

        return await self._database.run(run_pending)


@asynccontextmanager
async def open_migrator(url: str) -> AsyncIterator[PostgresMigrator]:
    """Provide a migrator for the database at a URL."""
    database = Database(address.read(url), size=1)
    try:
        yield PostgresMigrator(database)
    finally:
        await database.close()


async def read_status(connection: Connection) -> Status:
    """Return the schema's status; a database without the schema is at version 0."""
    (row,) = await connection.fetch(SQL["status_known"])
    if not row["known"]:
        return status(STEPS, 0)
    (row,) = await connection.fetch(SQL["check_schema"])
    return status(STEPS, row["number"])


async def require(connection: Connection) -> int:
    """Return the schema's version; SchemaMismatch if it is not the one this tarry works with."""
    current = await read_status(connection)
    if current.pending:
        raise SchemaMismatch(current.found, NEWEST_VERSION)
    return current.found
