"""Remove old messages and attempts by dropping whole partitions where possible."""

import asyncio

from msgspec import Struct

from tarry.errors import StoreError
from tarry.service.model.settings import HOUR, MINUTE
from tarry.service.store.postgres.database.pool import Connection, Database
from tarry.service.store.postgres.queries import SQL
from tarry.service.store.postgres.retention import old_partition
from tarry.service.store.postgres.retention.partitions import (
    NOT_ALLOWED,
    PREFIXES,
    Partition,
    detach,
    drop,
    make_ahead,
    partitions,
    when_free,
)

LATEST_ACCEPT_SECONDS = 10 * MINUTE
"""A message is accepted up to this long after its id was made."""
LARGE_BYTES = 64 * 2**20
"""Bytes from which a partition is not cleaned by rows, but dropped once all of it is old."""
MOST_DELAY_SHARE = 0.25
"""A large partition may delay removal by at most this share of the retention."""
LOOK_AHEAD_SECONDS = MINUTE
CROWDED_SECONDS = HOUR
"""Seconds until a partition with too many live messages is tried again."""


class Spared(Struct, frozen=True):
    """Ids that are not removed by rows, because their partitions will be dropped."""

    since: str = ""
    until: str = ""


SPARES_NOTHING = Spared()


class OldPartitions:
    """Creates and drops partitions; remembers those that cannot be dropped yet."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._look_ahead_at = 0.0
        self._crowded: dict[str, float] = {}
        self._allowed = True

    async def sweep(self, before: float | None, limit: int) -> tuple[int, Spared]:
        """Remove data from before `before`; return how much, and the ids not to remove by rows."""
        try:
            return await self._sweep(before, limit) if self._allowed else (0, SPARES_NOTHING)
        except StoreError as error:
            if getattr(error.__cause__, "sqlstate", None) != NOT_ALLOWED:
                raise
            # The tables belong to another database user. Their rows can be removed all the same.
            self._allowed = False
            return 0, SPARES_NOTHING

    async def _sweep(self, before: float | None, limit: int) -> tuple[int, Spared]:
        """Make partitions ahead, and do one step towards dropping an old one."""
        (server,) = await self._database.fetch(SQL["server"])
        retention = None if before is None else server["now"] - before
        if (now := _loop_time()) >= self._look_ahead_at:
            self._look_ahead_at = now + LOOK_AHEAD_SECONDS
            for table in PREFIXES:
                await make_ahead(self._database, table, now=server["now"], retention=retention)
        if before is None or retention is None:
            await self._stop_leaving_except([])
            return 0, SPARES_NOTHING
        existing = await partitions(self._database, "message")
        # Partitions of the future stay in any case.
        old_before = min(before, server["now"]) - LATEST_ACCEPT_SECONDS
        past_retention = [partition for partition in existing if partition.until_at <= old_before]
        await self._stop_leaving_except(past_retention)
        old = [partition for partition in past_retention if self._may_be_dropped(partition)]
        if old:
            swept = await self._continue_drop(old[0], existing, before, limit)
        else:
            swept = await self._drop_attempts(old_before)
        return swept, _ids_to_spare(
            [*filter(self._may_be_dropped, old)], existing, before, retention
        )

    async def _stop_leaving_except(self, old: list[Partition]) -> None:
        """Stop to remove partitions that are not in `old`: the retention may have changed."""
        for row in await self._database.fetch(SQL["sweep_leaving_there"]):
            if row["since"] not in {partition.since for partition in old}:
                await self._database.execute(SQL["sweep_leaving_end"])

    def _may_be_dropped(self, partition: Partition) -> bool:
        """Return False while too many messages of the partition were live at the last try."""
        return self._crowded.get(partition.since, 0.0) <= _loop_time()

    async def _continue_drop(
        self, old: Partition, existing: list[Partition], before: float, limit: int
    ) -> int:
        """Do one step towards dropping a partition; return how many rows it processed."""

        async def begin(connection: Connection) -> bool:
            return await old_partition.begin(connection, old, before)

        async def process(connection: Connection) -> int:
            return await old_partition.process(connection, limit)

        async def end(connection: Connection) -> int:
            return await old_partition.end(connection, existing)

        leaving = await self._database.fetch(SQL["sweep_leaving_there"])
        if not leaving and not await when_free(self._database, begin, or_else=False):
            return 0
        processed = await self._database.run(process)
        if processed == old_partition.CROWDED:
            since = leaving[0]["since"] if leaving else old.since
            self._crowded[since] = _loop_time() + CROWDED_SECONDS
            return 0
        return processed or await when_free(self._database, end, or_else=0)

    async def _drop_attempts(self, old_before: float) -> int:
        """Drop the oldest partition of attempts if all but a few of its messages are gone."""
        old = next(iter(await partitions(self._database, "attempt")), None)
        if old is None or old.until_at > old_before:
            return 0
        older = await self._database.fetch(
            SQL["sweep_leaving_older"],
            old.until_at + LATEST_ACCEPT_SECONDS,
            old_partition.MOST_LIVE_MESSAGES + 1,
        )
        if len(older) > old_partition.MOST_LIVE_MESSAGES:
            return 0

        async def drop_oldest(connection: Connection) -> int:
            await detach(connection, old)
            await drop(connection, old, "message", [row["id"] for row in older])
            return 1

        return await when_free(self._database, drop_oldest, or_else=0)


def _ids_to_spare(
    old: list[Partition], existing: list[Partition], before: float, retention: float
) -> Spared:
    """Return the ids from the first partition to drop to a large one that is old in part."""
    spared = old + [
        partition
        for partition in existing
        if partition.since_at < before < partition.until_at + LATEST_ACCEPT_SECONDS
        and partition.bytes >= LARGE_BYTES
        and partition.until_at - partition.since_at <= retention * MOST_DELAY_SHARE
    ]
    return Spared(spared[0].since, spared[-1].until) if spared else SPARES_NOTHING


def _loop_time() -> float:
    """Return the time of the running event loop's clock."""
    return asyncio.get_running_loop().time()
