"""A piece of a task on PostgreSQL."""

import pytest

from tarry.service.model.delivery import State
from tarry.service.model.task import Work
from tarry.service.store.kinds import AllDeliveriesOf
from tarry.service.store.paged_search import LATEST_ADD_SECONDS
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.samples import NOON, a_task, failed, new_message
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio


async def test_many_are_replayed_in_pieces_and_found_by_their_messages(
    scene: Scene, store: PostgresStore
) -> None:
    new = [new_message(scene.application) for _ in range(50)]
    await store.add(new)
    endpoint = await scene.add_endpoint()
    task = a_task(endpoint, Work.REPLAY_MISSING)
    await store.add_task(task)
    while task.finished_at is None:
        task = await store.advance(task, now=NOON, limit=30, lease=scene.lease)
    assert task.done == 50
    due = await scene.due(lane=endpoint.lane)
    assert [delivery.message for delivery in due] == sorted(message.message.id for message in new)
    for message in new:
        assert len(await store.read(AllDeliveriesOf(message.message.id))) == 2


@pytest.mark.parametrize("work", [Work.RECOVER, Work.REPLAY_MISSING, Work.BULK_REPLAY])
async def test_what_is_from_before_a_tasks_time_is_not_looked_at(
    scene: Scene, store: PostgresStore, work: Work
) -> None:
    old = [
        new_message(scene.application, accepted_at=NOON - 2 * LATEST_ADD_SECONDS)
        for _ in range(100)
    ]
    await store.add([*old, *(new_message(scene.application) for _ in range(4))])
    endpoint = scene.endpoint
    if work is Work.RECOVER:
        await scene.settle(*map(failed, await scene.due(limit=200)))
    else:
        endpoint = await scene.add_endpoint()
    task = a_task(endpoint, work, since=NOON - 1)
    await store.add_task(task)
    assert (await store.advance(task, now=NOON, limit=3, lease=scene.lease)).done == 3
    done = await store.advance(task, now=NOON, limit=3, lease=scene.lease)
    assert (done.done, done.finished_at) == (4, NOON)


async def test_what_failed_is_recovered_and_counted_as_waiting_again(
    scene: Scene, store: PostgresStore
) -> None:
    await store.add([new_message(scene.application) for _ in range(3)])
    await scene.settle(*map(failed, await scene.due()))
    assert (await scene.row()).waiting == 0
    task = a_task(scene.endpoint, Work.RECOVER)
    await store.add_task(task)
    assert (await store.advance(task, now=NOON, limit=2, lease=scene.lease)).finished_at is None
    assert (await store.advance(task, now=NOON, limit=2, lease=scene.lease)).done == 3
    assert await store.counts(scene.lane) == {State.READY: 3}
    assert (await scene.row()).waiting == 3
