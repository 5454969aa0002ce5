"""Statistics are counted for all environments side by side."""

import asyncio

import pytest

from tarry.errors import StoreError, StoreUnavailable
from tarry.service.dispatch.upkeep import counts
from tarry.service.dispatch.upkeep.tasks import MOST_TRIES
from tarry.service.model.endpoint import Standing
from tarry.service.model.listing import Cut
from tarry.service.model.task import Task, Work
from tarry.service.store.contract import Store
from tarry.service.store.kinds import Applications, Endpoints, Tasks
from tarry.testing.samples import ENVIRONMENT, NOON, an_application
from tarry.testing.shaky_store import Between, Shaky
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import VirtualService, virtual_service


def a_count(environment: str = ENVIRONMENT, number: int = 0) -> Task:
    return Task(
        id=f"qtask_{environment}_{number}",
        work=Work.APP_STATS,
        environment=environment,
        created_at=NOON + number,
    )


async def finished(service: VirtualService, task: Task) -> float:
    """How many seconds it takes until a count is finished."""
    asked_at = service.now()
    while (await service.store.get(Tasks(task.environment), task.id)).finished_at is None:  # noqa: ASYNC110  nobody tells
        await asyncio.sleep(0.01)
    return service.now() - asked_at


class Slow(Shaky):
    """Takes a second to list the endpoints of an application, and has no answer at times."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.asking = self.most = self.asked = 0
        self.broken: dict[str, Exception] = {}

    async def page(self, kind: Endpoints | Applications, cut: Cut) -> object:
        if isinstance(kind, Applications):
            if kind.environment in self.broken:
                raise self.broken[kind.environment]
            return await self._store.page(kind, cut)
        self.asked += 1
        self.asking += 1
        self.most = max(self.most, self.asking)
        await asyncio.sleep(1)
        self.asking -= 1
        return await self._store.page(kind, cut)


async def applications(service: VirtualService, environment: str, many: int) -> None:
    for number in range(many):
        one = an_application(id=f"app_{environment}_{number:03}", environment=environment)
        await service.store.put(one)


@virtually
async def test_the_dispatcher_counts_what_is_asked_for() -> None:
    async with virtual_service() as service:
        await service.add_endpoint("a.example", standing=Standing.PAUSED)
        await service.add(3)
        task = await service.store.add_task(a_count())
        await asyncio.sleep(3)
        done = await service.store.get(Tasks(task.environment), task.id)
        assert done.finished_at is not None
        assert [app_stat["messageDestinations"] for app_stat in done.data["appStats"]] == [3]


@virtually
async def test_a_large_count_does_not_keep_another_environment_waiting() -> None:
    between = Between(Slow)
    async with virtual_service(through=between) as service:
        await applications(service, "org_large", 300)
        await applications(service, "org_small", 2)
        for number in range(20):
            await service.store.add_task(a_count("org_large", number))
        await asyncio.sleep(10)
        small = await service.store.add_task(a_count("org_small"))
        assert await finished(service, small) <= 2 * 2 + 2, "each of its questions waits for one"
        assert between.shaky.most == 1, "the store gets one question at a time"
        first = await service.store.get(Tasks("org_large"), "qtask_org_large_0")
        assert first.finished_at is None
        assert await finished(service, first) <= 300
        assert len(first.data) == 0
        done = await service.store.get(Tasks(first.environment), first.id)
        assert len(done.data["appStats"]) == 300


@virtually
async def test_only_so_many_environments_are_counted_at_a_time_and_all_get_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counts, "MOST_QUEUED_COUNTS", 2)
    async with virtual_service(through=Between(Slow)) as service:
        for name in "abcd":
            await applications(service, f"org_{name}", 1)
            for number in range(3):
                await service.store.add_task(a_count(f"org_{name}", number))
        await asyncio.sleep(6)
        tasks = [
            await service.store.get(Tasks(f"org_{name}"), f"qtask_org_{name}_0") for name in "abcd"
        ]
        assert [task.finished_at is not None for task in tasks] == [True] * 4
        await asyncio.sleep(10)
        last = [
            await service.store.get(Tasks(f"org_{name}"), f"qtask_org_{name}_2") for name in "abcd"
        ]
        assert [task.finished_at is not None for task in last] == [True] * 4


@virtually
async def test_a_count_that_cannot_be_done_is_given_up_and_keeps_nobody_waiting() -> None:
    between = Between(Slow)
    async with virtual_service(through=between) as service:
        between.shaky.broken["org_bad"] = StoreError("no")
        await applications(service, "org_good", 5)
        bad = await service.store.add_task(a_count("org_bad"))
        good = await service.store.add_task(a_count("org_good"))
        assert await finished(service, good) <= 7
        assert await finished(service, bad) <= MOST_TRIES + 5
        assert (await service.store.get(Tasks(bad.environment), bad.id)).failed == "no"


@virtually
async def test_counts_begin_again_when_the_database_is_back() -> None:
    between = Between(Slow)
    async with virtual_service(through=between) as service:
        between.shaky.broken["org_b"] = StoreUnavailable("away")
        await applications(service, "org_a", 2)
        tasks = [await service.store.add_task(a_count(f"org_{name}")) for name in "ab"]
        await asyncio.sleep(60)
        assert (await service.store.get(Tasks("org_b"), tasks[1].id)).finished_at is None
        between.shaky.broken.clear()
        for task in tasks:
            await finished(service, task)
            assert (await service.store.get(Tasks(task.environment), task.id)).failed is None


@virtually
async def test_a_count_ends_with_its_dispatcher() -> None:
    between = Between(Slow)
    async with virtual_service(through=between) as service:
        await applications(service, "org_large", 300)
        await service.store.add_task(a_count("org_large"))
        await asyncio.sleep(10)
        await service.stop()
        asked = between.shaky.asked
        await asyncio.sleep(100)
        assert between.shaky.asked == asked > 5
