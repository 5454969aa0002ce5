"""Each transaction locks rows in the one order that ARCHITECTURE.md gives: no two can deadlock.

A lock that is waited for tells: whatever comes later in the order must be free at that moment.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace
from psycopg.sql import SQL, Composable, Identifier, Literal

from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.data_key import DataKey
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import Change, Due, Known, Stream
from tarry.service.model.message import Message
from tarry.service.model.task import Task, Work
from tarry.service.store.contract import Retention
from tarry.service.store.kinds import Applications, Endpoints
from tarry.testing.samples import (
    NOON,
    a_data_key,
    a_task,
    an_application,
    an_attempt,
    an_endpoint,
    delivered,
    failed,
    new_message,
    postponed,
)
from tarry.testing.store_contract.scene import Scene

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ORDER = {
    "shard": "number",
    "task": "id",
    "application": "id",
    "endpoint": "lane",
    "message": "id",
    "delivery": "lane, seq",
    "lane": "number",
    "resend": "lane, id",
    "lane_state": "lane",
    "data_key": "id",
}
"""The tables in the order in which their rows are locked, and the order of the rows in each."""
OF_STAGE = {
    "message": "application = %(application)s",
    "delivery": "lane = ANY(%(lanes)s)",
    "lane": "number = ANY(%(lanes)s)",
    "resend": "lane = ANY(%(lanes)s)",
    "lane_state": "lane = ANY(%(lanes)s)",
    "data_key": "application = %(application)s",
}
"""Tables of which a transaction may lock several rows, and which rows a stage has there."""
LAST = SQL("LOCK TABLE tarry.wake IN SHARE ROW EXCLUSIVE MODE")
"""The last lock: after it has notified a lane's owner, a transaction waits for no other lock."""

Row = tuple[Any, ...]
Act = Callable[[], Awaitable[object]]


class Stage(Scene):
    """An application with three endpoints, and with deliveries and resends in their lanes."""

    added: list[Message]
    data_key: DataKey

    @classmethod
    async def build(cls, scene: Scene) -> "Stage":
        """Set up a new stage in the same database; earlier stages are used up."""
        store, application = scene.store, an_application()
        await store.put(application)
        endpoints = [await store.put(an_endpoint(application)) for _ in range(2)]
        stage = cls(store, application, endpoints[0], scene.leases)
        stage.data_key = a_data_key(application)
        await store.create(stage.data_key)
        stage.endpoints = endpoints
        stage.added = [await stage.add() for _ in range(3)]
        first, second = await stage.due(limit=2)
        await stage.settle(failed(first), postponed(second, NOON + 5))
        late = await stage.add_endpoint()  # it has none of them
        for endpoint in (stage.endpoint, late):
            for message in stage.added[:2]:
                await store.resend(endpoint, message.id, resend=message.id)
        await stage.settle(changes=[stage.change(endpoints[1], Standing.DISABLED)])
        return stage

    def sealed(self, due: Due) -> Settlement:
        """Settle a delivery as delivered, with a sealed response."""
        attempt = an_attempt(due, body=b"sealed", sealed_with=self.data_key.id)
        return delivered(due, attempt=attempt)

    async def all_due(self, stream: Stream = Stream.READY) -> list[Due]:
        """Return the deliveries that all lanes could send, the last lane first."""
        of_lanes = [await self.due(stream, lane=endpoint.lane) for endpoint in self.endpoints]
        return [due for of_lane in of_lanes for due in of_lane][::-1]

    def change(self, endpoint: Endpoint, standing: Standing | None = None) -> Change:
        """Return a change with new knowledge of an endpoint, and perhaps a new standing."""
        known = Known(failures=1)
        return Change(lane=endpoint.lane, epoch=1, at=NOON, known=known, standing=standing)

    def changes(self, standing: Standing | None = None) -> list[Change]:
        """Return such changes of all endpoints, the last one first."""
        return [self.change(endpoint, standing) for endpoint in reversed(self.endpoints)]

    async def task(self, work: Work) -> Task:
        """Add a task for the first lane, or for the whole application."""
        lane = 0 if work is Work.PURGE_CONTENT else self.lane
        task = a_task(self.endpoint, work, lane=lane)
        await self.store.add_task(task)
        return task

    def rows(self, url: str, table: str) -> list[Row]:
        """Return the keys of the stage's rows in a table, in order."""
        key = ORDER[table]
        query = f"SELECT {key} FROM tarry.{table} WHERE {OF_STAGE[table]} ORDER BY {key}"  # noqa: S608  our own names
        names = {
            "application": self.application.id,
            "lanes": [endpoint.lane for endpoint in self.endpoints],
        }
        with psycopg.connect(url) as look:
            keys = look.execute(query.encode(), names)
            return keys.fetchall()


Prepare = Callable[[Stage], Awaitable[Act]]


async def adding(stage: Stage) -> Act:
    names = [f"{stage.application.id} {number}" for number in (2, 1, 2)]
    sealed_with = stage.data_key.id
    new = [
        new_message(stage.application, key=name, event_id=name, sealed_with=sealed_with)
        for name in names
    ]
    return lambda: stage.store.add(new)


async def settling(stage: Stage) -> Act:
    due = await stage.all_due()
    await stage.store.cancel(stage.application.id, stage.added[2].id, now=NOON)
    return lambda: stage.settle(*map(stage.sealed, due), changes=stage.changes())


async def settling_with_standings(stage: Stage) -> Act:
    due = await stage.all_due()
    changes = stage.changes(Standing.PARKED)
    return lambda: stage.settle(*map(stage.sealed, due), changes=changes)


async def settling_twice(stage: Stage) -> Act:
    due = await stage.all_due()
    wrong = [delivered(replace(delivery, tries=7)) for delivery in due]
    return lambda: stage.settle(*wrong, *map(delivered, due))


async def settling_resends(stage: Stage) -> Act:
    due = await stage.all_due()
    second, first, *others = await stage.all_due(Stream.RESEND)
    deliveries = [first, second, *others]
    attempts = [an_attempt(delivery, status=200, kind=None) for delivery in deliveries]
    resends = [
        Resent(delivery.lane, delivery.resend, attempt, 1)
        for delivery, attempt in zip(deliveries, attempts, strict=True)
    ]
    return lambda: stage.settle(*resends, *map(delivered, due), changes=stage.changes())


async def cancelling(stage: Stage) -> Act:
    application, message = stage.application.id, stage.added[2].id
    return lambda: stage.store.cancel(application, message, now=NOON)


async def resending(stage: Stage) -> Act:
    message = stage.added[0].id  # the second time, as after a crash
    return lambda: stage.store.resend(stage.endpoint, message, resend=message)


async def expiring(stage: Stage) -> Act:
    old, lease = NOON + 9, stage.lease
    return lambda: stage.store.expire(
        stage.lane, accepted_before=old, now=NOON, limit=9, lease=lease
    )


async def resting(stage: Stage) -> Act:
    lanes = {endpoint.lane: 99 for endpoint in reversed(stage.endpoints)}
    return lambda: stage.store.rest(lanes, stage.leases)


async def sweeping(stage: Stage) -> Act:
    await stage.settle(*map(delivered, await stage.all_due()))
    return lambda: stage.store.sweep(Retention(messages_before=NOON + 1), limit=100)


async def changing_an_endpoint(stage: Stage) -> Act:
    endpoint = stage.endpoint
    return lambda: stage.store.change(
        Endpoints(endpoint.application), endpoint.id, lambda stored: stored
    )


async def changing_the_application(stage: Stage) -> Act:
    return lambda: stage.store.change(
        Applications(stage.application.environment), stage.application.id, lambda stored: stored
    )


async def deleting_the_application(stage: Stage) -> Act:
    return lambda: stage.store.delete(
        Applications(stage.application.environment), stage.application.id, now=NOON
    )


async def erasing(stage: Stage) -> Act:
    return lambda: stage.store.erase(stage.application.id, now=NOON)


async def adding_a_task(stage: Stage) -> Act:
    task = await stage.task(Work.RECOVER)  # the second time, as after a crash
    return lambda: stage.store.add_task(task)


def advancing(work: Work) -> Prepare:
    async def prepare(stage: Stage) -> Act:
        task = await stage.task(work)
        return lambda: stage.store.advance(task, now=NOON, limit=20, lease=stage.lease)

    return prepare


ACTS: dict[str, Prepare] = {
    "add": adding,
    "settle": settling,
    "settle with standings": settling_with_standings,
    "settle twice": settling_twice,
    "settle resends": settling_resends,
    "cancel": cancelling,
    "resend": resending,
    "expire": expiring,
    "rest": resting,
    "sweep": sweeping,
    "change an endpoint": changing_an_endpoint,
    "change the application": changing_the_application,
    "delete the application": deleting_the_application,
    "erase": erasing,
    "add a task": adding_a_task,
    "recover": advancing(Work.RECOVER),
    "replay": advancing(Work.BULK_REPLAY),
    "replay missing": advancing(Work.REPLAY_MISSING),
    "discard": advancing(Work.DISCARD),
    "discard what was erased": advancing(Work.ERASE),
    "purge": advancing(Work.PURGE_CONTENT),
}


@pytest.fixture
def lasting(scene: Scene, tarry_url: str) -> Scene:
    """Provide a scene whose leases do not end during the test."""
    with psycopg.connect(tarry_url) as connection:
        connection.execute("UPDATE tarry.shard SET until = 'infinity'")
    return scene


@pytest.mark.parametrize("act", ACTS)
async def test_whoever_waits_for_a_row_holds_nothing_behind_it(
    lasting: Scene, tarry_url: str, act: str
) -> None:
    waited = []
    for index, table in enumerate(ORDER):
        step = await ACTS[act](await Stage.build(lasting))
        behind = [_all_of(later) for later in list(ORDER)[index + 1 :]]
        if not await waits(tarry_url, _all_of(table), step, [*behind, LAST]):
            continue
        waited.append(table)
        row, rows = 0, [()]
        while row < len(rows) and table in OF_STAGE:
            stage = await Stage.build(lasting)
            step = await ACTS[act](stage)
            rows = stage.rows(tarry_url, table)
            later = [_row(table, key) for key in rows[row + 1 :]]
            await waits(tarry_url, _row(table, rows[row]), step, later)
            row += 1
    assert waited


async def waits(url: str, lock: Composable, step: Act, later: Sequence[Composable]) -> bool:
    """Take a lock and return whether an act waits for it; if so, the later locks must be free."""
    with psycopg.connect(url) as first:
        first.execute(lock.as_bytes(first))
        acting = asyncio.ensure_future(step())
        waiting = await _is_waiting(url, acting)
        for later_lock in later if waiting else ():
            with psycopg.connect(url) as other:
                other.execute((later_lock + SQL(" NOWAIT")).as_bytes(other))
                other.rollback()
        first.rollback()
    await acting
    return waiting


async def _is_waiting(url: str, acting: "asyncio.Future[object]") -> bool:
    """Return True as soon as somebody waits for a lock, False if the act ended before."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as watch:
        while not acting.done():
            waiting = await watch.execute(
                "SELECT FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            if await waiting.fetchone() is not None:
                return True
            await asyncio.sleep(0.002)
    return False


def _all_of(table: str) -> Composable:
    """Lock all rows of a table."""
    return SQL("SELECT FROM tarry.{} FOR UPDATE").format(Identifier(table))


def _row(table: str, key: Row) -> Composable:
    """Lock one row."""
    columns = SQL(", ").join(map(Identifier, ORDER[table].split(", ")))
    values = SQL(", ").join(map(Literal, key))
    lock = SQL("SELECT FROM tarry.{} WHERE ({}) = ({}) FOR UPDATE")
    return lock.format(Identifier(table), columns, values)
