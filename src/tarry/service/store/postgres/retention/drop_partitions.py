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

GRACE = 10 * MINUTE
"""A message is accepted up to this long after its id was made."""
LARGE = 64 * 2**20
"""Bytes from which a partition is not cleaned by rows, but dropped once all of it is old."""
MOST_LONGER = 0.25
"""A large partition may delay removal by at most this share of the retention."""
LOOK_AHEAD_EVERY = MINUTE
AGAIN_AFTER = HOUR
"""Seconds until a partition with too many live messages is tried again."""


class Spared(Struct, frozen=True):
    """Ids that are not removed by rows, because their partitions will be dropped."""

    since: str = ""
    until: str = ""


NOTHING = Spared()


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
            return await self._sweep(before, limit) if self._allowed else (0, NOTHING)
        except StoreError as error:
            if getattr(error.__cause__, "sqlstate", None) != NOT_ALLOWED:
                raise
            # The tables belong to another database user. Their rows can be removed all the same.
            self._allowed = False
            return 0, NOTHING

    async def _sweep(self, before: float | None, limit: int) -> tuple[int, Spared]:
        (server,) = await self._database.fetch(SQL["server"])
        kept = None if before is None else server["now"] - before
        if (now := _now()) >= self._look_ahead_at:
            self._look_ahead_at = now + LOOK_AHEAD_EVERY
            for of in PREFIXES:
                await make_ahead(self._database, of, now=server["now"], kept=kept)
        if before is None or kept is None:
            await self._let_none_leave_but([])
            return 0, NOTHING
        there = await partitions(self._database, "message")
        past = min(before, server["now"]) - GRACE  # partitions of the future stay in any case
        over = [one for one in there if one.until_at <= past]
        await self._let_none_leave_but(over)
        old = [one for one in over if self._may_go(one)]
        if old:
            swept = await self._let_go(old[0], there, before, limit)
        else:
            swept = await self._drop_attempts(past)
        return swept, _spared([*filter(self._may_go, old)], there, before, kept)

    async def _let_none_leave_but(self, old: list[Partition]) -> None:
        """Stop to remove partitions that are not in `old`: the retention may have changed."""
        for row in await self._database.fetch(SQL["sweep_leaving_there"]):
            if row["since"] not in {one.since for one in old}:
                await self._database.execute(SQL["sweep_leaving_end"])

    def _may_go(self, one: Partition) -> bool:
        return self._crowded.get(one.since, 0.0) <= _now()

    async def _let_go(
        self, old: Partition, there: list[Partition], before: float, limit: int
    ) -> int:
        """Do one step towards dropping a partition; return how many rows it processed."""

        async def begin(connection: Connection) -> bool:
            return await old_partition.begin(connection, old, before)

        async def process(connection: Connection) -> int:
            return await old_partition.process(connection, limit)

        async def end(connection: Connection) -> int:
            return await old_partition.end(connection, there)

        found = await self._database.fetch(SQL["sweep_leaving_there"])
        if not found and not await when_free(self._database, begin, or_else=False):
            return 0
        processed = await self._database.run(process)
        if processed == old_partition.CROWDED:
            since = found[0]["since"] if found else old.since
            self._crowded[since] = _now() + AGAIN_AFTER
            return 0
        return processed or await when_free(self._database, end, or_else=0)

    async def _drop_attempts(self, past: float) -> int:
        """Drop the oldest partition of attempts if all but a few of its messages are gone."""
        old = next(iter(await partitions(self._database, "attempt")), None)
        if old is None or old.until_at > past:
            return 0
        found = await self._database.fetch(
            SQL["sweep_leaving_older"], old.until_at + GRACE, old_partition.MOST_KEPT + 1
        )
        if len(found) > old_partition.MOST_KEPT:
            return 0

        async def go(connection: Connection) -> int:
            await detach(connection, old)
            await drop(connection, old, "message", [row["id"] for row in found])
            return 1

        return await when_free(self._database, go, or_else=0)


def _spared(old: list[Partition], there: list[Partition], before: float, kept: float) -> Spared:
    """Return the ids from the first partition to drop to a large one that is old in part."""
    spared = old + [
        one
        for one in there
        if one.since_at < before < one.until_at + GRACE
        and one.bytes >= LARGE
        and one.until_at - one.since_at <= kept * MOST_LONGER
    ]
    return Spared(spared[0].since, spared[-1].until) if spared else NOTHING


def _now() -> float:
    return asyncio.get_running_loop().time()
