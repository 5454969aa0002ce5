"""An endpoint's deliveries, page by page, in the order of its lane."""

from msgspec.structs import replace

from tarry.service.model.delivery import LIVE, Delivery, State
from tarry.service.model.ids import MESSAGE, made_at
from tarry.service.model.listing import Cut, DeliveryFilter, MessageFilter
from tarry.service.model.message import Message
from tarry.service.model.task import Work
from tarry.service.store.contract import Retention
from tarry.service.store.kinds import DeliveriesTo, Endpoints
from tarry.testing.samples import (
    NOON,
    a_task,
    delivered,
    failed,
    new_id,
    postponed,
    put_back,
)
from tarry.testing.store_contract.pages import ALL, check_gone, check_pages
from tarry.testing.store_contract.scene import Scene
from tarry.testing.store_contract.topic import Topic


class DeliveriesContract(Topic):
    """An endpoint's deliveries."""

    async def test_deliveries_are_listed_with_their_messages(self, scene: Scene) -> None:
        store = scene.store
        other_endpoint = await scene.add_endpoint(channels=("eu",))
        endpoint_messages = [await scene.add() for _ in range(3)]
        foreign = await scene.add(channels=("eu",))
        endpoint_messages += [foreign, *[await scene.add() for _ in range(2)]]
        expected = [(message, await scene.delivery(message)) for message in endpoint_messages]

        async def read_page(cut: Cut) -> list[tuple[Message, Delivery]]:
            return (await store.page(DeliveriesTo(scene.endpoint, DeliveryFilter()), cut)).entries

        async def read_elsewhere(cut: Cut) -> list[tuple[Message, Delivery]]:
            return (await store.page(DeliveriesTo(other_endpoint, DeliveryFilter()), cut)).entries

        await check_pages(read_page, expected, lambda pair: pair[0].id)
        only = [(foreign, await scene.delivery(foreign, other_endpoint))]
        await check_pages(read_elsewhere, only, lambda pair: pair[0].id)
        await check_gone(read_elsewhere, only, 0, endpoint_messages[2].id)
        await check_gone(read_elsewhere, only, 1, endpoint_messages[4].id)

    async def test_a_mark_whose_delivery_was_swept_is_taken_by_its_time(self, scene: Scene) -> None:
        store = scene.store
        first = await scene.add(accepted_at=NOON - 100)
        remaining = [await scene.add() for _ in range(3)]
        swept_message = await scene.add(accepted_at=NOON - 100)
        remaining += [await scene.add() for _ in range(3)]
        await scene.settle(*map(delivered, await scene.due()))
        assert await store.sweep(Retention(messages_before=NOON - 50), limit=100)
        expected = [(message, await scene.delivery(message)) for message in remaining]

        async def read_page(cut: Cut) -> list[tuple[Message, Delivery]]:
            return (await store.page(DeliveriesTo(scene.endpoint, DeliveryFilter()), cut)).entries

        await check_pages(read_page, expected, lambda pair: pair[0].id)
        await check_gone(read_page, expected, 0, first.id)
        await check_gone(read_page, expected, 3, swept_message.id)
        await check_gone(read_page, expected, len(expected), new_id(MESSAGE))

    async def test_deliveries_come_in_the_order_of_their_lane(self, scene: Scene) -> None:
        store = scene.store
        later_endpoint = await scene.add_endpoint(channels=("eu",))
        before = await scene.add()
        after = await scene.add(channels=("eu",))
        await store.change(
            Endpoints(later_endpoint.application),
            later_endpoint.id,
            lambda stored: replace(stored, channels=None),
        )
        task = a_task(later_endpoint, Work.REPLAY_MISSING)
        await store.add_task(task)
        await store.advance(task, now=NOON, limit=10, lease=scene.lease)

        async def read_page(cut: Cut) -> list[tuple[Message, Delivery]]:
            return (await store.page(DeliveriesTo(later_endpoint, DeliveryFilter()), cut)).entries

        entries = await read_page(ALL)
        assert [message for message, _ in entries] == [after, before]
        await check_pages(read_page, entries, lambda pair: pair[0].id)
        delivery_filter = DeliveryFilter(message=MessageFilter(after=made_at(after.id)))
        assert (
            await store.page(DeliveriesTo(later_endpoint, delivery_filter), ALL)
        ).entries == entries[:1]
        delivery_filter = DeliveryFilter(message=MessageFilter(before=made_at(after.id)))
        assert (
            await store.page(DeliveriesTo(later_endpoint, delivery_filter), ALL)
        ).entries == entries[1:]

    async def test_deliveries_are_chosen_by_state_and_whether_they_were_tried(
        self, scene: Scene
    ) -> None:
        messages = [await scene.add(tags=(str(index % 2),)) for index in range(6)]
        due = await scene.due()
        await scene.settle(
            delivered(due[0]),
            failed(due[1]),
            postponed(due[2], NOON + 60),
            put_back(due[3]),
        )
        await scene.store.cancel(scene.application.id, messages[4].id, now=NOON)
        for states, tried, positions in [
            ({State.DELIVERED}, None, [0]),
            ({State.FAILED}, None, [1]),
            ({State.WAITING}, None, [2]),
            ({State.READY}, None, [3, 5]),
            ({State.CANCELLED}, None, [4]),
            (LIVE, None, [2, 3, 5]),
            (LIVE, True, [2, 3]),
            (LIVE, False, [5]),
            ({State.READY, State.FAILED}, None, [1, 3, 5]),
            ({State.FAILED, State.CANCELLED}, None, [1, 4]),
            ({State.DELIVERED, State.READY}, True, [0, 3]),
            (set(), None, []),
            (None, True, [0, 1, 2, 3]),
            (None, False, [4, 5]),
        ]:
            chosen = None if states is None else frozenset(states)
            delivery_filter = DeliveryFilter(states=chosen, tried=tried)
            await self._check_deliveries(
                scene, delivery_filter, [messages[index] for index in positions]
            )
            tagged = replace(delivery_filter, message=MessageFilter(tag="1"))
            odd_messages = [messages[index] for index in positions if index % 2]
            await self._check_deliveries(scene, tagged, odd_messages)

    async def test_deliveries_are_chosen_by_their_messages(self, scene: Scene) -> None:
        first = await scene.add(channels=("eu",), tags=("big",), event_type="a")
        second = await scene.add(channels=("us",), tags=("big",), event_type="b")
        third = await scene.add(channels=("eu",), tags=("small",), event_type="b")
        for message_filter, expected in [
            (MessageFilter(channel="eu"), [first, third]),
            (MessageFilter(tag="big"), [first, second]),
            (MessageFilter(event_types=("b", "c")), [second, third]),
            (MessageFilter(after=made_at(second.id)), [second, third]),
            (MessageFilter(before=made_at(third.id)), [first, second]),
            (MessageFilter(channel="eu", event_types=("b",), after=made_at(second.id)), [third]),
            (MessageFilter(channel="eu", tag="big", before=made_at(first.id)), []),
        ]:
            await self._check_deliveries(scene, DeliveryFilter(message=message_filter), expected)

    async def _check_deliveries(
        self, scene: Scene, delivery_filter: DeliveryFilter, messages: list[Message]
    ) -> None:
        """Check that pages with this filter list the deliveries of exactly these messages."""

        async def read_page(cut: Cut) -> list[tuple[Message, Delivery]]:
            return (
                await scene.store.page(DeliveriesTo(scene.endpoint, delivery_filter), cut)
            ).entries

        pairs = [(message, await scene.delivery(message)) for message in messages]
        await check_pages(read_page, pairs, lambda pair: pair[0].id)
