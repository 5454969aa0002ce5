"""Expiry: deliveries that waited too long end, oldest first."""

from tarry.service.model.delivery import Reason, State
from tarry.service.model.lane import Stream
from tarry.service.model.message import Message
from tarry.service.model.task import Work
from tarry.service.store.kinds import AllAttemptsOf
from tarry.testing.samples import NOON, a_task, delivered, failed, postponed
from tarry.testing.store_contract.scene import LEASE_LENGTH, Scene
from tarry.testing.store_contract.topic import Later, Topic


class ExpireContract(Topic):
    """Only age ends a delivery here."""

    async def test_deliveries_that_are_too_old_fail(self, scene: Scene) -> None:
        old = await scene.add(accepted_at=NOON - 1)
        at_the_limit = await scene.add(accepted_at=NOON)
        assert await _expire(scene) == 1
        delivery = await scene.delivery(old)
        assert (delivery.state, delivery.reason) == (State.FAILED, Reason.AGED)
        assert (delivery.ended_at, delivery.tries) == (NOON + 99, 0)
        assert (await scene.delivery(at_the_limit)).state is State.READY
        assert await scene.store.read(AllAttemptsOf(old.id)) == []
        assert await _expire(scene) == 0

    async def test_deliveries_that_wait_for_a_retry_age_too(self, scene: Scene) -> None:
        message = await scene.add(accepted_at=NOON - 1)
        (due,) = await scene.due()
        await scene.settle(postponed(due, NOON + 1000, memory=3.5))
        assert await _expire(scene) == 1
        delivery = await scene.delivery(message)
        assert (delivery.state, delivery.due_at) == (State.FAILED, None)
        assert (delivery.attempts, delivery.tries, delivery.memory) == (1, 1, 3.5)
        assert (await scene.fetch(Stream.WAITING)).next_due_at == {}

    async def test_scheduled_deliveries_age_from_their_due_time_on(self, scene: Scene) -> None:
        early = await scene.add(accepted_at=NOON - 200, deliver_at=NOON - 1)
        late = await scene.add(accepted_at=NOON - 200, deliver_at=NOON)
        assert (await scene.delivery(late)).accepted_at == NOON
        assert await _expire(scene) == 1
        assert (await scene.delivery(early)).state is State.FAILED
        assert (await scene.delivery(late)).state is State.WAITING

    async def test_the_oldest_go_first_and_no_more_than_asked_for(self, scene: Scene) -> None:
        messages = [await scene.add(accepted_at=NOON - age) for age in (1, 3, 2, 3)]
        assert await _expire(scene, limit=1) == 1
        assert await _failed(scene, messages) == [1]
        assert await _expire(scene, limit=2) == 2
        assert await _failed(scene, messages) == [1, 2, 3]
        assert await _expire(scene, limit=2) == 1

    async def test_deliveries_that_ended_before_do_not_change(self, scene: Scene) -> None:
        message = await scene.add(accepted_at=NOON - 1)
        await scene.settle(*map(delivered, await scene.due()))
        assert await _expire(scene) == 0
        assert (await scene.delivery(message)).state is State.DELIVERED

    async def test_other_lanes_are_left_alone(self, scene: Scene) -> None:
        second = await scene.add_endpoint()
        message = await scene.add(accepted_at=NOON - 1)
        assert await _expire(scene) == 1
        assert (await scene.delivery(message, second)).state is State.READY

    async def test_a_delivery_that_expires_in_flight_is_not_settled(self, scene: Scene) -> None:
        await scene.add(accepted_at=NOON - 1)
        (due,) = await scene.due()
        await _expire(scene)
        assert await scene.settle(delivered(due)) == [False]

    async def test_the_age_of_a_recovered_delivery_starts_at_the_recovery(
        self, scene: Scene
    ) -> None:
        message = await scene.add(accepted_at=NOON - 1)
        await scene.settle(*map(failed, await scene.due()))
        task = a_task(scene.endpoint, Work.RECOVER)
        await scene.store.add_task(task)
        await scene.store.advance(task, now=NOON + 50, limit=9, lease=scene.lease)
        assert await _expire(scene) == 0
        assert (await scene.delivery(message)).state is State.READY

    async def test_a_stale_lease_ends_nothing(self, scene: Scene, later: Later) -> None:
        await scene.add(accepted_at=NOON - 1)
        await later(LEASE_LENGTH + 1)
        await scene.store.lease("worker-2", most=len(scene.leases), length=LEASE_LENGTH)
        assert await _expire(scene) == 0
        assert len(await scene.due()) == 1

    async def test_a_lease_of_another_shard_ends_nothing(self, scene: Scene) -> None:
        await scene.add(accepted_at=NOON - 1)
        other = next(lease for lease in scene.leases if lease.shard != scene.application.shard)
        ended = await scene.store.expire(
            scene.lane, accepted_before=NOON, now=NOON + 99, limit=9, lease=other
        )
        assert ended == 0

    async def test_expiry_wakes_no_lane(self, scene: Scene) -> None:
        await scene.add(accepted_at=NOON - 1)
        await _expire(scene)
        assert await scene.store.woken(scene.leases) == []


async def _expire(scene: Scene, *, now: float = NOON + 99, limit: int = 100) -> int:
    """End deliveries accepted before noon; return their number."""
    return await scene.store.expire(
        scene.lane, accepted_before=NOON, now=now, limit=limit, lease=scene.lease
    )


async def _failed(scene: Scene, messages: list[Message]) -> list[int]:
    """Return the positions of the messages that have failed."""
    deliveries = [await scene.delivery(message) for message in messages]
    return [index for index, delivery in enumerate(deliveries) if delivery.state is State.FAILED]
