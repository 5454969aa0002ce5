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
        other_endpoint = await scene.add_endpoint()
        first_message, second_message = [await scene.add() for _ in range(2)]
        attempts: list[tuple[Attempt, Message, Endpoint]] = []
        for _ in range(3):
            for message, index in ((first_message, 0), (second_message, 1)):
                for endpoint in (scene.endpoint, other_endpoint):
                    due = (await scene.due(lane=endpoint.lane))[index]
                    attempt = an_attempt(due, body=b"no")
                    await scene.settle(put_back(due, attempt=attempt))
                    attempts.append((attempt, message, endpoint))
        await scene.delete_endpoint(other_endpoint)
        other_row = await scene.row(other_endpoint)

        async def read_to(cut: Cut) -> list[tuple[Attempt, Message]]:
            return (await store.page(AttemptsTo(scene.endpoint, AttemptFilter()), cut)).entries

        async def read_of(cut: Cut) -> list[tuple[Attempt, Endpoint]]:
            return (await store.page(AttemptsOf(first_message.id, AttemptFilter()), cut)).entries

        attempts_to_endpoint = [
            (attempt, replace(message, payload=None))
            for attempt, message, at in attempts
            if at is scene.endpoint
        ]
        await check_pages(read_to, attempts_to_endpoint, lambda pair: pair[0].id)
        foreign_attempt = next(attempt for attempt, _, at in attempts if at is other_endpoint)
        await check_gone(read_to, attempts_to_endpoint, 1, foreign_attempt.id)
        await check_gone(read_to, attempts_to_endpoint, len(attempts_to_endpoint), new_id(ATTEMPT))
        attempts_of_message = [
            (attempt, other_row.endpoint if at is other_endpoint else at)
            for attempt, message, at in attempts
            if message is first_message
        ]
        await check_pages(read_of, attempts_of_message, lambda pair: pair[0].id)
        for lane in (scene.lane, other_endpoint.lane):
            in_lane = AttemptFilter(lane=lane)
            entries = (await store.page(AttemptsOf(first_message.id, in_lane), ALL)).entries
            assert entries == [pair for pair in attempts_of_message if pair[0].lane == lane]
        empty_page = await store.page(AttemptsTo(scene.endpoint, AttemptFilter(lane=-1)), ALL)
        assert empty_page.entries == []
        assert (await store.page(AttemptsOf("msg_nobody", AttemptFilter()), ALL)).entries == []

    async def test_attempts_are_filtered_by_their_outcomes_and_messages(self, scene: Scene) -> None:
        store = scene.store
        message = await scene.add(channels=("eu",), tags=("big",), event_type="a")
        attempts: list[Attempt] = []
        for status, kind in [
            (500, "server error"),
            (None, "timeout"),
            (429, "throttled"),
            (503, "server error"),
            (200, None),
        ]:
            (due,) = await scene.due()
            attempts.append(an_attempt(due, status=status, kind=kind))
            await scene.settle(put_back(due, attempt=attempts[-1]))
        third = made_at(attempts[2].id)
        for attempt_filter, positions in [
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
            listed = replace(message, payload=None)
            attempts_to_endpoint = [(attempts[index], listed) for index in positions]
            attempts_of_message = [(attempts[index], scene.endpoint) for index in positions]
            for limit in (1, 2, 100):
                cut = Cut(limit=limit)
                by_endpoint = await store.page(AttemptsTo(scene.endpoint, attempt_filter), cut)
                assert by_endpoint.entries == attempts_to_endpoint[:limit]
                by_message = await store.page(AttemptsOf(message.id, attempt_filter), cut)
                assert by_message.entries == attempts_of_message[:limit]

    async def test_one_attempt_is_found_by_its_message(self, scene: Scene) -> None:
        store = scene.store
        message, other = await scene.add(), await scene.add()
        due = (await scene.due())[0]
        attempt = an_attempt(due, body=b"secret")
        await scene.settle(delivered(due, attempt=attempt))
        assert await store.get(AttemptsOf(message.id), attempt.id) == (attempt, scene.endpoint)
        for message_id, attempt_id in [
            (other.id, attempt.id),
            (message.id, "atmpt_no"),
            ("msg_no", "x"),
        ]:
            with pytest.raises(NotFound, match=attempt_id):
                await store.get(AttemptsOf(message_id), attempt_id)

    async def test_the_stored_response_of_an_attempt_can_be_expunged(self, scene: Scene) -> None:
        store = scene.store
        message, other = await scene.add(), await scene.add()
        first, second = [an_attempt(due, body=b"secret") for due in await scene.due()]
        due = await scene.due()
        await scene.settle(delivered(due[0], attempt=first), delivered(due[1], attempt=second))
        await store.expunge(AttemptsOf(message.id), first.id)
        await store.expunge(AttemptsOf(message.id), first.id)
        forgotten = replace(first, body=EXPUNGED)
        assert await store.get(AttemptsOf(message.id), first.id) == (forgotten, scene.endpoint)
        assert await store.read(AllAttemptsOf(message.id)) == [forgotten]
        assert await store.read(AllAttemptsOf(other.id)) == [second]
        for message_id, attempt_id in [
            (other.id, first.id),
            (message.id, "atmpt_no"),
            ("msg_no", "x"),
        ]:
            with pytest.raises(NotFound, match=attempt_id):
                await store.expunge(AttemptsOf(message_id), attempt_id)
