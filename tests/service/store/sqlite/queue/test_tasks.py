"""A task is saved as a document, beside the columns that queries search."""

from pathlib import Path

import pytest

from tarry.errors import NotFound
from tarry.service.model.task import Failure, Work
from tarry.service.store.sqlite.database.connection import connect
from tarry.testing.samples import NOON, a_task
from tarry.testing.store_contract.scene import Scene

pytestmark = pytest.mark.anyio


async def test_whose_a_task_is_and_what_it_does_can_be_searched_for(
    scene: Scene, path: Path
) -> None:
    task = a_task(scene.endpoint, Work.BULK_REPLAY)
    await scene.store.add_task(task)
    db = connect(path)
    rows = list(db.execute("SELECT id, environment, work, shard, lane FROM task"))
    db.close()
    shard = scene.application.shard
    assert rows == [(task.id, task.environment, "endpoint.bulk-replay", shard, scene.lane)]


async def test_a_task_that_is_not_there_is_not_done(scene: Scene) -> None:
    task = a_task(scene.endpoint, Work.DISCARD)
    with pytest.raises(NotFound):
        await scene.store.advance(task, now=NOON, limit=2, lease=scene.lease)
    with pytest.raises(NotFound):
        await scene.store.finish(task, Failure("why"), now=NOON, lease=scene.lease)
