"""Remove data past its retention, and check the database."""

from pathlib import Path

from tarry.errors import StoreError
from tarry.service.failpoints import hit
from tarry.service.store.contract import Retention
from tarry.service.store.old_rows import OldRows
from tarry.service.store.postgres.database.part import Part
from tarry.service.store.postgres.database.pool import Connection
from tarry.service.store.postgres.migrate.schema import require
from tarry.service.store.postgres.queries import SQL
from tarry.service.store.postgres.retention.drop_partitions import OldPartitions, Spared
from tarry.service.store.postgres.retention.old_partition import forget


class PostgresUpkeep(Part):
    """See `contract.Upkeep`."""

    _old_messages: OldRows[str]
    _old_payloads: OldRows[str]
    _expired: OldRows[str]
    _old_partitions: OldPartitions

    async def sweep(self, retention: Retention, *, limit: int) -> int:
        """Remove data past its retention; return the number of rows, 0 when there is no more."""
        before = retention.messages_before
        swept, spared = await self._old_partitions.sweep(before, limit)
        old, full = self._old_messages, self._old_payloads
        messages = await self._removable(old, "sweep_messages", before, spared, limit)
        hit("sweep.before")
        if messages:

            async def remove(connection: Connection) -> int:
                return await _sweep_messages(connection, messages)

            swept += await self._database.run(remove)
        payloads = await self._removable(
            full, "sweep_full", retention.payloads_before, spared, limit
        )
        expired = retention.expired_before
        payloads += await self._removable(self._expired, "sweep_expired", expired, spared, limit)
        if payloads:
            swept += len(await self._database.execute(SQL["sweep_payloads"], payloads))
        for query, until in (
            ("sweep_keys", retention.keys_before),
            ("sweep_notices", retention.notices_before),
            ("sweep_tasks", retention.tasks_before),
            ("sweep_refused", retention.refused_before),
            ("sweep_claims", retention.claims_before),
            ("sweep_portal_keys", retention.portal_keys_before),
            ("sweep_audit", retention.audit_before),
        ):
            if until is not None:
                swept += len(await self._database.execute(SQL[query], until, limit))
        hit("sweep.after")
        return swept

    async def backup(self, target: Path) -> None:
        """Raise: PostgreSQL has its own tools for backups."""
        raise StoreError(
            f"a PostgreSQL database is not copied to {target} by tarry:"
            f" use pg_dump --format=custom --schema=tarry --file={target} and your database's URL"
        )

    async def check(self) -> None:
        """Raise if the database cannot be written to, or its schema is not the right one."""
        await self._database.run(_try_to_write)

    async def _removable(
        self, old_rows: OldRows[str], query: str, before: float | None, spared: Spared, limit: int
    ) -> list[str]:
        """Return the messages that a query finds to be old, and that may be removed now."""
        if before is None:
            return []

        async def read_rows(at: float, behind: str, most: int) -> list[tuple[float, str, bool]]:
            message_rows = await self._database.fetch(
                SQL[query], before, at, behind, most, spared.since, spared.until
            )
            return [(row["accepted_at"], row["id"], row["over"]) for row in message_rows]

        return await old_rows.removable(read_rows, limit=limit)


async def _try_to_write(connection: Connection) -> None:
    """Check the schema's version and write a row."""
    version = await require(connection)
    await connection.execute(SQL["check"], version)


async def _sweep_messages(connection: Connection, candidates: list[str]) -> int:
    """Remove messages that have no live delivery; return the number of rows."""
    locked = await connection.fetch(SQL["sweep_held"], candidates)
    if locked:
        live = await connection.fetch(SQL["sweep_live"], [row["id"] for row in locked])
        live_ids = {row["id"] for row in live}
        locked = [row for row in locked if row["id"] not in live_ids]
    if not locked:
        return 0
    messages = [row["id"] for row in locked]
    deliveries = await forget(connection, locked)
    attempts = await connection.fetch(SQL["sweep_attempts"], messages)
    await connection.execute(SQL["sweep_gone"], messages)
    return len(messages) + len(deliveries) + len(attempts)
