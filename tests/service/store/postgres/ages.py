"""Old messages in old partitions, for tests of their removal."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg

from tarry.service.model import ids
from tarry.service.model.message import Message
from tarry.service.model.settings import DAY
from tarry.service.store.contract import Retention
from tarry.service.store.postgres.retention.partitions import make, partition
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.samples import an_attempt, delivered
from tarry.testing.store_contract.scene import Scene


class Ages(Scene):
    """A scene on the database's clock, with a week's partition that began a hundred days ago."""

    url: str
    now: float
    old_at: float

    @property
    def quarter(self) -> Retention:
        """A retention of ninety days."""
        return Retention(messages_before=self.now - 90 * DAY)

    async def age(self, since_at: float, until_at: float) -> None:
        """Create the partitions for a time range."""
        for of in ("message", "attempt"):
            assert await make(self.store._database, partition(of, since_at, until_at))  # type: ignore[attr-defined]  # noqa: SLF001  what the store stands on

    async def put(self, at: float, **values: object) -> Message:
        """Add a message that was accepted at this time."""
        message_id = ids.make(ids.MESSAGE, now=at, entropy=os.urandom(ids.CHANCE))
        return await self.add(**{"id": message_id, "accepted_at": at, **values})

    async def deliver(self, at: float) -> None:
        """Settle all ready deliveries as delivered at this time."""
        for due in await self.due(limit=10_000):
            attempt_id = ids.make(ids.ATTEMPT, now=at, entropy=os.urandom(ids.CHANCE))
            attempt = an_attempt(due, id=attempt_id, at=at, status=204, kind=None)
            await self.settle(delivered(due, ended_at=at, attempt=attempt))

    async def sweep(self, retention: Retention | None = None, limit: int = 100) -> int:
        """Sweep until nothing more can be removed; return the number of rows."""
        swept = 0
        while piece := await self.store.sweep(retention or self.quarter, limit=limit):
            swept += piece
            assert swept < 10_000, "it never ends"
        return swept

    def tables(self, of: str) -> list[str]:
        """Return the names of a table's partitions, including the default one."""
        with psycopg.connect(self.url) as connection:
            names = connection.execute(
                "SELECT relname FROM pg_class WHERE relname ~ %s AND relkind = 'r' ORDER BY 1",
                [f"^{of}_"],
            )
            return [name for (name,) in names.fetchall()]

    def rows(self, table: str) -> int:
        """Return the number of rows in a table."""
        with psycopg.connect(self.url) as connection:
            query = f"SELECT count(*) FROM tarry.{table}".encode()  # noqa: S608  our tables
            ((count,),) = connection.execute(query).fetchall()
            return int(count)


@asynccontextmanager
async def ages(url: str) -> AsyncIterator[Ages]:
    """Provide a scene on a new store in an empty database."""
    store = await PostgresStore.open(url, migrate=True)
    scene = await Ages.set_up(store)
    assert isinstance(scene, Ages)
    scene.url = url
    scene.now = (await store.server()).now
    scene.old_at = float(round(scene.now)) - 100 * DAY
    await scene.age(scene.old_at, scene.old_at + 7 * DAY)
    yield scene
    await store.close()
