"""What all parts of the store stand on."""

from collections.abc import Iterable

from tarry.service.model.lane import Lease
from tarry.service.store.postgres import rows
from tarry.service.store.postgres.database import Connection, Database
from tarry.service.store.postgres.queries import SQL


class Part:
    """A part of the store: it has the database."""

    _database: Database


async def held(
    connection: Connection, lanes: Iterable[int], leases: Iterable[Lease]
) -> dict[int, int]:
    """Return the lanes whose leases are good, with the epochs of these leases.

    Nobody can take the lanes before the transaction has ended.
    """
    named = [(lease.shard, lease.epoch, lease.worker) for lease in leases]
    found = await connection.fetch(SQL["lease_held"], list(lanes), *rows.columns(named, 3))
    return {row["number"]: row["epoch"] for row in found}


async def wake(connection: Connection, lanes: Iterable[int]) -> None:
    """Get lanes up and tell of it. It locks them: to be done before what they are woken for."""
    numbers = sorted(lanes)
    if numbers:
        await connection.execute(SQL["woken_lock"], numbers)
        await connection.execute(SQL["woken_tell"], numbers)
