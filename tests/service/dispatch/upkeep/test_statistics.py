"""Statistics that somebody asked for."""

import asyncio

import pytest
from msgspec.structs import replace

from tarry.service.dispatch.upkeep.statistics import count_statistics
from tarry.service.model.endpoint import Standing
from tarry.service.model.task import IN_PIECES, Task, Work
from tarry.service.store.memory import MemoryStore
from tarry.testing.samples import ENVIRONMENT, NOON, a_task, an_application, an_endpoint
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def scene() -> Scene:
    return await Scene.set_up(MemoryStore())


def a_count(work: Work, **values: object) -> Task:
    task = Task(id="qtask_1", work=work, environment=ENVIRONMENT, created_at=NOON)
    return replace(task, **values)


async def test_messages_are_counted_by_where_they_went(scene: Scene) -> None:
    await scene.add_endpoint()
    await scene.add_endpoint(standing=Standing.DISABLED)
    for at in (NOON - 1, NOON, NOON + 1):
        await scene.add(accepted_at=at)
    idle, foreign = an_application(uid="idle"), an_application(environment="org_other")
    for application in (idle, foreign):
        await scene.store.put(application)
    here = {"appId": scene.application.id, "appUid": scene.application.uid}
    for since, until, many in [(0.0, None, 6), (NOON, None, 4), (NOON, NOON + 1, 2)]:
        task = a_count(Work.APP_STATS, since=since, until=until)
        assert (await count_statistics(scene.store, task, asyncio.Lock()))["appStats"] == [
            {**here, "messageDestinations": many},
            {"appId": idle.id, "appUid": "idle", "messageDestinations": 0},
        ]


async def test_only_applications_that_are_asked_for_are_counted_if_they_are_there(
    scene: Scene,
) -> None:
    other = an_application()
    await scene.store.put(other)
    for known, found in [([other.id], [other.id]), (["app_gone", scene.application.id], None)]:
        task = a_count(Work.APP_STATS, data={"appIds": known})
        stats = (await count_statistics(scene.store, task, asyncio.Lock()))["appStats"]
        assert [stat["appId"] for stat in stats] == (found or [scene.application.id])


async def test_the_types_that_endpoints_are_sent_are_told(scene: Scene) -> None:
    other = an_application()
    await scene.store.put(other)
    for types in (("b", "a"), ("a", "c")):
        await scene.store.put(an_endpoint(other, event_types=types))
    told = (await count_statistics(scene.store, a_count(Work.EVENT_TYPE_STATS), asyncio.Lock()))[
        "event_types"
    ]
    names = "appId", "explicitlySubscribedEventTypes", "hasCatchAllEndpoint"
    assert [tuple(one[name] for name in names) for one in told] == [
        (scene.application.id, [], True),
        (other.id, ["a", "b", "c"], False),
    ]


@pytest.mark.parametrize("work", sorted(IN_PIECES))
async def test_what_is_done_in_pieces_is_not_counted(scene: Scene, work: Work) -> None:
    with pytest.raises(ValueError, match="nothing to count"):
        await count_statistics(scene.store, a_task(scene.endpoint, work), asyncio.Lock())


async def test_the_store_is_asked_only_while_it_is_the_turn_of_the_count(scene: Scene) -> None:
    question = asyncio.Lock()
    async with question:
        count = asyncio.create_task(
            count_statistics(scene.store, a_count(Work.EVENT_TYPE_STATS), question)
        )
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not count.done()
    assert len((await count)["event_types"]) == 1
    assert not question.locked()
