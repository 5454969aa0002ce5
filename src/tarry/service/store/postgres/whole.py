"""Remove old messages and attempts by whole partitions, as far as that can be done."""

import asyncio

from msgspec import Struct

from tarry.errors import StoreError
from tarry.service.model.settings import HOUR, MINUTE
from tarry.service.store.postgres import leaving
from tarry.service.store.postgres.database import Connection, Database
from tarry.service.store.postgres.partitions import (
    NOT_ALLOWED,
    PREFIXES,
    Partition,
    detach,
    drop,
    make_ahead,
    partitions,
    when_free,
)
from tarry.service.store.postgres.queries import SQL

GRACE = 10 * MINUTE
"""A message is accepted a little later than its id was made."""
LARGE = 64 * 2**20
"""Bytes from which on a partition is left alone until all of it is old."""
MOST_LONGER = 0.25
"""What is large is kept no longer than this, as a share of how long it is to be kept."""
LOOK_AHEAD_EVERY = MINUTE
AGAIN_AFTER = HOUR
"""When to look again at a partition in which too much waits."""


class Spared(Struct, frozen=True):
    """Ids that are not removed by rows, because they will go as a whole."""

    since: str = ""
    until: str = ""


NOTHING = Spared()


class Whole:
    """Makes partitions and drops them; keeps in mind which ones cannot be."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._look_ahead_at = 0.0
        self._crowded: dict[str, float] = {}
        self._allowed = True

    async def sweep(self, before: float | None, limit: int) -> tuple[int, Spared]:
        """Remove what was accepted earlier; how much, and what is not to be removed by rows."""
        try:
            return await self._sweep(before, limit) if self._allowed else (0, NOTHING)
        except StoreError as error:
            if getattr(error.__cause__, "sqlstate", None) != NOT_ALLOWED:
                raise
            # The tables are somebody else's: rows can be removed all the same.
            self._allowed = False
            return 0, NOTHING

    async def _sweep(self, before: float | None, limit: int) -> tuple[int, Spared]:
        (clock,) = await self._database.fetch(SQL["clock"])
        kept = None if before is None else clock["now"] - before
        if (now := _now()) >= self._look_ahead_at:
            self._look_ahead_at = now + LOOK_AHEAD_EVERY
            for of in PREFIXES:
                await make_ahead(self._database, of, now=clock["now"], kept=kept)
        if before is None or kept is None:
            await self._let_none_leave_but([])
            return 0, NOTHING
        there = await partitions(self._database, "message")
        past = min(before, clock["now"]) - GRACE  # whatever is asked for, what is to come stays
        over = [one for one in there if one.until_at <= past]
        await self._let_none_leave_but(over)
        old = [one for one in over if self._may_go(one)]
        if old:
            swept = await self._let_go(old[0], there, before, limit)
        else:
            swept = await self._drop_attempts(past)
        return swept, _spared([*filter(self._may_go, old)], there, before, kept)

    async def _let_none_leave_but(self, old: list[Partition]) -> None:
        """Let a partition stay after all: what is old may have been decided anew."""
        for row in await self._database.fetch(SQL["sweep_leaving_there"]):
            if row["since"] not in {one.since for one in old}:
                await self._database.execute(SQL["sweep_leaving_end"])

    def _may_go(self, one: Partition) -> bool:
        return self._crowded.get(one.since, 0.0) <= _now()

    async def _let_go(
        self, old: Partition, there: list[Partition], before: float, limit: int
    ) -> int:
        """A piece of the way to drop a partition."""

        async def begin(connection: Connection) -> bool:
            return await leaving.begin(connection, old, before)

        async def walk(connection: Connection) -> int:
            return await leaving.walk(connection, limit)

        async def end(connection: Connection) -> int:
            return await leaving.end(connection, there)

        found = await self._database.fetch(SQL["sweep_leaving_there"])
        if not found and not await when_free(self._database, begin, or_else=False):
            return 0
        walked = await self._database.run(walk)
        if walked == leaving.CROWDED:
            since = found[0]["since"] if found else old.since
            self._crowded[since] = _now() + AGAIN_AFTER
            return 0
        return walked or await when_free(self._database, end, or_else=0)

    async def _drop_attempts(self, past: float) -> int:
        """Drop the oldest partition of attempts whose messages are gone, but for a few."""
        old = next(iter(await partitions(self._database, "attempt")), None)
        if old is None or old.until_at > past:
            return 0
        found = await self._database.fetch(
            SQL["sweep_leaving_older"], old.until_at + GRACE, leaving.MOST_KEPT + 1
        )
        if len(found) > leaving.MOST_KEPT:
            return 0

        async def go(connection: Connection) -> int:
            await detach(connection, old)
            await drop(connection, old, "message", [row["id"] for row in found])
            return 1

        return await when_free(self._database, go, or_else=0)


def _spared(old: list[Partition], there: list[Partition], before: float, kept: float) -> Spared:
    """From the first partition that will go to the one that is old in part, if that is large."""
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
