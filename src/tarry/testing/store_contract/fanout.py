"""Fan-out: which endpoints get a message, and in which order each of them gets its messages."""

from msgspec.structs import replace

from tarry.service.model.delivery import State
from tarry.service.model.endpoint import Standing
from tarry.service.store.kinds import AllDeliveriesOf, Endpoints
from tarry.testing.samples import NOON, a_message, an_application, an_endpoint, new_message
from tarry.testing.store_contract.scene import Scene
from tarry.testing.store_contract.topic import Topic


class FanoutContract(Topic):
    """One message, many endpoints."""

    async def test_every_endpoint_gets_a_delivery_of_its_own(self, scene: Scene) -> None:
        second = await scene.add_endpoint()
        assert second.lane != scene.lane
        message = await scene.add()
        deliveries = await scene.store.read(AllDeliveriesOf(message.id))
        assert [(receiver, delivery.lane) for receiver, delivery in deliveries] == [
            (scene.endpoint, scene.lane),
            (second, second.lane),
        ]

    async def test_endpoints_choose_by_event_type(self, scene: Scene) -> None:
        paid = await scene.add_endpoint(event_types=("invoice.paid", "invoice.void"))
        without_types = await scene.add_endpoint(event_types=())
        assert await _receiving_endpoints(scene, event_type="invoice.paid") == [
            scene.endpoint.id,
            paid.id,
        ]
        assert await _receiving_endpoints(scene, event_type="invoice") == [scene.endpoint.id]
        assert (await scene.row(without_types)).added == 0

    async def test_endpoints_choose_by_channel(self, scene: Scene) -> None:
        european = await scene.add_endpoint(channels=("eu", "uk"))
        assert await _receiving_endpoints(scene, channels=("us", "uk")) == [
            scene.endpoint.id,
            european.id,
        ]
        assert await _receiving_endpoints(scene, channels=("us",)) == [scene.endpoint.id]
        assert await _receiving_endpoints(scene, channels=()) == [scene.endpoint.id]

    async def test_a_message_may_be_for_one_endpoint_only(self, scene: Scene) -> None:
        picky = await scene.add_endpoint(event_types=("invoice.void",), channels=("eu",))
        new = new_message(scene.application, event_type="invoice.paid")
        await scene.store.add([replace(new, only=picky.id)])
        deliveries = await scene.store.read(AllDeliveriesOf(new.message.id))
        assert [receiver.id for receiver, _ in deliveries] == [picky.id]
        assert [due.message for due in await scene.due(lane=picky.lane)] == [new.message.id]
        await scene.store.delete(Endpoints(scene.application.id), picky.id, now=NOON)
        late = new_message(scene.application)
        await scene.store.add([replace(late, only=picky.id)])
        assert await scene.store.read(AllDeliveriesOf(late.message.id)) == []

    async def test_other_applications_get_nothing(self, scene: Scene) -> None:
        other = an_application()
        await scene.store.put(other)
        other_endpoint = await scene.store.put(an_endpoint(other))
        await scene.add()
        assert (await scene.row(other_endpoint)).added == 0

    async def test_a_lane_counts_only_its_own_deliveries(self, scene: Scene) -> None:
        paid = await scene.add_endpoint(event_types=("invoice.paid",))
        types = ["invoice.paid", "invoice.void", "invoice.paid", "invoice.void", "invoice.paid"]
        batch = [new_message(scene.application, event_type=event_type) for event_type in types]
        await scene.store.add(batch)
        paid_ids = [new.message.id for new in batch if new.message.event_type == "invoice.paid"]
        due = await scene.due(lane=paid.lane)
        assert [(delivery.seq, delivery.message) for delivery in due] == list(
            zip((1, 2, 3), paid_ids, strict=True)
        )
        assert [due.seq for due in await scene.due()] == [1, 2, 3, 4, 5]

    async def test_the_order_is_that_of_adding_not_of_ids_or_times(self, scene: Scene) -> None:
        late, early = a_message(scene.application), a_message(scene.application)
        second = await scene.add(id=early.id, accepted_at=NOON + 5)
        first = await scene.add(id=late.id, accepted_at=NOON - 5)
        assert [due.message for due in await scene.due()] == [second.id, first.id]

    async def test_a_new_endpoint_gets_new_messages_only(self, scene: Scene) -> None:
        await scene.add()
        late = await scene.add_endpoint()
        message = await scene.add()
        assert [due.message for due in await scene.due(lane=late.lane)] == [message.id]

    async def test_an_edit_counts_from_the_next_message_on(self, scene: Scene) -> None:
        before = await scene.add(event_type="a")
        await scene.store.put(replace(scene.endpoint, event_types=("b",)))
        await scene.add(event_type="a")
        after = await scene.add(event_type="b")
        assert [due.message for due in await scene.due()] == [before.id, after.id]

    async def test_a_lane_of_a_disabled_endpoint_counts_on(self, scene: Scene) -> None:
        messages = []
        for standing in (Standing.ENABLED, Standing.DISABLED, Standing.ENABLED):
            await scene.store.put(replace(scene.endpoint, standing=standing))
            messages.append(await scene.add())
        deliveries = [await scene.delivery(message) for message in messages]
        assert [delivery.seq for delivery in deliveries] == [1, 2, 3]
        assert [delivery.state for delivery in deliveries] == [
            State.READY,
            State.SKIPPED,
            State.READY,
        ]


async def _receiving_endpoints(scene: Scene, **values: object) -> list[str]:
    """Return the ids of the endpoints that get such a message."""
    message = await scene.add(**values)
    return [receiver.id for receiver, _ in await scene.store.read(AllDeliveriesOf(message.id))]
