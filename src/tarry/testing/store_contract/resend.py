"""Resends: one more attempt, sent first. It changes only deliveries that failed or were skipped."""

import pytest
from msgspec.structs import replace

from tarry.errors import NotFound
from tarry.service.model.attempt import Attempt, Resent, Trigger
from tarry.service.model.delivery import Delivery, Reason, State
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import Due, Stream
from tarry.service.model.listing import DeliveryFilter
from tarry.service.model.message import Message
from tarry.service.model.task import Work
from tarry.service.store.contract import Retention
from tarry.service.store.kinds import AllAttemptsOf, AllDeliveriesOf, DeliveriesTo
from tarry.testing.samples import NOON, a_task, an_attempt, delivered, failed
from tarry.testing.store_contract.scene import EVERYTHING, Scene
from tarry.testing.store_contract.topic import Topic


class ResendContract(Topic):
    """Attempts that were requested by hand."""

    async def test_a_resend_is_fetched_by_itself(self, scene: Scene) -> None:
        message = await scene.add(accepted_at=NOON - 7)
        await scene.settle(*map(failed, await scene.due()))
        await scene.store.resend(scene.endpoint, message.id, resend="r1")
        due = Due(
            lane=scene.lane,
            seq=0,
            stream=Stream.RESEND,
            message=message.id,
            event_type=message.event_type,
            payload=message.payload,
            accepted_at=NOON - 7,
            resend="r1",
        )
        assert await scene.due(Stream.RESEND) == [due]
        assert await scene.due() == []

    async def test_resends_come_in_the_order_of_asking(self, scene: Scene) -> None:
        messages = [await scene.add() for _ in range(3)]
        for name, message in zip(("r1", "r2", "r3"), reversed(messages), strict=True):
            await scene.store.resend(scene.endpoint, message.id, resend=name)
        due = await scene.due(Stream.RESEND)
        assert [delivery.resend for delivery in due] == ["r1", "r2", "r3"]
        assert [delivery.message for delivery in due] == [
            message.id for message in reversed(messages)
        ]
        assert [due.resend for due in await scene.due(Stream.RESEND, limit=2)] == ["r1", "r2"]

    async def test_a_message_may_be_resent_more_than_once(self, scene: Scene) -> None:
        message = await scene.add()
        for name in ("r1", "r2"):
            await scene.store.resend(scene.endpoint, message.id, resend=name)
        assert [due.message for due in await scene.due(Stream.RESEND)] == [message.id] * 2

    async def test_an_accepted_resend_turns_a_failed_delivery_into_a_delivered_one(
        self, scene: Scene
    ) -> None:
        message, other = await scene.add(), await scene.add()
        await scene.settle(*map(failed, await scene.due()))
        before, row = await scene.delivery(message), await scene.row()
        (earlier,) = await scene.store.read(AllAttemptsOf(message.id))
        await scene.store.resend(scene.endpoint, message.id, resend="r1")
        (due,) = await scene.due(Stream.RESEND)
        attempt = an_attempt(due, trigger=Trigger.MANUAL, status=200, kind=None)
        assert await scene.settle(Resent(scene.lane, "r1", attempt, scene.lease.epoch)) == [True]
        arrived = replace(
            before, state=State.DELIVERED, reason=Reason.DELIVERED, ended_at=attempt.at
        )
        assert await scene.delivery(message) == arrived
        assert (await scene.delivery(other)).state is State.FAILED
        assert (await scene.row()).ended == row.ended
        assert await scene.store.read(AllAttemptsOf(message.id)) == [earlier, attempt]
        assert await scene.due(Stream.RESEND) == []

    @pytest.mark.parametrize("accepted", [True, False])
    async def test_an_accepted_resend_turns_a_skipped_delivery_into_a_delivered_one(
        self, scene: Scene, *, accepted: bool
    ) -> None:
        disabled = await scene.add_endpoint(standing=Standing.DISABLED)
        message = await scene.add()
        before, row = await scene.delivery(message, disabled), await scene.row(disabled)
        await scene.store.resend(disabled, message.id, resend="r1")
        (due,) = await scene.due(Stream.RESEND, lane=disabled.lane)
        status, kind = (200, None) if accepted else (500, "transient")
        attempt = an_attempt(due, trigger=Trigger.MANUAL, status=status, kind=kind)
        assert await scene.settle(Resent(disabled.lane, "r1", attempt, scene.lease.epoch)) == [True]
        arrived = replace(
            before, state=State.DELIVERED, reason=Reason.DELIVERED, ended_at=attempt.at
        )
        assert await scene.delivery(message, disabled) == (arrived if accepted else before)
        assert (await scene.row(disabled)).ended == row.ended

    async def test_a_resend_that_was_not_taken_leaves_an_attempt_and_nothing_else(
        self, scene: Scene
    ) -> None:
        message = await scene.add()
        await scene.settle(*map(failed, await scene.due()))
        before = await scene.delivery(message)
        await scene.store.resend(scene.endpoint, message.id, resend="r1")
        (due,) = await scene.due(Stream.RESEND)
        attempt = an_attempt(due, trigger=Trigger.MANUAL, status=500, kind="transient")
        assert await scene.settle(Resent(scene.lane, "r1", attempt, scene.lease.epoch)) == [True]
        assert await scene.delivery(message) == before
        assert (await scene.store.read(AllAttemptsOf(message.id)))[1:] == [attempt]

    async def test_a_live_delivery_goes_on_whatever_the_outcome_of_a_resend(
        self, scene: Scene
    ) -> None:
        message = await scene.add()
        before = await scene.delivery(message)
        await scene.store.resend(scene.endpoint, message.id, resend="r1")
        (due,) = await scene.due(Stream.RESEND)
        attempt = an_attempt(due, trigger=Trigger.MANUAL, status=200, kind=None)
        assert await scene.settle(Resent(scene.lane, "r1", attempt, scene.lease.epoch)) == [True]
        assert await scene.delivery(message) == before

    async def test_a_resend_is_made_once(self, scene: Scene) -> None:
        message = await scene.add()
        await scene.store.resend(scene.endpoint, message.id, resend="r1")
        (due,) = await scene.due(Stream.RESEND)
        assert await scene.settle(Resent(scene.lane, "r1", an_attempt(due), scene.lease.epoch)) == [
            True
        ]
        assert await scene.settle(Resent(scene.lane, "r1", an_attempt(due), scene.lease.epoch)) == [
            False
        ]
        assert len(await scene.store.read(AllAttemptsOf(message.id))) == 1

    async def test_a_resend_and_the_delivery_do_not_meet(self, scene: Scene) -> None:
        message = await scene.add()
        await scene.store.resend(scene.endpoint, message.id, resend="r1")
        (due,), (again,) = await scene.due(), await scene.due(Stream.RESEND)
        resent = Resent(scene.lane, "r1", an_attempt(again), scene.lease.epoch)
        assert await scene.settle(resent, delivered(due)) == [True, True]
        assert (await scene.delivery(message)).tries == 1

    @pytest.mark.parametrize("accepted", [True, False])
    async def test_an_endpoint_that_never_had_a_message_has_a_delivery_once_it_was_resent(
        self, scene: Scene, *, accepted: bool
    ) -> None:
        message, other = await scene.add(), await scene.add()
        later_endpoint = await scene.add_endpoint()
        await scene.add()
        (due,) = await self._requested(scene, later_endpoint, message)
        attempt = _an_attempt(due, accepted=accepted, at=NOON + 5)
        resent = Resent(later_endpoint.lane, "r1", attempt, scene.lease.epoch, Reason.REFUSED)
        assert await scene.settle(resent) == [True]
        assert await scene.attempts_to(later_endpoint) == [attempt]
        assert await scene.delivery(message, later_endpoint) == Delivery(
            lane=later_endpoint.lane,
            seq=2,
            message=message.id,
            state=State.DELIVERED if accepted else State.FAILED,
            reason=Reason.DELIVERED if accepted else Reason.REFUSED,
            tries=1,
            accepted_at=NOON + 5,
            ended_at=NOON + 5,
        )
        row = await scene.row(later_endpoint)
        assert (row.added, row.ended) == (2, 1)
        assert (await scene.delivery(message)).state is State.READY
        assert len(await scene.store.read(AllDeliveriesOf(other.id))) == 1
        await scene.check_counts()

    async def test_a_delivery_added_by_a_resend_is_in_every_list(self, scene: Scene) -> None:
        message = await scene.add()
        later_endpoint = await scene.add_endpoint()
        (due,) = await self._requested(scene, later_endpoint, message)
        await scene.settle(
            Resent(later_endpoint.lane, "r1", _an_attempt(due, accepted=True), scene.lease.epoch)
        )
        tried = DeliveryFilter(tried=True, states=frozenset({State.DELIVERED}))
        page = await scene.store.page(DeliveriesTo(later_endpoint, tried), EVERYTHING)
        assert [listed.id for listed, _ in page.entries] == [message.id]
        assert await scene.store.counts(later_endpoint.lane) == {State.DELIVERED: 1}
        assert [
            receiver.id for receiver, _ in await scene.store.read(AllDeliveriesOf(message.id))
        ] == [
            scene.endpoint.id,
            later_endpoint.id,
        ]

    @pytest.mark.parametrize("first", [True, False])
    @pytest.mark.parametrize("second", [True, False])
    @pytest.mark.parametrize("together", [True, False])
    async def test_two_resends_leave_one_delivery_that_arrived_if_one_was_taken(
        self, scene: Scene, *, first: bool, second: bool, together: bool
    ) -> None:
        message = await scene.add()
        later_endpoint = await scene.add_endpoint()
        await scene.store.resend(later_endpoint, message.id, resend="r2")
        dues = await self._requested(scene, later_endpoint, message)
        resends = [
            Resent(
                later_endpoint.lane,
                due.resend,
                _an_attempt(due, accepted=accepted, at=NOON + at),
                scene.lease.epoch,
            )
            for due, accepted, at in zip(dues, (first, second), (1, 2), strict=True)
        ]
        batches = [resends] if together else [[resent] for resent in resends]
        assert [await scene.settle(*batch) for batch in batches] == [
            [True] * len(batch) for batch in batches
        ]
        delivery = await scene.delivery(message, later_endpoint)
        assert (delivery.seq, delivery.tries, delivery.accepted_at) == (1, 1, NOON + 1)
        assert delivery.state is (State.DELIVERED if first or second else State.FAILED)
        assert delivery.ended_at == NOON + (2 if second and not first else 1)
        assert len(await scene.attempts_to(later_endpoint)) == len(resends)
        row = await scene.row(later_endpoint)
        assert (row.added, row.ended) == (1, 1)

    async def test_one_call_adds_deliveries_of_resends_and_settles_others(
        self, scene: Scene
    ) -> None:
        messages = [await scene.add() for _ in range(3)]
        later_endpoint = [await scene.add_endpoint() for _ in range(2)]
        resent = []
        for endpoint in later_endpoint:
            for number, message in enumerate(messages):
                await scene.store.resend(endpoint, message.id, resend=f"r{number}")
            dues = await scene.due(Stream.RESEND, lane=endpoint.lane)
            resent += [
                Resent(
                    due.lane,
                    due.resend,
                    _an_attempt(due, accepted=due.resend != "r1"),
                    scene.lease.epoch,
                )
                for due in dues
            ]
        settled = [delivered(due) for due in await scene.due()]
        assert await scene.settle(*settled, *resent, resent[0]) == [True] * 9 + [False]
        for endpoint in later_endpoint:
            deliveries = [await scene.delivery(message, endpoint) for message in messages]
            assert [delivery.seq for delivery in deliveries] == [1, 2, 3]
            assert [delivery.state for delivery in deliveries] == [
                State.DELIVERED,
                State.FAILED,
                State.DELIVERED,
            ]
        await scene.check_counts()

    async def test_a_failed_delivery_added_by_a_resend_is_recovered(self, scene: Scene) -> None:
        message = await scene.add()
        later_endpoint = await scene.add_endpoint()
        (due,) = await self._requested(scene, later_endpoint, message)
        await scene.settle(
            Resent(later_endpoint.lane, "r1", _an_attempt(due, accepted=False), scene.lease.epoch)
        )
        task = a_task(later_endpoint, Work.RECOVER)
        await scene.store.add_task(task)
        done = await scene.store.advance(task, now=NOON + 9, limit=9, lease=scene.lease)
        assert done.done == 1
        (due,) = await scene.due(lane=later_endpoint.lane)
        assert (due.message, due.tries, due.attempts) == (message.id, 1, 0)
        await scene.check_counts()

    async def test_a_delivery_added_by_a_resend_is_not_missing_any_more(self, scene: Scene) -> None:
        message = await scene.add()
        later_endpoint = await scene.add_endpoint()
        (due,) = await self._requested(scene, later_endpoint, message)
        await scene.settle(
            Resent(later_endpoint.lane, "r1", _an_attempt(due, accepted=True), scene.lease.epoch)
        )
        task = a_task(later_endpoint, Work.REPLAY_MISSING)
        await scene.store.add_task(task)
        done = await scene.store.advance(task, now=NOON + 9, limit=9, lease=scene.lease)
        assert done.done == 0
        assert await scene.due(lane=later_endpoint.lane) == []

    async def test_a_stale_lease_adds_nothing(self, scene: Scene) -> None:
        message = await scene.add()
        later_endpoint = await scene.add_endpoint()
        (due,) = await self._requested(scene, later_endpoint, message)
        resent = Resent(
            later_endpoint.lane, "r1", _an_attempt(due, accepted=True), scene.lease.epoch
        )
        assert await scene.settle(resent, leases=()) == [False]
        assert len(await scene.store.read(AllDeliveriesOf(message.id))) == 1

    async def test_a_delivery_added_by_a_resend_wakes_no_lane(self, scene: Scene) -> None:
        message = await scene.add()
        later_endpoint = await scene.add_endpoint()
        (due,) = await self._requested(scene, later_endpoint, message)
        assert await scene.store.woken(scene.leases) == [later_endpoint.lane]
        await scene.settle(
            Resent(later_endpoint.lane, "r1", _an_attempt(due, accepted=False), scene.lease.epoch)
        )
        assert await scene.store.woken(scene.leases) == []
        assert await scene.store.rest({later_endpoint.lane: 0}, scene.leases) == set()
        assert await scene.store.rest({later_endpoint.lane: 1}, scene.leases) == {
            later_endpoint.lane
        }

    async def test_a_delivery_added_by_a_resend_is_swept_with_its_message(
        self, scene: Scene
    ) -> None:
        message = await scene.add()
        later_endpoint = await scene.add_endpoint()
        await scene.settle(*map(delivered, await scene.due()))
        (due,) = await self._requested(scene, later_endpoint, message)
        await scene.settle(
            Resent(later_endpoint.lane, "r1", _an_attempt(due, accepted=False), scene.lease.epoch)
        )
        while await scene.store.sweep(Retention(messages_before=NOON + 1), limit=100):
            pass
        assert await scene.store.counts(later_endpoint.lane) == {}
        assert await scene.store.read(AllAttemptsOf(message.id)) == []

    async def test_a_resend_is_applied_after_a_failure_in_the_same_call(self, scene: Scene) -> None:
        message = await scene.add()
        (again,) = await self._requested(scene, scene.endpoint, message)
        resent = Resent(scene.lane, "r1", _an_attempt(again, accepted=True), scene.lease.epoch)
        assert await scene.settle(resent, *map(failed, await scene.due())) == [True, True]
        assert (await scene.delivery(message)).state is State.DELIVERED

    async def test_a_message_that_does_not_exist_cannot_be_resent(self, scene: Scene) -> None:
        with pytest.raises(NotFound) as caught:
            await scene.store.resend(scene.endpoint, "msg_none", resend="r1")
        assert (caught.value.kind, caught.value.id) == ("message", "msg_none")

    async def test_nothing_is_resent_to_a_deleted_endpoint(self, scene: Scene) -> None:
        message = await scene.add()
        await scene.delete_endpoint()
        with pytest.raises(NotFound) as caught:
            await scene.store.resend(scene.endpoint, message.id, resend="r1")
        assert (caught.value.kind, caught.value.id) == ("endpoint", scene.endpoint.id)
        assert await scene.due(Stream.RESEND) == []

    async def test_nothing_is_resent_to_an_unknown_endpoint(self, scene: Scene) -> None:
        """A failover can lose an endpoint. Its lane may be another endpoint's by then."""
        message = await scene.add()
        for lane in (scene.lane, scene.lane + 1000):
            lost = replace(scene.endpoint, id="ep_lost", lane=lane)
            with pytest.raises(NotFound) as caught:
                await scene.store.resend(lost, message.id, resend="r1")
            assert (caught.value.kind, caught.value.id) == ("endpoint", "ep_lost")
        assert await scene.due(Stream.RESEND) == []

    async def test_cancelling_a_message_keeps_its_resend(self, scene: Scene) -> None:
        message = await scene.add()
        await scene.store.resend(scene.endpoint, message.id, resend="r1")
        await scene.store.cancel(scene.application.id, message.id, now=NOON)
        assert [due.resend for due in await scene.due(Stream.RESEND)] == ["r1"]

    @staticmethod
    async def _requested(scene: Scene, endpoint: Endpoint, message: Message) -> list[Due]:
        """Request a resend; return the deliveries that can be sent then."""
        await scene.store.resend(endpoint, message.id, resend="r1")
        return await scene.due(Stream.RESEND, lane=endpoint.lane)


def _an_attempt(due: Due, *, accepted: bool, at: float = NOON) -> Attempt:
    status, kind = (200, None) if accepted else (422, "permanent")
    return an_attempt(due, trigger=Trigger.MANUAL, status=status, kind=kind, at=at)
