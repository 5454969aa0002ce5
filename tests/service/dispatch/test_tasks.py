"""Tasks are done in pieces; one that cannot be done is given up, and holds up no other."""

import asyncio
from collections import Counter

import pytest

from tarry.errors import NotFound, StoreError, StoreUnavailable
from tarry.service.dispatch.tasks import CHUNK, TRIES, Tasks
from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Lease
from tarry.service.model.replay import Fate, ReplayFilter
from tarry.service.model.task import Task, Work
from tarry.service.store.contract import Store
from tarry.testing.samples import ENVIRONMENT, NOON, a_task
from tarry.testing.shaky_store import Between, Shaky
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import VirtualService, virtual_service


def tasks_of(service: VirtualService) -> Tasks:
    """Those of a dispatcher, done by hand."""
    dispatcher = service.dispatcher
    return Tasks(service.store, dispatcher.desk, dispatcher.shards, dispatcher.muster)


@virtually
async def test_a_task_is_done_in_pieces_until_there_is_nothing_left() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", standing=Standing.PAUSED)
        await service.add(2 * CHUNK + 1)
        await asyncio.sleep(1)
        await service.store.add_task(a_task(endpoint, Work.DISCARD))
        await asyncio.sleep(2)
        assert await service.counts(endpoint) == {State.DISCARDED: 2 * CHUNK + 1}
        (task,) = await service.store.tasks(service.application.id)
        assert task.finished_at is not None


@virtually
async def test_a_task_that_cannot_be_advanced_is_left_alone_for_now() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example", standing=Standing.PAUSED)
        await service.add(3)
        await asyncio.sleep(1)
        shards = service.dispatcher.shards
        held = shards.held[service.application.shard]
        held.lease = Lease(held.lease.shard, held.lease.epoch - 1, held.lease.worker)
        await service.store.add_task(a_task(endpoint, Work.DISCARD))
        for _ in range(TRIES + 1):
            assert not await tasks_of(service).advance()
        assert await service.counts(endpoint) == {State.READY: 3}
        assert not [task for task in await service.store.tasks(endpoint.application) if task.failed]


class Stubborn(Shaky):
    """Has a task that cannot be done."""

    def __init__(self, store: Store, error: Exception) -> None:
        super().__init__(store)
        self.error = error
        self.asked = 0

    async def advance(self, task: Task, *, now: float, limit: int, lease: Lease) -> Task:
        if task.id == "qtask_hard":
            self.asked += 1
            raise self.error
        return await self._store.advance(task, now=now, limit=limit, lease=lease)


@pytest.mark.parametrize("error", [StoreError("no room"), KeyError("lane"), NotFound("task", "x")])
def test_a_task_that_cannot_be_done_is_given_up_and_others_go_on(error: Exception) -> None:
    @virtually
    async def story() -> None:
        between = Between(lambda store: Stubborn(store, error))
        async with virtual_service(through=between) as service:
            endpoint = await service.add_endpoint("a.example", standing=Standing.PAUSED)
            await service.add(3)
            await asyncio.sleep(1)
            hard = a_task(endpoint, Work.RECOVER, id="qtask_hard", created_at=NOON)
            easy = a_task(endpoint, Work.DISCARD, created_at=NOON + 1)
            for task in (hard, easy):
                await service.store.add_task(task)
            await asyncio.sleep(TRIES + 5)
            left = await service.store.get_task(hard.id)
            assert left.finished_at is not None
            assert left.failed == str(error)
            assert between.shaky.asked == TRIES
            assert (await service.store.get_task(easy.id)).failed is None
            assert await service.counts(endpoint) == {State.DISCARDED: 3}

    story()


@virtually
async def test_a_task_is_not_given_up_because_the_database_is_away() -> None:
    away = StoreUnavailable("nobody is there")
    async with virtual_service(through=lambda store: Stubborn(store, away).store) as service:
        endpoint = await service.add_endpoint("a.example", standing=Standing.PAUSED)
        await service.store.add_task(a_task(endpoint, Work.RECOVER, id="qtask_hard"))
        await asyncio.sleep(60)
        assert (await service.store.get_task("qtask_hard")).finished_at is None


@virtually
async def test_a_purge_is_done_though_it_is_about_no_lane() -> None:
    async with virtual_service() as service:
        (message,) = await service.add()
        await service.store.add_task(
            Task(
                id="qtask_purge",
                work=Work.PURGE_CONTENT,
                environment=ENVIRONMENT,
                application=service.application.id,
                created_at=NOON,
            )
        )
        await asyncio.sleep(5)
        assert (await service.store.get_task("qtask_purge")).data == {"messagesPurged": 1}
        assert (await service.store.message(service.application.id, message)).payload is None


@virtually
async def test_what_was_delivered_is_replayed_at_a_pace() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example")
        await service.add(600)
        await service.until_delivered(endpoint, within=60)
        started_at = service.now()
        wanted = ReplayFilter(fate=Fate.SUCCESS)
        task = a_task(endpoint, Work.BULK_REPLAY, wanted=wanted)
        await service.store.add_task(task)
        await asyncio.sleep(1)
        soon = [one for one in service.sender.sent if one.at >= started_at]
        assert 0 < len(soon) < 300, "not all at once"
        await service.until_delivered(endpoint, within=300)
        assert (await service.store.get_task(task.id)).data == {"messagesSent": 600}
        assert Counter(Counter(one.message for one in service.sender.sent).values()) == {2: 600}


@virtually
async def test_without_a_task_there_is_nothing_to_advance() -> None:
    async with virtual_service() as service:
        assert not await tasks_of(service).advance()
