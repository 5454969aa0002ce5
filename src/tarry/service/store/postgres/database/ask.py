"""Ask a server about itself, on a connection without tarry's own settings."""

import asyncpg  # type: ignore[import-untyped]  # it ships no types

from tarry.errors import StoreError
from tarry.service.store.postgres.database.address import read
from tarry.service.store.postgres.database.faults import DRIVER_ERRORS

CONNECT_SECONDS = 10.0
"""Seconds to wait for a connection."""


async def ask(url: str, query: str) -> dict[str, object]:
    """Return the row that a query gives; StoreError if the server cannot be queried."""
    try:
        connection = await asyncpg.connect(read(url).url, timeout=CONNECT_SECONDS)
        try:
            return dict(await connection.fetchrow(query))
        finally:
            await connection.close()
    except DRIVER_ERRORS as error:
        raise StoreError(str(error)) from error
