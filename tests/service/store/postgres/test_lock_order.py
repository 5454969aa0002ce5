"""All transactions lock rows in the same order, so that none waits for one that waits for it."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress

import psycopg
import pytest
from msgspec.structs import replace

from tarry.errors import Conflict, ErasedKeyError, NotFound
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import Change, Due, Known, Stream, Want
from tarry.service.model.task import Work
from tarry.service.store.contract import Retention
from tarry.service.store.kinds import Applications, DataKeys, Endpoints, Environment
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.samples import (
    NOON,
    a_data_key,
    a_task,
    an_attempt,
    an_endpoint,
    delivered,
    failed,
    new_message,
    postponed,
    put_back,
)
from tarry.testing.store_contract.scene import PLENTY_OF_BYTES, Scene

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ROUNDS = 25
KEYS = [f"key_{number}" for number in range(30)]
STANDINGS = [Standing.ENABLED, Standing.PARKED, Standing.DISABLED, Standing.PAUSED]


class People:
    """Everything that people and the worker do to one application, in random order."""

    def __init__(
        self, scene: Scene, store: PostgresStore, chance: random.Random, *, standing: float
    ) -> None:
        self.scene, self.store, self.chance, self.standing = scene, store, chance, standing
        self.messages: list[str] = []
        self.before: list[Due] = []

    def an_endpoint(self) -> Endpoint:
        return self.chance.choice(self.scene.endpoints)

    def a_message(self) -> str:
        return self.chance.choice(self.messages or ["msg_none"])

    def all_they_do(self) -> list[Callable[[], Awaitable[None]]]:
        return [
            self.add,
            self.add,
            self.settle,
            self.settle,
            self.change_endpoint,
            self.change_application,
            self.put_and_delete,
            self.cancel,
            self.resend,
            self.replay,
            self.expire,
            self.set_policy,
            self.purge,
            self.erase,
            self.sweep,
        ]

    async def add(self) -> None:
        keys = self.chance.choices(KEYS, k=3)  # the same one twice at times
        new = [new_message(self.scene.application, key=key, event_id=key) for key in keys]
        new += [new_message(self.scene.application) for _ in range(3)]
        for data_key in await self.store.read(DataKeys((self.scene.application.id,))):
            new = [
                replace(one, message=replace(one.message, sealed_with=data_key.id)) for one in new
            ]
        with suppress(ErasedKeyError):
            await self.store.add(new)
        self.messages = [*self.messages[-20:], *(added.message.id for added in new)]

    async def settle(self) -> None:
        lanes = [endpoint.lane for endpoint in self.scene.endpoints]
        streams = (Stream.READY, Stream.RESEND)
        wants = [Want(lane=lane, stream=stream, limit=4) for lane in lanes for stream in streams]
        fetched = await self.store.fetch(wants, now=NOON, most_bytes=PLENTY_OF_BYTES)
        settled = [self._settled(due) for due in [*fetched.due, *self.before]]
        self.before = fetched.due[:6]  # answered late: much has happened to them by then
        self.chance.shuffle(settled)
        changes = [self._change(lane) for lane in self.chance.sample(lanes, 2)]
        await self.store.settle(settled, changes, self.scene.leases)
        await self.store.rest(dict.fromkeys(lanes, 0), self.scene.leases)

    def _change(self, lane: int) -> Change:
        stands = self.chance.random() < self.standing
        standing = self.chance.choice(STANDINGS) if stands else None
        return Change(lane=lane, epoch=1, at=NOON, known=Known(), standing=standing)

    def _settled(self, due: Due) -> Settlement | Resent:
        if due.stream is Stream.RESEND:
            return Resent(due.lane, due.resend, an_attempt(due, status=200, kind=None), 1)
        how = self.chance.choice([delivered, failed, put_back])
        return postponed(due, NOON + 9) if self.chance.random() < 0.2 else how(due)

    async def change_endpoint(self) -> None:
        endpoint, standing = self.an_endpoint(), self.chance.choice(STANDINGS)
        await self.store.change(
            Endpoints(endpoint.application),
            endpoint.id,
            lambda stored: stored.stand(standing, NOON),
        )

    async def change_application(self) -> None:
        await self.store.change(
            Applications(self.scene.application.environment),
            self.scene.application.id,
            lambda stored: stored,
        )

    async def put_and_delete(self) -> None:
        put = await self.store.put(an_endpoint(self.scene.application))
        await self.store.delete(Endpoints(put.application), put.id, now=NOON)

    async def cancel(self) -> None:
        await self.store.cancel(self.scene.application.id, self.a_message(), now=NOON)

    async def resend(self) -> None:
        resend_id = f"resend_{self.chance.random()}"
        await self.store.resend(self.an_endpoint(), self.a_message(), resend=resend_id)

    async def replay(self) -> None:
        work = self.chance.choice([Work.RECOVER, Work.BULK_REPLAY])
        task = a_task(self.an_endpoint(), work)
        await self.store.add_task(task)
        await self.store.advance(task, now=NOON, limit=20, lease=self.scene.lease)

    async def purge(self) -> None:
        task = a_task(self.an_endpoint(), Work.PURGE_CONTENT, lane=0)
        await self.store.add_task(task)
        await self.store.advance(task, now=NOON, limit=5, lease=self.scene.lease)

    async def erase(self) -> None:
        """Erase the data key, or create one."""
        if not await self.store.erase(self.scene.application.id, now=NOON):
            with suppress(Conflict):
                await self.store.create(a_data_key(self.scene.application))

    async def expire(self) -> None:
        lane, lease = self.an_endpoint().lane, self.scene.lease
        await self.store.expire(lane, accepted_before=NOON + 1, now=NOON, limit=3, lease=lease)

    async def set_policy(self) -> None:
        await self.store.put(Environment(self.scene.application.environment, "{}"))

    async def sweep(self) -> None:
        await self.store.sweep(Retention(messages_before=NOON + 1), limit=5)


async def go_on(do: Callable[[], Awaitable[None]]) -> None:
    for _ in range(ROUNDS):
        try:
            await do()
        except NotFound:  # somebody was quicker
            await asyncio.sleep(0)


def deadlocks(url: str) -> int:
    with psycopg.connect(url) as look:
        look.execute("SELECT pg_stat_clear_snapshot()")
        count = look.execute(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone()
    assert count
    return int(count[0])


@pytest.mark.parametrize("standing", [1.0, 0.3, 0.0])
async def test_whatever_is_done_at_once_nobody_waits_for_one_who_waits_for_them(
    scene: Scene, store: PostgresStore, tarry_url: str, standing: float
) -> None:
    before = deadlocks(tarry_url)
    for _ in range(3):
        await scene.add_endpoint()
    other = await PostgresStore.open(tarry_url)
    people = [
        People(scene, each_store, random.Random(seed), standing=standing)
        for seed, each_store in enumerate((store, other))
    ]
    async with asyncio.timeout(120):
        await asyncio.gather(*(go_on(act) for person in people for act in person.all_they_do()))
    await scene.check_counts()
    await other.close()
    await store.close()
    await asyncio.sleep(1.1)  # the server counts them after a second
    assert deadlocks(tarry_url) == before
