import pytest
from msgspec.structs import replace

from tarry.errors import NotFound
from tarry.service.model.task import Work
from tarry.service.store.postgres.store import PostgresStore
from tarry.testing.samples import NOON, a_task
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio


async def test_a_task_that_is_not_there_is_not_done(scene: Scene, store: PostgresStore) -> None:
    task = a_task(scene.endpoint, Work.DISCARD)
    with pytest.raises(NotFound):
        await store.advance(task, now=NOON, limit=2, lease=scene.lease)
    with pytest.raises(NotFound):
        await store.give_up(task, "why", now=NOON, lease=scene.lease)


async def test_why_a_task_was_given_up_is_kept_without_what_cannot_be(
    scene: Scene, store: PostgresStore
) -> None:
    task = a_task(scene.endpoint, Work.RECOVER)
    await store.add_task(task)
    left = await store.give_up(task, "a\0b", now=NOON, lease=scene.lease)
    assert left == replace(task, failed="a\ufffdb", finished_at=NOON)
    assert await store.get_task(task.id) == left
