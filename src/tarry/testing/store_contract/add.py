"""Adding messages: the result for each message, and its deliveries."""

import asyncio

import pytest

from tarry.errors import BacklogFull, Conflict, NotFound
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Stream
from tarry.service.model.message import Accepted, Message
from tarry.service.store.contract import Store
from tarry.service.store.kinds import AllDeliveriesOf, Applications, Messages
from tarry.testing.samples import (
    NOON,
    a_message,
    an_application,
    an_endpoint,
    delivered,
    new_message,
)
from tarry.testing.store_contract.scene import Scene
from tarry.testing.store_contract.topic import Topic

PAYLOADS = {
    "json": b'{"a":1}',
    "empty": b"",
    "NUL": b"\x00a\x00",
    "no UTF-8": b"\xff\xfe\x80",
    "a megabyte": bytes(range(256)) * 4096,
}


class AddContract(Topic):
    """Accepting messages with their deliveries."""

    async def test_a_message_is_accepted_with_its_delivery(self, scene: Scene) -> None:
        message = a_message(scene.application)
        answers = await scene.store.add([new_message(scene.application, id=message.id)])
        assert answers == [Accepted(message)]
        delivery = await scene.delivery(message)
        assert (delivery.lane, delivery.seq, delivery.message) == (scene.lane, 1, message.id)
        assert (delivery.state, delivery.reason) == (State.READY, Reason.NEW)
        assert (delivery.attempts, delivery.tries, delivery.memory) == (0, 0, None)
        assert (delivery.due_at, delivery.ended_at) == (None, None)
        assert delivery.accepted_at == message.accepted_at

    async def test_all_that_a_message_says_is_kept(self, scene: Scene) -> None:
        message = await scene.add(
            event_type="kündigung.eingang",
            event_id="evt 'one' %s \\ \U0001f40c",
            channels=("eu", "a,b", "{x}"),
            tags=("a b", '"', ""),
            accepted_at=NOON + 0.123456,
            deliver_at=NOON + 10.5,
            payload_until=NOON + 99.5,
            content_type="text/plain; charset=utf-8",
            chain=7,
        )
        assert await scene.store.get(Messages(scene.application.id), message.id) == message

    @pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
    async def test_the_bytes_of_a_payload_are_untouched(self, scene: Scene, payload: bytes) -> None:
        message = await scene.add(payload=payload)
        assert (
            await scene.store.get(Messages(scene.application.id), message.id)
        ).payload == payload
        assert [due.payload for due in await scene.due()] == [payload]

    async def test_the_place_in_a_chain_comes_with_deliveries_and_resends(
        self, scene: Scene
    ) -> None:
        message = await scene.add(chain=3)
        await scene.add()
        assert [due.chain for due in await scene.due()] == [3, 0]
        await scene.store.resend(scene.endpoint, message.id, resend="resend_1")
        (due,) = await scene.due(Stream.RESEND)
        assert due.chain == 3

    async def test_a_due_delivery_has_its_event_type(self, scene: Scene) -> None:
        message = await scene.add(content_type="text/xml")
        await scene.add()
        assert [due.content_type for due in await scene.due()] == ["text/xml", None]
        await scene.store.resend(scene.endpoint, message.id, resend="r1")
        (due,) = await scene.due(Stream.RESEND)
        assert due.content_type == "text/xml"

    async def test_the_messages_of_a_call_keep_their_order(self, scene: Scene) -> None:
        batch = [new_message(scene.application) for _ in range(20)]
        await scene.store.add(batch)
        due = await scene.due()
        assert [delivery.message for delivery in due] == [new.message.id for new in batch]
        assert [delivery.seq for delivery in due] == list(range(1, 21))

    async def test_nothing_is_added_by_a_call_without_messages(self, scene: Scene) -> None:
        assert await scene.store.add([]) == []

    async def test_an_unknown_application_is_reported_and_affects_no_other_message(
        self, scene: Scene
    ) -> None:
        new = [
            new_message(scene.application),
            new_message("app_none"),
            new_message(scene.application),
        ]
        first, second, third = await scene.store.add(new)
        assert isinstance(second, NotFound)
        assert (second.kind, second.id) == ("application", "app_none")
        assert (first, third) == (Accepted(new[0].message), Accepted(new[2].message))
        assert [due.seq for due in await scene.due()] == [1, 2]

    async def test_a_deleted_application_takes_no_messages(self, scene: Scene) -> None:
        await scene.store.delete(
            Applications(scene.application.environment), scene.application.id, now=NOON
        )
        (answer,) = await scene.store.add([new_message(scene.application)])
        assert isinstance(answer, NotFound)

    async def test_a_message_waits_for_its_time(self, scene: Scene) -> None:
        message = await scene.add(deliver_at=NOON + 60)
        delivery = await scene.delivery(message)
        assert (delivery.state, delivery.reason) == (State.WAITING, Reason.SCHEDULED)
        assert (delivery.due_at, delivery.accepted_at) == (NOON + 60, NOON + 60)

    @pytest.mark.parametrize("deliver_at", [NOON, NOON - 60])
    async def test_a_time_that_has_come_is_no_wait(self, scene: Scene, deliver_at: float) -> None:
        delivery = await scene.delivery(await scene.add(deliver_at=deliver_at))
        assert (delivery.state, delivery.reason) == (State.READY, Reason.NEW)
        assert delivery.due_at is None

    @pytest.mark.parametrize("deliver_at", [None, NOON + 60])
    async def test_deliveries_to_a_disabled_endpoint_are_saved_as_skipped(
        self, scene: Scene, deliver_at: float | None
    ) -> None:
        disabled = await scene.add_endpoint(standing=Standing.DISABLED)
        message = await scene.add(deliver_at=deliver_at)
        delivery = await scene.delivery(message, disabled)
        assert (delivery.state, delivery.reason) == (State.SKIPPED, Reason.SKIPPED)
        assert (delivery.seq, delivery.due_at, delivery.ended_at) == (1, None, NOON)
        row = await scene.row(disabled)
        assert (row.added, row.ended) == (1, 1)

    @pytest.mark.parametrize("standing", [Standing.PAUSED, Standing.PARKED])
    async def test_a_paused_or_parked_endpoint_gets_its_deliveries(
        self, scene: Scene, standing: Standing
    ) -> None:
        endpoint = await scene.add_endpoint(standing=standing)
        delivery = await scene.delivery(await scene.add(), endpoint)
        assert (delivery.state, delivery.reason) == (State.READY, Reason.NEW)

    async def test_a_deleted_endpoint_gets_nothing(self, scene: Scene) -> None:
        deleted_endpoint = await scene.add_endpoint()
        await scene.delete_endpoint(deleted_endpoint)
        message = await scene.add()
        assert [
            receiver.id for receiver, _ in await scene.store.read(AllDeliveriesOf(message.id))
        ] == [scene.endpoint.id]

    async def test_a_message_that_no_endpoint_wants_is_kept(self, scene: Scene) -> None:
        application = an_application()
        await scene.store.put(application)
        new = new_message(application)
        assert await scene.store.add([new]) == [Accepted(new.message)]
        assert await scene.store.get(Messages(application.id), new.message.id) == new.message
        assert await scene.store.read(AllDeliveriesOf(new.message.id)) == []

    async def test_an_event_id_is_given_once(self, scene: Scene) -> None:
        first = await scene.add(event_id="evt-1")
        (answer,) = await scene.store.add([new_message(scene.application, event_id="evt-1")])
        assert isinstance(answer, Conflict)
        assert (answer.kind, answer.key) == ("message", "evt-1")
        assert await scene.store.get(Messages(scene.application.id), "evt-1") == first
        assert len(await scene.due()) == 1

    async def test_of_two_messages_in_a_call_the_first_gets_their_event_id(
        self, scene: Scene
    ) -> None:
        new = [new_message(scene.application, event_id="evt-1") for _ in range(2)]
        first, second = await scene.store.add(new)
        assert first == Accepted(new[0].message)
        assert isinstance(second, Conflict)
        assert [due.message for due in await scene.due()] == [new[0].message.id]

    async def test_each_application_has_its_own_event_ids(self, scene: Scene) -> None:
        await scene.add(event_id="evt-1")
        application = an_application()
        await scene.store.put(application)
        new = new_message(application, event_id="evt-1")
        assert await scene.store.add([new]) == [Accepted(new.message)]

    async def test_a_full_backlog_turns_messages_away_until_it_shrinks(self, store: Store) -> None:
        scene = await Scene.set_up(store)
        application = an_application(most_waiting=2)
        await store.put(application)
        endpoint = await store.put(an_endpoint(application))
        accepted = await _add_until_full(store, application.id)
        assert accepted >= 2, "fewer messages were accepted than may wait"
        assert (await scene.row(endpoint)).waiting == accepted
        due = await scene.due(lane=endpoint.lane)
        assert await scene.settle(*map(delivered, due)) == [True] * accepted
        await _add_until_accepted(store, application.id)
        assert (await scene.row(endpoint)).waiting == 1

    async def test_a_full_backlog_is_one_application_s_own(self, scene: Scene) -> None:
        application_at_limit = an_application(most_waiting=0)
        await scene.store.put(application_at_limit)
        new = [new_message(application_at_limit), new_message(scene.application)]
        first, second = await scene.store.add(new)
        assert isinstance(first, BacklogFull)
        assert (first.application, first.allowed) == (application_at_limit.id, 0)
        assert second == Accepted(new[1].message)
        with pytest.raises(NotFound):
            await scene.store.get(Messages(application_at_limit.id), new[0].message.id)

    async def test_an_expunged_payload_is_gone_for_good(self, scene: Scene) -> None:
        message = await scene.add(payload=b"secret", deliver_at=NOON + 5)
        await scene.store.expunge(Messages(scene.application.id), message.id)
        assert (await scene.store.get(Messages(scene.application.id), message.id)).payload is None
        (due,) = await scene.due(Stream.WAITING, now=NOON + 5)
        assert (due.message, due.payload) == (message.id, None)

    async def test_a_message_of_another_application_cannot_be_expunged(self, scene: Scene) -> None:
        message = await scene.add()
        with pytest.raises(NotFound):
            await scene.store.expunge(Messages("app_other"), message.id)
        assert await scene.store.get(Messages(scene.application.id), message.id) == message


async def _add_until_full(store: Store, application: str) -> int:
    """Return how many were accepted: a store may count waiting deliveries once a second or so."""
    accepted = 0
    async with asyncio.timeout(10):
        while True:
            (answer,) = await store.add([new_message(application)])
            if isinstance(answer, BacklogFull):
                return accepted
            assert isinstance(answer, Accepted), answer
            accepted += 1
            await asyncio.sleep(0.05 if accepted > 1 else 0)


async def _add_until_accepted(store: Store, application: str) -> Message:
    """Return the first message that was accepted."""
    async with asyncio.timeout(10):
        while True:
            (answer,) = await store.add([new_message(application)])
            if isinstance(answer, Accepted):
                return answer.message
            await asyncio.sleep(0.05)
