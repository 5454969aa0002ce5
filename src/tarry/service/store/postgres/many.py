"""Insert rows in the way that is fastest for so many."""

from collections.abc import Sequence

from tarry.service.store.postgres.database import Connection
from tarry.service.store.postgres.queries import SQL

COPY_FROM = 20
"""With so many rows COPY is faster than one INSERT after the other, sent together."""


async def insert_many(
    connection: Connection,
    query: str,
    table: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
) -> None:
    """Insert rows into a table of tarry's: by `query`, which takes one row, or by COPY."""
    if len(rows) >= COPY_FROM:
        await connection.copy_records_to_table(
            table, schema_name="tarry", columns=columns, records=rows
        )
    elif rows:
        await connection.executemany(SQL[query], rows)
