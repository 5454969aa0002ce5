"""Pending tasks: tenants take turns, and an endpoint has few replays at a time."""

import asyncio

import pytest

from tarry.errors import TooManyReplays
from tarry.service.model.application import shard_of
from tarry.service.model.lane import Lease
from tarry.service.model.listing import MessageFilter
from tarry.service.model.replay import ReplayFilter
from tarry.service.model.task import REPLAYS, STATISTICS, Failure, Task, Work
from tarry.service.store.kinds import AllTasksOf
from tarry.testing.samples import (
    ALL_SHARDS,
    NOON,
    a_task,
    an_application,
    an_endpoint,
    delivered,
    failed,
)
from tarry.testing.store_contract.scene import Scene
from tarry.testing.store_contract.topic import Topic


class PendingContract(Topic):
    """Which task is next, and whether another one is added."""

    async def test_tenants_take_turns_and_each_has_its_oldest_task_done(self, scene: Scene) -> None:
        tasks = await _of_applications(scene, "app_b", "app_a", "app_c")
        after, order = ("", ""), []
        while (task := await scene.store.next_task(ALL_SHARDS, after=after)) is not None:
            order.append(task)
            after = task.tenant
        assert order == [tasks["app_a"][0], tasks["app_b"][0], tasks["app_c"][0]]

    async def test_a_tenant_that_has_nothing_left_to_do_is_passed_over(self, scene: Scene) -> None:
        tasks = await _of_applications(scene, "app_a", "app_b")
        for task in tasks["app_a"]:
            await scene.store.finish(task, Failure("no"), now=NOON, lease=_lease(scene, task))
        assert await scene.store.next_task(ALL_SHARDS) == tasks["app_b"][0]
        (first, second) = tasks["app_b"]
        await scene.store.finish(first, Failure("no"), now=NOON, lease=_lease(scene, first))
        assert await scene.store.next_task(ALL_SHARDS) == second
        assert await scene.store.next_task(ALL_SHARDS, after=first.tenant) is None

    async def test_the_next_tenant_is_one_of_the_shards_and_works(self, scene: Scene) -> None:
        tasks = await _of_applications(scene, *(f"app_{letter}" for letter in "abcdefgh"))
        for own_shards in ({shard_of("app_c")}, {shard_of("app_f"), shard_of("app_h")}):
            after, order = ("", ""), list[str]()
            while task := await scene.store.next_task(sorted(own_shards), after=after):
                after = task.tenant
                order.append(task.application)
            assert order == [name for name in sorted(tasks) if shard_of(name) in own_shards]
        assert await scene.store.next_task(ALL_SHARDS, {Work.RECOVER}) is None
        assert await scene.store.next_task([]) is None

    async def test_environments_take_turns_with_tasks_of_no_application(self, scene: Scene) -> None:
        counts = [
            Task(
                id=f"qtask_{environment}_{number}",
                work=Work.APP_STATS,
                environment=environment,
                created_at=NOON + number,
            )
            for environment in ("org_b", "org_a")
            for number in range(2)
        ]
        for task in counts:
            await scene.store.add_task(task)
        first = await scene.store.next_task(ALL_SHARDS, STATISTICS)
        assert first == counts[2]
        assert await scene.store.next_task(ALL_SHARDS, STATISTICS, after=first.tenant) == counts[0]
        second = counts[0].tenant
        assert await scene.store.next_task(ALL_SHARDS, STATISTICS, after=second) is None

    @pytest.mark.parametrize("work", sorted(REPLAYS))
    async def test_a_replay_that_another_covers_is_not_added(
        self, scene: Scene, work: Work
    ) -> None:
        first = a_task(scene.endpoint, work, since=NOON - 9, until=NOON + 9)
        assert await _request(scene, first) == first
        for since, until in [(NOON - 9, NOON + 9), (NOON, NOON + 1)]:
            assert (
                await _request(scene, a_task(scene.endpoint, work, since=since, until=until))
                == first
            )
        assert await scene.store.read(AllTasksOf(scene.application.id)) == [first]
        await scene.store.woken(scene.leases)
        await scene.rest()
        assert await _request(scene, a_task(scene.endpoint, work, since=NOON, until=NOON)) == first
        assert await scene.store.woken(scene.leases) == [scene.lane], (
            "a replay that another covers wakes the lane, too"
        )

    @pytest.mark.parametrize("work", sorted(REPLAYS))
    async def test_a_replay_that_no_other_covers_is_added(self, scene: Scene, work: Work) -> None:
        span = {"since": NOON - 9, "until": NOON + 9}
        tasks = [
            a_task(scene.endpoint, work, **span),
            a_task(scene.endpoint, work, since=NOON - 10, until=NOON + 9),
            a_task(scene.endpoint, work, since=NOON - 9),
            a_task(await scene.add_endpoint(), work, **span),
            *(a_task(scene.endpoint, other, **span) for other in sorted(REPLAYS - {work})),
        ]
        for task in tasks:
            assert await _request(scene, task) == task
        assert {task.id for task in await scene.store.read(AllTasksOf(scene.application.id))} == {
            task.id for task in tasks
        }

    async def test_a_bulk_replay_covers_only_replays_with_the_same_filter(
        self, scene: Scene
    ) -> None:
        paid = ReplayFilter(message=MessageFilter(event_types=("paid",)))
        tasks = [
            a_task(scene.endpoint, Work.BULK_REPLAY, wanted=replay_filter)
            for replay_filter in (paid, ReplayFilter(status_class=500), None)
        ]
        for task in tasks:
            assert await _request(scene, task) == task
        assert (
            await _request(scene, a_task(scene.endpoint, Work.BULK_REPLAY, wanted=paid)) == tasks[0]
        )

    async def test_a_replay_that_has_begun_or_is_done_covers_nothing(self, scene: Scene) -> None:
        for _ in range(3):
            await scene.add()
        await scene.settle(*map(failed, await scene.due()))
        first = await _request(scene, a_task(scene.endpoint, Work.RECOVER))
        await scene.store.advance(first, now=NOON, limit=1, lease=scene.lease)
        second = a_task(scene.endpoint, Work.RECOVER)
        assert await _request(scene, second) == second
        assert await _request(scene, a_task(scene.endpoint, Work.RECOVER)) == second
        for task in (first, second):
            await scene.store.finish(task, Failure("no"), now=NOON, lease=scene.lease)
        third = a_task(scene.endpoint, Work.RECOVER)
        assert await _request(scene, third) == third

    async def test_the_pending_replays_of_an_endpoint_are_limited(self, scene: Scene) -> None:
        tasks = [
            await _request(scene, a_task(scene.endpoint, work, since=NOON - since), most=4)
            for work in (Work.RECOVER, Work.BULK_REPLAY)
            for since in (1, 2)
        ]
        assert len({task.id for task in tasks}) == 4
        await scene.store.woken(scene.leases)
        await scene.rest()
        before = await scene.store.read(AllTasksOf(scene.application.id))
        extra = a_task(scene.endpoint, Work.REPLAY_MISSING)
        with pytest.raises(TooManyReplays) as error:
            await _request(scene, extra, most=4)
        assert (error.value.endpoint, error.value.allowed) == (scene.endpoint.id, 4)
        assert await scene.store.read(AllTasksOf(scene.application.id)) == before
        assert await scene.store.woken(scene.leases) == []
        covered = a_task(scene.endpoint, Work.RECOVER, since=NOON)
        assert await _request(scene, covered, most=4) in tasks
        other = a_task(await scene.add_endpoint(), Work.REPLAY_MISSING)
        assert await _request(scene, other, most=4) == other
        await scene.store.finish(tasks[0], Failure("no"), now=NOON, lease=scene.lease)
        assert await _request(scene, extra, most=4) == extra

    async def test_a_replay_that_runs_counts_as_pending(self, scene: Scene) -> None:
        for _ in range(3):
            await scene.add()
        await scene.settle(*map(delivered, await scene.due()))
        first = await _request(scene, a_task(scene.endpoint, Work.BULK_REPLAY), most=1)
        begun = await scene.store.advance(first, now=NOON, limit=1, lease=scene.lease)
        assert begun.finished_at is None
        with pytest.raises(TooManyReplays):
            await _request(scene, a_task(scene.endpoint, Work.BULK_REPLAY), most=1)

    async def test_other_tasks_of_the_lane_do_not_count(self, scene: Scene) -> None:
        for work in (Work.DISCARD, Work.PURGE_CONTENT):
            await scene.store.add_task(a_task(scene.endpoint, work))
        replay = a_task(scene.endpoint, Work.RECOVER)
        assert await _request(scene, replay, most=1) == replay

    async def test_of_equal_replays_that_come_at_once_one_is_added(self, scene: Scene) -> None:
        tasks = [a_task(scene.endpoint, Work.RECOVER) for _ in range(8)]
        answers = await asyncio.gather(*(_request(scene, task) for task in tasks))
        (stored_task,) = await scene.store.read(AllTasksOf(scene.application.id))
        assert answers == [stored_task] * 8

    async def test_concurrent_replays_do_not_exceed_the_limit(self, scene: Scene) -> None:
        tasks = [
            a_task(scene.endpoint, Work.RECOVER, since=NOON + at, until=NOON + at + 1)
            for at in range(12)
        ]
        requests = (_request(scene, task, most=3) for task in tasks)
        answers = await asyncio.gather(*requests, return_exceptions=True)
        assert sum(isinstance(answer, TooManyReplays) for answer in answers) == 9
        assert len(await scene.store.read(AllTasksOf(scene.application.id))) == 3


async def _request(scene: Scene, task: Task, most: int = 10) -> Task:
    """Request a replay with a limit on pending ones, as the API does."""
    return await scene.store.add_task(task, most_pending=most)


async def _of_applications(scene: Scene, *names: str) -> dict[str, list[Task]]:
    """Return two tasks of each application, older first; they were stored in another order."""
    tasks = dict[str, list[Task]]()
    for name in names:
        application = an_application(id=name)
        await scene.store.put(application)
        endpoint = await scene.store.put(an_endpoint(application))
        older, newer = (
            a_task(endpoint, Work.REPLAY_MISSING, created_at=NOON + age) for age in (0, 1)
        )
        for task in (newer, older):
            await scene.store.add_task(task)
        tasks[name] = [older, newer]
    return tasks


def _lease(scene: Scene, task: Task) -> Lease:
    return next(lease for lease in scene.leases if lease.shard == shard_of(task.application))
