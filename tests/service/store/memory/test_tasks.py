"""Where the memory store continues a task."""

import asyncio

from tarry.service.model.task import Work
from tarry.service.store.memory import MemoryStore
from tarry.testing.samples import NOON, a_task, failed, new_message
from tarry.testing.store_contract.scene import Scene


def test_the_cursor_is_the_last_one_done() -> None:
    async def main() -> list[str]:
        scene = await Scene.set_up(MemoryStore())
        await scene.store.add([new_message(scene.application) for _ in range(5)])
        await scene.settle(*map(failed, (await scene.due())[1:]))
        task = a_task(scene.endpoint, Work.RECOVER)
        await scene.store.add_task(task)
        cursors = []
        while task.finished_at is None:
            task = await scene.store.advance(task, now=NOON, limit=2, lease=scene.lease)
            cursors.append(task.cursor)
        return cursors

    assert asyncio.run(main()) == ["3", "5", "5"]
