"""Settling: only the lane's owner saves the outcomes of deliveries, and each only once."""

import pytest
from msgspec.structs import replace

from tarry.service.model.attempt import Attempt, Resent, Trigger
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Change, Known, Lease, Stream
from tarry.service.store.kinds import AllAttemptsOf, Notices
from tarry.testing.samples import (
    NOON,
    a_message,
    a_notice,
    an_attempt,
    delivered,
    failed,
    new_message,
    postponed,
    put_back,
)
from tarry.testing.store_contract.scene import LEASE_LENGTH, Scene
from tarry.testing.store_contract.topic import Later, Topic

KNOWN = Known(
    pace=b'{"rate": 200}\x00',
    origin="https://hooks.example",
    accepted_at=NOON - 60,
    failing_since=NOON - 30.5,
    failures=7,
    warned=0.75,
)


class SettleContract(Topic):
    """One commit for deliveries, attempts and lanes; no change at all under a stale lease."""

    async def test_a_success_ends_a_delivery(self, scene: Scene) -> None:
        message = await scene.add()
        (due,) = await scene.due()
        settlement = delivered(due, ended_at=NOON + 1)
        assert await scene.settle(settlement) == [True]
        delivery = await scene.delivery(message)
        assert (delivery.state, delivery.reason) == (State.DELIVERED, Reason.DELIVERED)
        assert (delivery.attempts, delivery.tries, delivery.ended_at) == (1, 1, NOON + 1)
        assert await scene.store.read(AllAttemptsOf(message.id)) == [settlement.attempt]
        row = await scene.row()
        assert (row.added, row.ended, row.waiting) == (1, 1, 0)

    async def test_a_failure_makes_a_delivery_wait(self, scene: Scene) -> None:
        message = await scene.add()
        (due,) = await scene.due()
        assert await scene.settle(postponed(due, NOON + 30, memory=7.5)) == [True]
        delivery = await scene.delivery(message)
        assert (delivery.state, delivery.reason) == (State.WAITING, Reason.BACKOFF)
        assert (delivery.attempts, delivery.tries) == (1, 1)
        assert (delivery.due_at, delivery.memory, delivery.ended_at) == (NOON + 30, 7.5, None)
        assert (await scene.row()).waiting == 1

    async def test_an_attempt_is_kept_as_it_was_made(self, scene: Scene) -> None:
        await scene.add()
        (due,) = await scene.due()
        attempt = Attempt(
            id=an_attempt(due).id,
            lane=due.lane,
            message=due.message,
            number=1,
            at=NOON + 0.25,
            took=1.125,
            url="https://hooks.example/in?a=ü",
            status=503,
            kind="server error",
            detail="überlastet \U0001f40c",
            body=b"\x00\xff busy",
            trigger=Trigger.MANUAL,
            counted=False,
            policy="a1b2c3",
            now=NOON + 1.375,
            draw=0.123456789,
            decision="again in 30 s",
        )
        await scene.settle(postponed(due, NOON + 30, attempt=attempt))
        assert await scene.store.read(AllAttemptsOf(due.message)) == [attempt]
        assert await scene.attempts_to() == [attempt]

    async def test_without_an_attempt_tries_stay_as_they_are(self, scene: Scene) -> None:
        message = await scene.add()
        (due,) = await scene.due()
        expunged = failed(due, reason=Reason.EXPUNGED, attempts=0, attempt=None)
        assert await scene.settle(expunged) == [True]
        delivery = await scene.delivery(message)
        assert (delivery.state, delivery.reason) == (State.FAILED, Reason.EXPUNGED)
        assert (delivery.attempts, delivery.tries) == (0, 0)
        assert await scene.store.read(AllAttemptsOf(message.id)) == []

    async def test_each_settlement_has_its_own_answer(self, scene: Scene) -> None:
        await scene.store.add([new_message(scene.application) for _ in range(3)])
        first, second, third = await scene.due()
        answers = await scene.settle(
            delivered(first), replace(delivered(second), tries=4), failed(third)
        )
        assert answers == [True, False, True]
        assert [due.seq for due in await scene.due()] == [2]

    async def test_nothing_to_settle_is_no_harm(self, scene: Scene) -> None:
        assert await scene.settle() == []

    async def test_a_delivery_that_was_tried_meanwhile_is_not_settled(self, scene: Scene) -> None:
        message = await scene.add()
        (due,) = await scene.due()
        assert await scene.settle(put_back(due)) == [True]
        assert await scene.settle(delivered(due)) == [False], "its number of tries is outdated"
        delivery = await scene.delivery(message)
        assert (delivery.state, delivery.tries) == (State.READY, 1)
        assert len(await scene.store.read(AllAttemptsOf(message.id))) == 1
        (again,) = await scene.due()
        assert await scene.settle(delivered(again)) == [True]

    @pytest.mark.parametrize("tries", [0, 2])
    async def test_the_number_of_tries_must_be_the_very_one(self, scene: Scene, tries: int) -> None:
        await scene.add()
        (due,) = await scene.due()
        await scene.settle(put_back(due))
        (again,) = await scene.due()
        assert await scene.settle(delivered(again, tries=tries)) == [False]
        assert await scene.settle(delivered(again, tries=1)) == [True]

    async def test_a_settlement_of_a_lost_message_leaves_the_one_in_its_place_alone(
        self, scene: Scene
    ) -> None:
        lost = a_message(scene.application)  # accepted and sent before a failover, then lost
        message = await scene.add()
        (due,) = await scene.due()
        before = await scene.row()
        settlement = delivered(replace(due, message=lost.id))
        assert await scene.settle(settlement) == [False]
        assert await scene.due() == [due]
        assert await scene.row() == before
        assert await scene.store.read(AllAttemptsOf(lost.id)) == []
        assert await scene.store.read(AllAttemptsOf(message.id)) == []

    async def test_a_lost_message_leaves_no_attempt_at_a_delivery_that_ended(
        self, scene: Scene
    ) -> None:
        message = await scene.add()
        (due,) = await scene.due()
        await _end(scene, message.id, "cancelled")
        ended = await scene.delivery(message)
        lost = delivered(replace(due, message=a_message(scene.application).id))
        assert await scene.settle(lost) == [False]
        assert await scene.delivery(message) == ended
        assert await scene.attempts_to() == []

    async def test_of_two_messages_for_one_place_the_one_that_is_there_is_settled(
        self, scene: Scene
    ) -> None:
        message = await scene.add()
        (due,) = await scene.due()
        lost = replace(due, message=a_message(scene.application).id)
        assert await scene.settle(failed(lost), delivered(due)) == [False, True]
        assert (await scene.delivery(message)).state is State.DELIVERED

    async def test_a_delivery_that_has_ended_is_not_settled_again(self, scene: Scene) -> None:
        message = await scene.add()
        (due,) = await scene.due()
        await scene.settle(failed(due))
        assert await scene.settle(delivered(due, tries=1)) == [False]
        assert (await scene.delivery(message)).state is State.FAILED
        assert (await scene.row()).ended == 1

    async def test_a_delivery_cancelled_in_flight_stays_cancelled(self, scene: Scene) -> None:
        message = await scene.add()
        (due,) = await scene.due()
        assert await scene.store.cancel(scene.application.id, message.id, now=NOON + 2) == 1
        assert await scene.settle(delivered(due)) == [False]
        delivery = await scene.delivery(message)
        assert (delivery.state, delivery.reason) == (State.CANCELLED, Reason.CANCELLED)
        assert (delivery.ended_at, delivery.attempts, delivery.due_at) == (NOON + 2, 0, None)
        assert (await scene.row()).ended == 1

    @pytest.mark.parametrize("how", ["cancelled", "discarded", "expired"])
    async def test_an_attempt_in_flight_when_its_delivery_ended_is_saved_once(
        self, scene: Scene, how: str
    ) -> None:
        message, beside = await scene.add(), await scene.add()
        due, other = await scene.due()
        await _end(scene, message.id, how)
        ended = await scene.delivery(message)
        settlement = delivered(due)
        assert await scene.settle(settlement, delivered(other))
        assert await scene.delivery(message) == replace(ended, tries=1)
        assert await scene.store.read(AllAttemptsOf(message.id)) == [settlement.attempt]
        assert settlement.attempt in await scene.attempts_to()
        row = await scene.row()
        assert await scene.settle(settlement) == [False], "a settlement counts once"
        assert len(await scene.store.read(AllAttemptsOf(message.id))) == 1
        assert len(await scene.store.read(AllAttemptsOf(beside.id))) == 1
        assert await scene.row() == row

    async def test_a_settlement_without_an_attempt_changes_no_ended_delivery(
        self, scene: Scene
    ) -> None:
        message = await scene.add()
        (due,) = await scene.due()
        await _end(scene, message.id, "cancelled")
        ended = await scene.delivery(message)
        assert await scene.settle(failed(due, attempt=None)) == [False]
        assert await scene.delivery(message) == ended
        assert await scene.store.read(AllAttemptsOf(message.id)) == []

    async def test_a_stale_lease_keeps_no_attempt_of_a_delivery_that_ended(
        self, scene: Scene
    ) -> None:
        message = await scene.add()
        (due,) = await scene.due()
        await _end(scene, message.id, "cancelled")
        ended = await scene.delivery(message)
        assert await scene.settle(delivered(due), leases=[]) == [False]
        assert await scene.delivery(message) == ended
        assert await scene.store.read(AllAttemptsOf(message.id)) == []

    async def test_a_delivery_that_is_not_there_is_not_settled(self, scene: Scene) -> None:
        await scene.add()
        (due,) = await scene.due()
        assert await scene.settle(
            delivered(due, seq=77), delivered(due, lane=scene.lane + 1000)
        ) == [False, False]

    async def test_a_delivery_is_settled_only_with_a_lease_of_its_shard(self, scene: Scene) -> None:
        await scene.add()
        (due,) = await scene.due()
        others = [lease for lease in scene.leases if lease.shard != scene.application.shard]
        assert await scene.settle(delivered(due), leases=others) == [False]
        assert await scene.settle(delivered(due), leases=[]) == [False]
        assert await scene.settle(delivered(due), leases=[scene.lease]) == [True]

    @pytest.mark.parametrize("how", ["taken", "given back", "taken again", "forged"])
    async def test_a_stale_lease_changes_nothing(
        self, scene: Scene, later: Later, how: str
    ) -> None:
        message = await scene.add()
        await scene.store.resend(scene.endpoint, message.id, resend="r1")
        (due,) = await scene.due()
        (resend,) = await scene.due(Stream.RESEND)
        before = await scene.row()
        stale = await _stale(scene, later, how)
        change = Change(
            lane=scene.lane,
            epoch=scene.lease.epoch,
            at=NOON,
            known=KNOWN,
            standing=Standing.PARKED,
            notices=(a_notice(scene.endpoint),),
        )
        resent = Resent(scene.lane, "r1", an_attempt(resend), scene.lease.epoch)
        assert await scene.settle(delivered(due), resent, changes=[change], leases=stale) == [
            False,
            False,
        ]
        assert await scene.row() == before
        assert (await scene.due(), await scene.due(Stream.RESEND)) == ([due], [resend])
        assert await scene.store.read(AllAttemptsOf(message.id)) == []
        assert await scene.store.read(Notices()) == []

    async def test_a_settlement_of_an_earlier_lease_is_not_written_under_the_next(
        self, scene: Scene, later: Later
    ) -> None:
        message = await scene.add()
        await scene.store.resend(scene.endpoint, message.id, resend="r1")
        (due,) = await scene.due()
        (resend,) = await scene.due(Stream.RESEND)
        before, earlier = await scene.row(), scene.lease.epoch
        await later(LEASE_LENGTH + 1)
        worker, most = scene.lease.worker, len(scene.leases)
        leases = await scene.store.lease(worker, most=most, length=LEASE_LENGTH)
        change = Change(lane=scene.lane, epoch=earlier, at=NOON, known=KNOWN)
        resent = Resent(scene.lane, "r1", an_attempt(resend), earlier)
        late = put_back(due, epoch=earlier)
        all_leases = [*scene.leases, *leases]
        assert await scene.settle(late, resent, changes=[change], leases=all_leases) == [
            False,
            False,
        ]
        assert await scene.row() == before
        assert (await scene.due(), await scene.due(Stream.RESEND)) == ([due], [resend])
        assert await scene.store.read(AllAttemptsOf(message.id)) == []
        current = delivered(due, epoch=earlier + 1)
        resent, change = replace(resent, epoch=earlier + 1), replace(change, epoch=earlier + 1)
        answers = await scene.settle(late, current, resent, changes=[change], leases=all_leases)
        assert answers == [False, True, True]
        assert (await scene.delivery(message)).state is State.DELIVERED
        assert (await scene.row()).known == KNOWN

    async def test_an_expired_lease_is_valid_until_another_worker_takes_the_shard(
        self, scene: Scene, later: Later
    ) -> None:
        await scene.add()
        (due,) = await scene.due()
        await later(LEASE_LENGTH + 1)
        assert await scene.settle(postponed(due, NOON + 99)) == [True]
        assert await scene.due() == []

    async def test_an_attempt_is_saved_whatever_characters_its_response_has(
        self, scene: Scene
    ) -> None:
        message = await scene.add()
        (due,) = await scene.due()
        attempt = an_attempt(due, detail="odd \0 \ud800 text", body=b"\0\xff")
        assert await scene.settle(delivered(due, attempt=attempt)) == [True]
        (stored,) = await scene.store.read(AllAttemptsOf(message.id))
        assert (stored.detail, stored.body) == ("odd \ufffd ? text", b"\0\xff")

    async def test_the_record_of_a_lane_is_saved(self, scene: Scene) -> None:
        second = await scene.add_endpoint()
        await scene.settle(
            changes=[Change(lane=scene.lane, epoch=scene.lease.epoch, at=NOON, known=KNOWN)]
        )
        assert (await scene.row()).known == KNOWN
        assert (await scene.row(second)).known == Known()
        assert (await scene.row()).endpoint == scene.endpoint

    async def test_a_change_changes_only_the_fields_that_it_has(self, scene: Scene) -> None:
        await scene.settle(
            changes=[Change(lane=scene.lane, epoch=scene.lease.epoch, at=NOON, known=KNOWN)]
        )
        disable = Change(
            lane=scene.lane, epoch=scene.lease.epoch, at=NOON + 1, standing=Standing.DISABLED
        )
        await scene.settle(changes=[disable])
        row = await scene.row()
        assert row.known == KNOWN
        assert (row.endpoint.standing, row.endpoint.parked) == (Standing.DISABLED, ())
        assert row.endpoint.updated_at == NOON + 1

    async def test_parking_an_endpoint_opens_a_parking_once(self, scene: Scene) -> None:
        for at in (NOON, NOON + 5):
            await _change_standing(scene, Standing.PARKED, at)
        await _change_standing(scene, Standing.PAUSED, NOON + 6)
        await _change_standing(scene, Standing.ENABLED, NOON + 7)
        await _change_standing(scene, Standing.PARKED, NOON + 8)
        endpoint = (await scene.row()).endpoint
        assert endpoint.standing is Standing.PARKED
        assert endpoint.parked == ((NOON, NOON + 6), (NOON + 8, None))

    @pytest.mark.parametrize("standing", [Standing.ENABLED, Standing.PARKED])
    async def test_an_old_copy_of_an_endpoint_forgets_no_parking(
        self, scene: Scene, standing: Standing
    ) -> None:
        await _change_standing(scene, Standing.PARKED, NOON + 1)
        old = replace(scene.endpoint, standing=standing, updated_at=NOON + 5, lane=0)
        saved = await scene.store.put(old)
        assert saved == (await scene.row()).endpoint
        assert (saved.standing, saved.lane) == (standing, scene.lane)
        until = NOON + 5 if standing is Standing.ENABLED else None
        assert saved.parked == ((NOON + 1, until),)

    async def test_a_deleted_endpoint_is_not_brought_back(self, scene: Scene) -> None:
        await scene.delete_endpoint()
        change = Change(
            lane=scene.lane,
            epoch=scene.lease.epoch,
            at=NOON + 5,
            standing=Standing.PARKED,
            known=KNOWN,
        )
        await scene.settle(changes=[change])
        row = await scene.row()
        assert (row.endpoint.standing, row.endpoint.parked) == (Standing.DELETED, ())
        assert row.known == KNOWN

    async def test_notices_are_kept_with_a_change(self, scene: Scene) -> None:
        notices = (a_notice(scene.endpoint), a_notice(scene.endpoint, kind="endpoint.disabled"))
        await scene.settle(
            changes=[Change(lane=scene.lane, epoch=scene.lease.epoch, at=NOON, notices=notices)]
        )
        assert await scene.store.read(Notices()) == list(notices)

    async def test_a_change_of_a_lane_that_is_not_there_is_dropped(self, scene: Scene) -> None:
        change = Change(
            lane=scene.lane + 1000,
            epoch=scene.lease.epoch,
            at=NOON,
            notices=(a_notice(scene.endpoint),),
        )
        assert await scene.settle(changes=[change]) == []
        assert await scene.store.read(Notices()) == []

    async def test_an_owner_does_not_wake_its_own_lanes(self, scene: Scene) -> None:
        await scene.add()
        (due,) = await scene.due()
        change = Change(
            lane=scene.lane, epoch=scene.lease.epoch, at=NOON, known=KNOWN, standing=Standing.PARKED
        )
        await scene.settle(delivered(due), changes=[change])
        assert await scene.store.woken(scene.leases) == []


async def _end(scene: Scene, message: str, how: str) -> None:
    """End a delivery, or all of its lane, while an attempt of it is in flight."""
    store, now = scene.store, NOON + 2
    if how == "cancelled":
        await store.cancel(scene.application.id, message, now=now)
    elif how == "discarded":
        task = await scene.delete_endpoint()
        await store.advance(task, now=now, limit=10, lease=scene.lease)
    else:
        old = NOON + 1000
        await store.expire(scene.lane, accepted_before=old, now=now, limit=10, lease=scene.lease)


async def _change_standing(scene: Scene, standing: Standing, at: float) -> None:
    """Change the endpoint's standing as the lane's owner."""
    await scene.settle(
        changes=[Change(lane=scene.lane, epoch=scene.lease.epoch, at=at, standing=standing)]
    )


async def _stale(scene: Scene, later: Later, how: str) -> list[Lease]:
    """Return leases that are no longer valid."""
    store, leases = scene.store, scene.leases
    if how == "forged":
        return [replace(lease, epoch=lease.epoch + 1) for lease in leases] + [
            replace(lease, worker="somebody else") for lease in leases
        ]
    if how == "given back":
        await store.release(leases)
        return leases
    await later(LEASE_LENGTH + 1)
    taker = "worker-2" if how == "taken" else leases[0].worker
    await store.lease(taker, most=len(leases), length=LEASE_LENGTH)
    return leases
