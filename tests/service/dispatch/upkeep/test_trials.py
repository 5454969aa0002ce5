"""A task is tried a few times, a second apart, and then given up."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from msgspec.structs import replace

from tarry.errors import StoreError, StoreUnavailable
from tarry.service.dispatch.upkeep.trials import PAUSE, TRIES, Trials
from tarry.service.model.lane import Lease
from tarry.service.model.task import Task, Work
from tarry.testing.samples import a_task
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import VirtualService, virtual_service


async def scene(service: VirtualService) -> tuple[Trials, Task]:
    """Trials, and a task that its dispatcher does not see."""
    endpoint = await service.add_endpoint("a.example")
    trials = Trials(service.store, service.dispatcher.context, service.dispatcher.shards)
    return trials, a_task(endpoint, Work.APP_STATS, lane=0)


def fails(error: Exception) -> Callable[[Task, Lease], Awaitable[Task]]:
    async def do(_task: Task, _lease: Lease) -> Task:
        raise error

    return do


async def works(task: Task, lease: Lease) -> Task:
    assert lease.worker
    return replace(task, cursor="1")


async def idle(task: Task, _lease: Lease) -> Task:
    return task


@virtually
async def test_a_task_that_works_is_returned() -> None:
    async with virtual_service() as service:
        trials, task = await scene(service)
        assert await trials.attempt(task, works) == replace(task, cursor="1")
        assert not trials.paused(task.tenant)


@virtually
async def test_a_task_that_fails_every_time_is_given_up() -> None:
    async with virtual_service() as service:
        trials, task = await scene(service)
        await service.store.add_task(task)
        for _ in range(TRIES - 1):
            assert await trials.attempt(task, fails(StoreError("no"))) is None
        given_up = await trials.attempt(task, fails(KeyError()))
        assert given_up is not None
        assert given_up.failed == "KeyError"
        assert await service.store.get_task(task.id) == given_up
        await service.store.add_task(task)
        assert await trials.attempt(task, fails(StoreError("no"))) is None, "it counts anew"


@virtually
async def test_what_works_in_between_makes_the_failures_count_anew() -> None:
    async with virtual_service() as service:
        trials, task = await scene(service)
        for _ in range(TRIES):
            assert await trials.attempt(task, fails(StoreError("no"))) is None
            assert await trials.attempt(task, works) is not None


@pytest.mark.parametrize("do", [fails(StoreError("no")), idle])
def test_a_tenant_pauses_when_a_try_came_to_nothing(
    do: Callable[[Task, Lease], Awaitable[Task]],
) -> None:
    @virtually
    async def story() -> None:
        async with virtual_service() as service:
            trials, task = await scene(service)
            assert await trials.attempt(task, do) is None
            assert trials.paused(task.tenant)
            assert not trials.paused(("app_other", ""))
            await asyncio.sleep(PAUSE - 0.01)
            assert trials.paused(task.tenant)
            await asyncio.sleep(0.01)
            assert not trials.paused(task.tenant)

    story()


@virtually
async def test_a_task_of_a_shard_that_is_not_owned_any_more_is_not_tried() -> None:
    async with virtual_service() as service:
        trials, task = await scene(service)
        service.dispatcher.shards.owned.clear()
        assert await trials.attempt(task, works) is None
        assert trials.paused(task.tenant)


@virtually
async def test_a_database_that_is_away_is_no_failure_of_the_task() -> None:
    async with virtual_service() as service:
        trials, task = await scene(service)
        for _ in range(TRIES + 1):
            with pytest.raises(StoreUnavailable):
                await trials.attempt(task, fails(StoreUnavailable("away")))
        assert not trials.paused(task.tenant)
