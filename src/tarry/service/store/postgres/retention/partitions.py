"""Partitions of messages and attempts by time: created ahead, and dropped as a whole.

Ids start with the time, and bounds are truncated ids. No query waits long for a partition: a lock
that blocks others is requested for a tenth of a second at a time.
"""

import asyncio
import math
from collections.abc import Sequence

from msgspec import Struct

from tarry.errors import StoreError
from tarry.service.model import ids
from tarry.service.model.settings import DAY, HOUR
from tarry.service.store.postgres.database.pool import Answer, Connection, Database, Work
from tarry.service.store.postgres.queries import SQL

PREFIXES = {"message": ids.MESSAGE, "attempt": ids.ATTEMPT}
"""The partitioned tables, and the prefixes of their ids."""

USUAL_PARTITIONS = 12
"""About how many partitions hold the kept data: each one costs every query a little."""
NARROWEST, UNLIMITED_WIDTH = DAY, 30 * DAY
"""The shortest time range of a partition, and the range when everything is kept for ever."""
AHEAD_SECONDS = 7 * DAY
"""How far ahead partitions are created (or two of them): no process may run for that long."""
MARGIN_SECONDS = HOUR
"""If there is none for now, the first one starts this much later, because clocks differ."""
MOST_SCANNED_BYTES = 64 * 2**20
"""Limit on the default partition's bytes: a new partition scans it while holding a lock."""

GENTLY, PATIENTLY = "100ms", "3s"
"""How long to wait for a lock that blocks other queries, and for one that does not."""
LOCK_PAUSES = (0.1, 0.3, 1.0)
"""Seconds between attempts to get a lock."""
LOCK_NOT_FREE, NOT_ALLOWED = "55P03", "42501"
IN_THE_WAY = frozenset({"23514", "42P01", "42P07", "42P17"})
"""The default partition has rows in this range, or another process was quicker."""


class Partition(Struct, frozen=True):
    """A table that holds the ids from `since` (inclusive) to `until` (exclusive)."""

    table: str
    name: str
    since: str
    until: str
    bytes: int = 0

    @property
    def since_at(self) -> float:
        """The earliest time of its ids."""
        return ids.made_at(self.since)

    @property
    def until_at(self) -> float:
        """The time before which all its ids were made."""
        return ids.made_at(self.until)


def partition(table: str, since_at: float, until_at: float) -> Partition:
    """Return a partition between two whole seconds, named by the first."""
    prefix = PREFIXES[table]
    return Partition(
        table,
        f"{table}_{since_at:.0f}",
        prefix + ids.moment(since_at),
        prefix + ids.moment(until_at),
    )


async def partitions(database: Database, table: str) -> list[Partition]:
    """Return the partitions of a table in order, without the default one."""
    partition_rows = await database.fetch(SQL["sweep_partitions"], table)
    return [Partition(table, *row.values()) for row in partition_rows]


async def make_ahead(
    database: Database, table: str, *, now: float, retention: float | None
) -> None:
    """Create the partitions needed soon; `retention` is in seconds, None for ever."""
    width = UNLIMITED_WIDTH if retention is None else max(NARROWEST, retention / USUAL_PARTITIONS)
    existing = await partitions(database, table)
    for new in missing(table, existing, now=now, width=width):
        (default,) = await database.fetch(SQL["sweep_default"], table)
        if default["bytes"] > MOST_SCANNED_BYTES or not await make(database, new):
            return


def missing(
    table: str, existing: Sequence[Partition], *, now: float, width: float
) -> list[Partition]:
    """Return the partitions to create after the existing ones."""
    covered_until = max((old.until_at for old in existing), default=now)
    since_at = math.ceil(covered_until if covered_until > now else now + MARGIN_SECONDS)
    new = []
    while since_at < now + max(AHEAD_SECONDS, 2 * width):
        until_at = math.ceil(since_at + width)
        new.append(partition(table, since_at, until_at))
        since_at = until_at
    return new


async def make(database: Database, new: Partition) -> bool:
    """Create a partition; False if its lock is not free now, or if there are rows in its range."""

    async def attach(connection: Connection) -> bool:
        """Create the table and make it a partition; False if another worker creates one now."""
        (turn,) = await connection.fetch(SQL["sweep_turn"])
        if not turn["ours"]:
            return False
        await connection.execute(
            f"CREATE TABLE tarry.{new.name} (LIKE tarry.{new.table} INCLUDING ALL);"
            f"SET LOCAL lock_timeout = '{PATIENTLY}';"
            f"LOCK TABLE tarry.{new.table}_default IN SHARE UPDATE EXCLUSIVE MODE;"
            f"SET LOCAL lock_timeout = '{GENTLY}';"
            f"ALTER TABLE tarry.{new.table} ATTACH PARTITION tarry.{new.name}"
            f" FOR VALUES FROM ('{new.since}') TO ('{new.until}')"
        )
        return True

    return await when_free(database, attach, or_else=False)


async def detach(connection: Connection, old: Partition) -> None:
    """Detach a partition inside this transaction, which alone can still see it.

    First a running vacuum of it is cancelled, which may take a second and blocks no query. Then
    all others are locked out for the moment that the change of the catalogue takes.
    """
    await connection.execute(
        f"SET LOCAL lock_timeout = '{PATIENTLY}';"
        f"LOCK TABLE tarry.{old.name}, tarry.{old.table}_default IN SHARE UPDATE EXCLUSIVE MODE;"
        f"SET LOCAL lock_timeout = '{GENTLY}';"
        f"LOCK TABLE ONLY tarry.{old.table} IN ACCESS EXCLUSIVE MODE;"
        f"ALTER TABLE tarry.{old.table} DETACH PARTITION tarry.{old.name}"
    )


async def drop(
    connection: Connection, old: Partition, column: str, kept_ids: Sequence[str]
) -> None:
    """Drop a detached partition; rows whose `column` is in `kept_ids` move to the default one."""
    if kept_ids:
        await connection.execute(
            f"INSERT INTO tarry.{old.table} SELECT * FROM tarry.{old.name}"  # noqa: S608  our own names
            f" WHERE {column} = ANY($1::text[])",
            list(kept_ids),
        )
    await connection.execute(f"DROP TABLE tarry.{old.name}")


async def when_free(database: Database, work: Work[Answer], *, or_else: Answer) -> Answer:
    """Run work that needs a lock, once that is free; `or_else` if it is not within seconds."""
    for pause in (*LOCK_PAUSES, None):
        try:
            return await database.run(work)
        except StoreError as error:
            state = getattr(error.__cause__, "sqlstate", None)
            if state != LOCK_NOT_FREE and state not in IN_THE_WAY:
                raise
            if state != LOCK_NOT_FREE or pause is None:
                break
            await asyncio.sleep(pause)
    return or_else
