"""What the suite's scene has, and that it counts."""

import asyncio

import pytest

from tarry.service.model.application import SHARDS
from tarry.service.store.memory import MemoryStore
from tarry.testing.store_contract.scene import Scene


def test_a_scene_has_an_application_an_endpoint_and_every_shard() -> None:
    async def main() -> None:
        store = MemoryStore()
        scene = await Scene.set_up(store)
        assert len(scene.leases) == SHARDS
        assert scene.lease.shard == scene.application.shard
        assert (await scene.row()).endpoint == scene.endpoint
        assert await store.woken(scene.leases) == []
        message = await scene.add()
        assert (await scene.delivery(message)).lane == scene.lane
        assert [due.message for due in await scene.due()] == [message.id]

    asyncio.run(main())


def test_wrong_counts_are_noticed() -> None:
    class Miscounting(MemoryStore):
        async def miscount(self, lane: int) -> None:
            self._data.lanes[lane].ended += 1

    async def main() -> None:
        store = Miscounting()
        scene = await Scene.set_up(store)
        await scene.add()
        await scene.check_counts()
        await store.miscount(scene.lane)
        with pytest.raises(AssertionError, match="0 are counted as live, 1 are"):
            await scene.check_counts()

    asyncio.run(main())
