"""The base of all parts of the store, and statements that several parts use."""

from collections.abc import Collection, Iterable, Sequence

from tarry.service.model.audit import Action, Target
from tarry.service.model.lane import Lease
from tarry.service.store.postgres.database import rows
from tarry.service.store.postgres.database.pool import Connection, Database
from tarry.service.store.postgres.queries import SQL


class Part:
    """A part of the store, with its database."""

    _database: Database


async def held(
    connection: Connection, lanes: Iterable[int], leases: Iterable[Lease]
) -> dict[int, int]:
    """Return the lanes whose leases are valid, with the epochs of these leases.

    No other worker can take the lanes before the transaction has ended.
    """
    lease_rows = [(lease.shard, lease.epoch, lease.worker) for lease in leases]
    lane_rows = await connection.fetch(SQL["lease_held"], list(lanes), *rows.columns(lease_rows, 3))
    return {row["number"]: row["epoch"] for row in lane_rows}


async def write_entry(connection: Connection, by: Action | None, target: Target) -> None:
    """Write an entry into the audit trail, unless nobody acts or the entry is there already."""
    if by is not None:
        await connection.execute(SQL["change_entry"], *rows.from_audit_entry(by.entry(target)))


async def held_data_keys(connection: Connection, keys: Iterable[str | None]) -> set[str | None]:
    """Return those of these data keys that exist; None stands for no key, and exists.

    They cannot be erased before the transaction has ended.
    """
    if not (named := {key for key in keys if key is not None}):
        return {None}
    return {None, *(row["id"] for row in await connection.fetch(SQL["add_data_keys"], named))}


async def wake(connection: Connection, lanes: Iterable[int]) -> None:
    """Wake lanes and notify their owners, with no other lock in between."""
    numbers = list(lanes)
    await lock_and_wake(connection, numbers)
    await notify_owners(connection, numbers)


async def lock_and_wake(connection: Connection, lanes: Collection[int]) -> None:
    """Lock lanes, in order, and mark them as awake; the caller must then notify their owners."""
    if lanes:
        await connection.execute(SQL["woken_lock"], list(lanes))


async def notify_owners(connection: Connection, lanes: Collection[int]) -> None:
    """Notify the owners of lanes to look at them.

    This comes last in a transaction: a change of an environment's policy locks the table of
    wake-ups, and later notifications wait behind that lock.
    """
    if lanes:
        await connection.execute(SQL["woken_tell"], list(lanes))


LEAST_ROWS_TO_COPY = 20
"""With this many rows or more, COPY is faster than pipelined INSERTs."""


async def insert_many(
    connection: Connection,
    query: str,
    table: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
) -> None:
    """Insert rows into a table of the schema: with `query`, which takes one row, or with COPY."""
    if len(rows) >= LEAST_ROWS_TO_COPY:
        await connection.copy_records_to_table(
            table, schema_name="tarry", columns=columns, records=rows
        )
    elif rows:
        await connection.executemany(SQL[query], rows)
