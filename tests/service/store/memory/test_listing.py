"""Lists and counts of records that do not exist, in the memory store."""

import asyncio

from tarry.service.model.listing import AttemptFilter, Cut, DeliveryFilter, MessageFilter
from tarry.service.store.kinds import (
    Applications,
    AttemptsOf,
    DeliveriesTo,
    Endpoints,
    Messages,
    Tasks,
)
from tarry.service.store.memory import MemoryStore
from tarry.testing.samples import NOON, new_id
from tarry.testing.store_contract.scene import Scene


def test_nothing_is_listed_of_what_is_not_there() -> None:
    async def main() -> list[object]:
        store, cut = MemoryStore(), Cut()
        return [
            (await store.page(Applications("org_none"), cut)).entries,
            (await store.page(Endpoints("app_none"), cut)).entries,
            (await store.page(Messages("app_none", MessageFilter()), cut)).entries,
            (await store.page(AttemptsOf("msg_none", AttemptFilter()), cut)).entries,
            (await store.page(Tasks("org_none"), cut)).entries,
        ]

    assert asyncio.run(main()) == [[]] * 5


def test_an_empty_lane_has_nothing_on_either_side_of_any_mark() -> None:
    async def main() -> None:
        scene = await Scene.set_up(MemoryStore())
        for back in (False, True):
            cut = Cut(mark=new_id("msg_"), back=back)
            deliveries = (
                await scene.store.page(DeliveriesTo(scene.endpoint, DeliveryFilter()), cut)
            ).entries
            assert deliveries == []
        span = {"since": 0.0, "until": NOON * 2}
        assert await scene.store.count_deliveries(scene.endpoint, **span) == {}
        assert await scene.store.count_attempts(scene.endpoint, **span) == (0, 0)

    asyncio.run(main())
