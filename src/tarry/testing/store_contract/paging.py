"""Paging: a list that is read in pages contains each entry once."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tarry.service.model.delivery import Delivery
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.lane import Change, Notice
from tarry.service.store.kinds import Applications, Notices, Undelivered, UndeliveredIn
from tarry.testing.samples import (
    ENVIRONMENT,
    NOON,
    a_notice,
    an_application,
    an_endpoint,
    delivered,
    failed,
    new_message,
)
from tarry.testing.store_contract.scene import Scene
from tarry.testing.store_contract.topic import Topic

PAGE = 2
MOST_ENTRIES = 100

Thing = TypeVar("Thing")


class PagingContract(Topic):
    """Lists with a limit, read page by page."""

    async def test_undelivered_ones_are_paged_by_lane_and_number(self, scene: Scene) -> None:
        second = await scene.add_endpoint()
        for _ in range(4):
            await scene.add()
        to_deliver, to_fail, *_ = await scene.due()
        await scene.settle(delivered(to_deliver), failed(to_fail))
        places = [(scene.lane, seq) for seq in (2, 3, 4)]
        places += [(second.lane, seq) for seq in (1, 2, 3, 4)]
        places.sort()
        endpoints = {scene.lane: scene.endpoint, second.lane: second}

        async def page(last: tuple[Endpoint, Delivery] | None) -> list[tuple[Endpoint, Delivery]]:
            after = (last[1].lane, last[1].seq) if last else (0, 0)
            return await scene.store.read(
                Undelivered(scene.application.id, after=after, limit=PAGE)
            )

        entries = await _all(page)
        assert [(delivery.lane, delivery.seq) for _, delivery in entries] == places
        assert [receiver for receiver, _ in entries] == [endpoints[lane] for lane, _ in places]
        assert entries == await scene.store.read(Undelivered(scene.application.id))
        assert await scene.store.read(Undelivered("app_other")) == []

    async def test_undelivered_ones_of_one_lane_are_paged(self, scene: Scene) -> None:
        second = await scene.add_endpoint()
        for _ in range(3):
            await scene.add()
        store, application_id = scene.store, scene.application.id
        for endpoint in (scene.endpoint, second):
            entries = await store.read(Undelivered(application_id, lane=endpoint.lane))
            assert [(receiver, delivery.seq) for receiver, delivery in entries] == [
                (endpoint, seq) for seq in (1, 2, 3)
            ]
            for seq in (1, 3):
                after = (endpoint.lane, seq)
                rest = await store.read(
                    Undelivered(application_id, lane=endpoint.lane, after=after, limit=1)
                )
                assert rest == entries[seq : seq + 1]
        assert (
            await store.read(Undelivered(application_id, lane=max(scene.lane, second.lane) + 1))
            == []
        )
        assert await store.read(Undelivered("app_other", lane=scene.lane)) == []

    async def test_undelivered_ones_of_an_environment_are_paged(self, scene: Scene) -> None:
        store = scene.store
        lanes: list[int] = []
        for application in (an_application(), an_application(), scene.application):
            await store.put(application)
            endpoint = await store.put(an_endpoint(application))
            await store.add([new_message(application) for _ in range(3)])
            lanes.append(endpoint.lane)
        foreign = an_application(environment="org_other")
        await store.put(foreign)
        foreign_endpoint = await store.put(an_endpoint(foreign))
        await store.add([new_message(foreign)])
        deleted_application = an_application()
        await store.put(deleted_application)
        await store.put(an_endpoint(deleted_application))
        await store.add([new_message(deleted_application)])
        await store.delete(
            Applications(deleted_application.environment), deleted_application.id, now=NOON
        )
        expected = [(lane, seq) for lane in sorted((*lanes, scene.lane)) for seq in (1, 2, 3)]

        async def page(last: tuple[Endpoint, Delivery] | None) -> list[tuple[Endpoint, Delivery]]:
            after = (last[1].lane, last[1].seq) if last else (0, 0)
            return await store.read(UndeliveredIn(ENVIRONMENT, after=after, limit=PAGE))

        entries = await _all(page)
        assert [(delivery.lane, delivery.seq) for _, delivery in entries] == expected
        assert entries == await store.read(UndeliveredIn(ENVIRONMENT))
        assert [receiver for receiver, _ in await store.read(UndeliveredIn("org_other"))] == [
            foreign_endpoint
        ]
        assert await store.read(UndeliveredIn("org_nobody")) == []

    async def test_notices_by_id(self, scene: Scene) -> None:
        notices = [a_notice(scene.endpoint, at=NOON - number) for number in range(5)]
        changes = [
            Change(lane=scene.lane, epoch=scene.lease.epoch, at=NOON, notices=(notice,))
            for notice in reversed(notices)
        ]
        await scene.settle(changes=changes)
        assert await scene.store.read(Notices()) == notices

        async def page(last: Notice | None) -> list[Notice]:
            return await scene.store.read(Notices(after=last.id if last else "", limit=PAGE))

        assert await _all(page) == notices


async def _all(read_page: Callable[[Thing | None], Awaitable[list[Thing]]]) -> list[Thing]:
    """Return all entries, read page by page."""
    entries: list[Thing] = []
    while page := await read_page(entries[-1] if entries else None):
        assert len(page) <= PAGE
        entries += page
        assert len(entries) < MOST_ENTRIES, "the pages never end"
    return entries
