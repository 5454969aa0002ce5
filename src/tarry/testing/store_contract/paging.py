# ruff: noqa: D102, S101  these are tests: a name is a sentence, and assert is how one speaks
"""Paging: a list read in pages is the list, each thing once."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tarry.service.model.application import Application
from tarry.service.model.attempt import Attempt
from tarry.service.model.delivery import Delivery
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.lane import Change, Notice
from tarry.service.model.message import Message
from tarry.testing.samples import (
    ENVIRONMENT,
    NOON,
    a_notice,
    an_application,
    delivered,
    failed,
    put_back,
)
from tarry.testing.store_contract.scene import Scene
from tarry.testing.store_contract.topic import Topic

PAGE = 2
MOST = 100

Thing = TypeVar("Thing")


class PagingContract(Topic):
    """Every list with a limit, read a page at a time."""

    async def test_applications_by_id(self, scene: Scene) -> None:
        more = [an_application() for _ in range(4)]
        for application in reversed(more):
            await scene.store.put_application(application)
        wanted = [scene.application, *more]
        assert await scene.store.applications(ENVIRONMENT) == wanted
        assert await scene.store.applications("org_other") == []

        async def page(last: Application | None) -> list[Application]:
            after = last.id if last else ""
            return await scene.store.applications(ENVIRONMENT, after=after, limit=PAGE)

        assert await _all(page) == wanted

    async def test_endpoints_by_id(self, scene: Scene) -> None:
        wanted = [scene.endpoint, *[await scene.add_endpoint() for _ in range(4)]]
        assert await scene.store.endpoints(scene.application.id) == wanted

        async def page(last: Endpoint | None) -> list[Endpoint]:
            after = last.id if last else ""
            return await scene.store.endpoints(scene.application.id, after=after, limit=PAGE)

        assert await _all(page) == wanted

    async def test_messages_newest_first(self, scene: Scene) -> None:
        messages = [await scene.add() for _ in range(5)]
        wanted = messages[::-1]
        assert await scene.store.messages(scene.application.id) == wanted
        assert await scene.store.messages("app_other") == []

        async def page(last: Message | None) -> list[Message]:
            before = last.id if last else None
            return await scene.store.messages(scene.application.id, before=before, limit=PAGE)

        assert await _all(page) == wanted

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
            return await scene.store.undelivered(scene.application.id, after=after, limit=PAGE)

        found = await _all(page)
        assert [(one.lane, one.seq) for _, one in found] == places
        assert [to for to, _ in found] == [endpoints[lane] for lane, _ in places]
        assert found == await scene.store.undelivered(scene.application.id)
        assert await scene.store.undelivered("app_other") == []

    async def test_attempts_at_an_endpoint_newest_first(self, scene: Scene) -> None:
        second = await scene.add_endpoint()
        message = await scene.add()
        made: list[Attempt] = []
        for _ in range(5):
            settlement = put_back((await scene.due())[0])
            await scene.settle(settlement)
            assert settlement.attempt is not None
            made.append(settlement.attempt)
        elsewhere = delivered((await scene.due(lane=second.lane))[0])
        await scene.settle(elsewhere)
        wanted = made[::-1]
        assert await scene.store.attempts_to(scene.endpoint.id) == wanted
        assert await scene.store.attempts_to(second.id) == [elsewhere.attempt]
        assert await scene.store.attempts(message.id) == [*made, elsewhere.attempt]
        assert await scene.store.attempts_to("ep_none") == []
        assert await scene.store.attempts("msg_none") == []

        async def page(last: Attempt | None) -> list[Attempt]:
            before = last.id if last else None
            return await scene.store.attempts_to(scene.endpoint.id, before=before, limit=PAGE)

        assert await _all(page) == wanted

    async def test_notices_by_id(self, scene: Scene) -> None:
        wanted = [a_notice(scene.endpoint, at=NOON - number) for number in range(5)]
        changes = [
            Change(lane=scene.lane, at=NOON, notices=(notice,)) for notice in reversed(wanted)
        ]
        await scene.settle(changes=changes)
        assert await scene.store.notices() == wanted

        async def page(last: Notice | None) -> list[Notice]:
            return await scene.store.notices(after=last.id if last else "", limit=PAGE)

        assert await _all(page) == wanted


async def _all(page: Callable[[Thing | None], Awaitable[list[Thing]]]) -> list[Thing]:
    """Everything, a page at a time."""
    found: list[Thing] = []
    while more := await page(found[-1] if found else None):
        assert len(more) <= PAGE
        found += more
        assert len(found) < MOST, "it never ends"
    return found
