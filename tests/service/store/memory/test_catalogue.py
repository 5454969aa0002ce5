"""How the memory store numbers lanes, and what it prefers when names meet."""

import asyncio

from tarry.service.store.memory import MemoryStore
from tarry.testing.samples import ENVIRONMENT, an_application
from tarry.testing.store_contract.scene import Scene


def test_lanes_are_numbered_from_one() -> None:
    async def main() -> list[int]:
        scene = await Scene.set_up(MemoryStore())
        return [scene.lane, *[(await scene.add_endpoint()).lane for _ in range(3)]]

    assert asyncio.run(main()) == [1, 2, 3, 4]


def test_an_id_goes_before_a_uid_that_looks_like_it() -> None:
    async def main() -> None:
        store = MemoryStore()
        named = an_application()
        await store.put_application(an_application(uid=named.id))
        await store.put_application(named)
        assert await store.application(ENVIRONMENT, named.id) == named

    asyncio.run(main())
