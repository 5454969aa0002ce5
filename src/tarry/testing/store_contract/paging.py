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
MOST = 100

Thing = TypeVar("Thing")


class PagingContract(Topic):
    """Lists with a limit, read page by page."""

    async def test_what_is_undelivered_by_lane_and_number(self, scene: Scene) -> None:
        second = await scene.add_endpoint()
        for _ in range(4):
            await scene.add()
        one, two, *_ = await scene.due()
        await scene.settle(delivered(one), failed(two))
        places = [(scene.lane, seq) for seq in (2, 3, 4)]
        places += [(second.lane, seq) for seq in (1, 2, 3, 4)]
        places.sort()
        endpoints = {scene.lane: scene.endpoint, second.lane: second}

        async def page(last: tuple[Endpoint, Delivery] | None) -> list[tuple[Endpoint, Delivery]]:
            after = (last[1].lane, last[1].seq) if last else (0, 0)
            return await scene.store.read(
                Undelivered(scene.application.id, after=after, limit=PAGE)
            )

        found = await _all(page)
        assert [(one.lane, one.seq) for _, one in found] == places
        assert [to for to, _ in found] == [endpoints[lane] for lane, _ in places]
        assert found == await scene.store.read(Undelivered(scene.application.id))
        assert await scene.store.read(Undelivered("app_other")) == []

    async def test_what_is_undelivered_in_one_lane(self, scene: Scene) -> None:
        second = await scene.add_endpoint()
        for _ in range(3):
            await scene.add()
        store, known = scene.store, scene.application.id
        for endpoint in (scene.endpoint, second):
            found = await store.read(Undelivered(known, lane=endpoint.lane))
            assert [(to, one.seq) for to, one in found] == [(endpoint, seq) for seq in (1, 2, 3)]
            for seq in (1, 3):
                after = (endpoint.lane, seq)
                rest = await store.read(
                    Undelivered(known, lane=endpoint.lane, after=after, limit=1)
                )
                assert rest == found[seq : seq + 1]
        assert await store.read(Undelivered(known, lane=max(scene.lane, second.lane) + 1)) == []
        assert await store.read(Undelivered("app_other", lane=scene.lane)) == []

    async def test_what_is_undelivered_in_an_environment(self, scene: Scene) -> None:
        store = scene.store
        lanes: list[int] = []
        for application in (an_application(), an_application(), scene.application):
            await store.put(application)
            endpoint = await store.put(an_endpoint(application))
            await store.add([new_message(application) for _ in range(3)])
            lanes.append(endpoint.lane)
        foreign = an_application(environment="org_other")
        await store.put(foreign)
        elsewhere = await store.put(an_endpoint(foreign))
        await store.add([new_message(foreign)])
        gone = an_application()
        await store.put(gone)
        await store.put(an_endpoint(gone))
        await store.add([new_message(gone)])
        await store.delete(Applications(gone.environment), gone.id, now=NOON)
        wanted = [(lane, seq) for lane in sorted((*lanes, scene.lane)) for seq in (1, 2, 3)]

        async def page(last: tuple[Endpoint, Delivery] | None) -> list[tuple[Endpoint, Delivery]]:
            after = (last[1].lane, last[1].seq) if last else (0, 0)
            return await store.read(UndeliveredIn(ENVIRONMENT, after=after, limit=PAGE))

        found = await _all(page)
        assert [(one.lane, one.seq) for _, one in found] == wanted
        assert found == await store.read(UndeliveredIn(ENVIRONMENT))
        assert [to for to, _ in await store.read(UndeliveredIn("org_other"))] == [elsewhere]
        assert await store.read(UndeliveredIn("org_nobody")) == []

    async def test_notices_by_id(self, scene: Scene) -> None:
        wanted = [a_notice(scene.endpoint, at=NOON - number) for number in range(5)]
        changes = [
            Change(lane=scene.lane, epoch=scene.lease.epoch, at=NOON, notices=(notice,))
            for notice in reversed(wanted)
        ]
        await scene.settle(changes=changes)
        assert await scene.store.read(Notices()) == wanted

        async def page(last: Notice | None) -> list[Notice]:
            return await scene.store.read(Notices(after=last.id if last else "", limit=PAGE))

        assert await _all(page) == wanted


async def _all(page: Callable[[Thing | None], Awaitable[list[Thing]]]) -> list[Thing]:
    """Return all entries, read page by page."""
    found: list[Thing] = []
    while more := await page(found[-1] if found else None):
        assert len(more) <= PAGE
        found += more
        assert len(found) < MOST, "it never ends"
    return found
