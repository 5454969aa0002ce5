"""Insert rows in the fastest way for their number."""

from collections.abc import Sequence

from tarry.service.store.postgres.database.pool import Connection
from tarry.service.store.postgres.queries import SQL

COPY_FROM = 20
"""With this many rows or more, COPY is faster than pipelined INSERTs."""


async def insert_many(
    connection: Connection,
    query: str,
    table: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
) -> None:
    """Insert rows into a table of the schema: with `query`, which takes one row, or with COPY."""
    if len(rows) >= COPY_FROM:
        await connection.copy_records_to_table(
            table, schema_name="tarry", columns=columns, records=rows
        )
    elif rows:
        await connection.executemany(SQL[query], rows)
