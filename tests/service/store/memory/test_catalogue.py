"""How the memory store numbers lanes."""

import asyncio

from tarry.service.store.memory import MemoryStore
from tarry.testing.store_contract.scene import Scene


def test_lanes_are_numbered_from_one() -> None:
    async def main() -> list[int]:
        scene = await Scene.set_up(MemoryStore())
        return [scene.lane, *[(await scene.add_endpoint()).lane for _ in range(3)]]

    assert asyncio.run(main()) == [1, 2, 3, 4]
