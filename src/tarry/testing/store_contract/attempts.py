"""Attempts: lists by endpoint and by message, page by page; one attempt, and expunging it."""

import pytest
from msgspec.structs import replace

from tarry.errors import NotFound
from tarry.service.model.attempt import EXPUNGED, Attempt
from tarry.service.model.endpoint import Endpoint
from tarry.service.model.ids import ATTEMPT, made_at
from tarry.service.model.listing import AttemptFilter, Cut, MessageFilter
from tarry.service.model.message import Message
from tarry.service.store.kinds import AllAttemptsOf, AttemptsOf, AttemptsTo
from tarry.testing.samples import (
    an_attempt,
    delivered,
    new_id,
    put_back,
)
from tarry.testing.store_contract.pages import ALL, check_gone, check_pages
from tarry.testing.store_contract.scene import Scene
from tarry.testing.store_contract.topic import Topic


class AttemptsContract(Topic):
    """Attempts that were made."""

    async def test_attempts_are_listed_by_endpoint_and_by_message(self, scene: Scene) -> None:
        store = scene.store
        second = await scene.add_endpoint()
        one, two = [await scene.add() for _ in range(2)]
        made: list[tuple[Attempt, Message, Endpoint]] = []
        for _ in range(3):
            for message, place in ((one, 0), (two, 1)):
                for endpoint in (scene.endpoint, second):
                    due = (await scene.due(lane=endpoint.lane))[place]
                    attempt = an_attempt(due, body=b"no")
                    await scene.settle(put_back(due, attempt=attempt))
                    made.append((attempt, message, endpoint))
        await scene.delete_endpoint(second)
        gone = await scene.row(second)

        async def ask_to(cut: Cut) -> list[tuple[Attempt, Message]]:
            return (await store.page(AttemptsTo(scene.endpoint, AttemptFilter()), cut)).entries

        async def ask_of(cut: Cut) -> list[tuple[Attempt, Endpoint]]:
            return (await store.page(AttemptsOf(one.id, AttemptFilter()), cut)).entries

        to = [(attempt, message) for attempt, message, at in made if at is scene.endpoint]
        await check_pages(ask_to, to, lambda pair: pair[0].id)
        elsewhere = next(attempt for attempt, _, at in made if at is second)
        await check_gone(ask_to, to, 1, elsewhere.id)
        await check_gone(ask_to, to, len(to), new_id(ATTEMPT))
        of = [
            (attempt, gone.endpoint if at is second else at)
            for attempt, message, at in made
            if message is one
        ]
        await check_pages(ask_of, of, lambda pair: pair[0].id)
        for lane in (scene.lane, second.lane):
            wanted = AttemptFilter(lane=lane)
            found = (await store.page(AttemptsOf(one.id, wanted), ALL)).entries
            assert found == [pair for pair in of if pair[0].lane == lane]
        none = await store.page(AttemptsTo(scene.endpoint, AttemptFilter(lane=-1)), ALL)
        assert none.entries == []
        assert (await store.page(AttemptsOf("msg_nobody", AttemptFilter()), ALL)).entries == []

    async def test_attempts_are_chosen_by_what_came_of_them_and_their_messages(
        self, scene: Scene
    ) -> None:
        store = scene.store
        message = await scene.add(channels=("eu",), tags=("big",), event_type="a")
        made: list[Attempt] = []
        for status, kind in [
            (500, "server error"),
            (None, "timeout"),
            (429, "throttled"),
            (503, "server error"),
            (200, None),
        ]:
            (due,) = await scene.due()
            made.append(an_attempt(due, status=status, kind=kind))
            await scene.settle(put_back(due, attempt=made[-1]))
        third = made_at(made[2].id)
        for wanted, places in [
            (AttemptFilter(succeeded=True), [4]),
            (AttemptFilter(succeeded=False), [0, 1, 2, 3]),
            (AttemptFilter(status_class=0), [1]),
            (AttemptFilter(status_class=100), []),
            (AttemptFilter(status_class=200), [4]),
            (AttemptFilter(status_class=400), [2]),
            (AttemptFilter(status_class=500), [0, 3]),
            (AttemptFilter(message=MessageFilter(after=third)), [2, 3, 4]),
            (AttemptFilter(message=MessageFilter(before=third)), [0, 1]),
            (AttemptFilter(message=MessageFilter(after=third), status_class=500), [3]),
            (AttemptFilter(message=MessageFilter(after=third), succeeded=False), [2, 3]),
            (AttemptFilter(message=MessageFilter(channel="eu", tag="big")), [0, 1, 2, 3, 4]),
            (AttemptFilter(message=MessageFilter(event_types=("a",)), succeeded=True), [4]),
            (AttemptFilter(message=MessageFilter(channel="us")), []),
            (AttemptFilter(message=MessageFilter(tag="small")), []),
            (AttemptFilter(message=MessageFilter(event_types=("b",))), []),
        ]:
            to = [(made[place], message) for place in places]
            of = [(made[place], scene.endpoint) for place in places]
            for limit in (1, 2, 100):
                cut = Cut(limit=limit)
                here = await store.page(AttemptsTo(scene.endpoint, wanted), cut)
                assert here.entries == to[:limit]
                there = await store.page(AttemptsOf(message.id, wanted), cut)
                assert there.entries == of[:limit]

    async def test_one_attempt_is_found_by_its_message(self, scene: Scene) -> None:
        store = scene.store
        message, other = await scene.add(), await scene.add()
        due = (await scene.due())[0]
        attempt = an_attempt(due, body=b"secret")
        await scene.settle(delivered(due, attempt=attempt))
        assert await store.get(AttemptsOf(message.id), attempt.id) == (attempt, scene.endpoint)
        for asked, known in [(other.id, attempt.id), (message.id, "atmpt_no"), ("msg_no", "x")]:
            with pytest.raises(NotFound, match=known):
                await store.get(AttemptsOf(asked), known)

    async def test_what_an_endpoint_answered_can_be_forgotten(self, scene: Scene) -> None:
        store = scene.store
        message, other = await scene.add(), await scene.add()
        one, two = [an_attempt(due, body=b"secret") for due in await scene.due()]
        due = await scene.due()
        await scene.settle(delivered(due[0], attempt=one), delivered(due[1], attempt=two))
        await store.expunge(AttemptsOf(message.id), one.id)
        await store.expunge(AttemptsOf(message.id), one.id)
        forgotten = replace(one, body=EXPUNGED)
        assert await store.get(AttemptsOf(message.id), one.id) == (forgotten, scene.endpoint)
        assert await store.read(AllAttemptsOf(message.id)) == [forgotten]
        assert await store.read(AllAttemptsOf(other.id)) == [two]
        for asked, known in [(other.id, one.id), (message.id, "atmpt_no"), ("msg_no", "x")]:
            with pytest.raises(NotFound, match=known):
                await store.expunge(AttemptsOf(asked), known)
