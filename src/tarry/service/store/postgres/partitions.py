"""Partitions of messages and attempts by time: made ahead of it, and dropped as a whole.

Ids begin with the time, and bounds are ids cut short. Nothing waits long for a partition: a lock
that keeps others out is asked for a tenth of a second at a time.
"""

import asyncio
import math
from collections.abc import Sequence

from msgspec import Struct

from tarry.errors import StoreError
from tarry.service.model import ids
from tarry.service.model.settings import DAY, HOUR
from tarry.service.store.postgres.database import Answer, Connection, Database, Work
from tarry.service.store.postgres.queries import SQL

PREFIXES = {"message": ids.MESSAGE, "attempt": ids.ATTEMPT}
"""The tables that have partitions, and how their ids begin."""

PARTS = 12
"""About as many partitions hold what is kept: each one costs every query a little."""
NARROWEST, ENDLESS = DAY, 30 * DAY
"""How long a partition is at least, and if everything is kept for ever."""
AHEAD = 7 * DAY
"""How far ahead they are made at least, or two of them: nobody may come by for so long."""
MARGIN = HOUR
"""Where there is none for now, one begins so much later: clocks differ."""
MOST_SCANNED = 64 * 2**20
"""Bytes in the default partition, which is read through under a lock to make another one."""

GENTLY, PATIENTLY = "100ms", "3s"
"""How long to wait for a lock that others wait behind, and for one that they do not."""
PAUSES = (0.1, 0.3, 1.0)
"""Seconds between attempts to get a lock."""
NOT_FREE, NOT_ALLOWED = "55P03", "42501"
IN_THE_WAY = frozenset({"23514", "42P01", "42P07", "42P17"})
"""The default partition has rows of such ids, or another process was quicker."""


class Partition(Struct, frozen=True):
    """A table that holds the ids from `since` on and before `until`."""

    of: str
    name: str
    since: str
    until: str
    bytes: int = 0

    @property
    def since_at(self) -> float:
        """When its first id was made at the earliest."""
        return ids.made_at(self.since)

    @property
    def until_at(self) -> float:
        """Its last id was made before."""
        return ids.made_at(self.until)


def partition(of: str, since_at: float, until_at: float) -> Partition:
    """A partition between two whole seconds, named by the first."""
    prefix = PREFIXES[of]
    return Partition(
        of,
        f"{of}_{since_at:.0f}",
        prefix + ids.moment(since_at),
        prefix + ids.moment(until_at),
    )


async def partitions(database: Database, of: str) -> list[Partition]:
    """Those of a table, in order, without the default one."""
    found = await database.fetch(SQL["sweep_partitions"], of)
    return [Partition(of, *row.values()) for row in found]


async def make_ahead(database: Database, of: str, *, now: float, kept: float | None) -> None:
    """Make what will be needed soon, for things that are kept so long."""
    width = ENDLESS if kept is None else max(NARROWEST, kept / PARTS)
    there = await partitions(database, of)
    for wanted in missing(of, there, now=now, width=width):
        (default,) = await database.fetch(SQL["sweep_default"], of)
        if default["bytes"] > MOST_SCANNED or not await make(database, wanted):
            return


def missing(of: str, there: Sequence[Partition], *, now: float, width: float) -> list[Partition]:
    """The partitions that are to be made behind those that are there."""
    covered = max((one.until_at for one in there), default=now)
    since_at = math.ceil(covered if covered > now else now + MARGIN)
    wanted = []
    while since_at < now + max(AHEAD, 2 * width):
        until_at = math.ceil(since_at + width)
        wanted.append(partition(of, since_at, until_at))
        since_at = until_at
    return wanted


async def make(database: Database, new: Partition) -> bool:
    """Make a partition; False if it cannot be made just now, or where there is something."""

    async def attach(connection: Connection) -> bool:
        (turn,) = await connection.fetch(SQL["sweep_turn"])
        if not turn["ours"]:
            return False
        await connection.execute(
            f"CREATE TABLE tarry.{new.name} (LIKE tarry.{new.of} INCLUDING ALL);"
            f"SET LOCAL lock_timeout = '{PATIENTLY}';"
            f"LOCK TABLE tarry.{new.of}_default IN SHARE UPDATE EXCLUSIVE MODE;"
            f"SET LOCAL lock_timeout = '{GENTLY}';"
            f"ALTER TABLE tarry.{new.of} ATTACH PARTITION tarry.{new.name}"
            f" FOR VALUES FROM ('{new.since}') TO ('{new.until}')"
        )
        return True

    return await when_free(database, attach, or_else=False)


async def detach(connection: Connection, old: Partition) -> None:
    """Take a partition out of its table inside this transaction: only this one still sees it.

    Whoever vacuums it is told to stop first, which may take a second and is in nobody's way; then
    all others are kept out for as long as it takes to change the catalogue.
    """
    await connection.execute(
        f"SET LOCAL lock_timeout = '{PATIENTLY}';"
        f"LOCK TABLE tarry.{old.name}, tarry.{old.of}_default IN SHARE UPDATE EXCLUSIVE MODE;"
        f"SET LOCAL lock_timeout = '{GENTLY}';"
        f"LOCK TABLE ONLY tarry.{old.of} IN ACCESS EXCLUSIVE MODE;"
        f"ALTER TABLE tarry.{old.of} DETACH PARTITION tarry.{old.name}"
    )


async def drop(connection: Connection, old: Partition, column: str, kept: Sequence[str]) -> None:
    """Drop a partition that was detached; rows whose `column` is kept move to the default one."""
    if kept:
        await connection.execute(
            f"INSERT INTO tarry.{old.of} SELECT * FROM tarry.{old.name}"  # noqa: S608  our own names
            f" WHERE {column} = ANY($1::text[])",
            list(kept),
        )
    await connection.execute(f"DROP TABLE tarry.{old.name}")


async def when_free(database: Database, work: Work[Answer], *, or_else: Answer) -> Answer:
    """Do something that needs a lock, as soon as it is free within a second or two."""
    for pause in (*PAUSES, None):
        try:
            return await database.run(work)
        except StoreError as error:
            state = getattr(error.__cause__, "sqlstate", None)
            if state != NOT_FREE and state not in IN_THE_WAY:
                raise
            if state != NOT_FREE or pause is None:
                break
            await asyncio.sleep(pause)
    return or_else
