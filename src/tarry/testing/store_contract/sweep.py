"""Sweeping: data past its retention is removed, but nothing that is still needed."""

import pytest

from tarry.errors import NotFound
from tarry.service.model.delivery import State
from tarry.service.model.lane import Change, Stream
from tarry.service.model.message import Accepted, Message
from tarry.service.model.task import Work
from tarry.service.store.contract import Retention
from tarry.service.store.kinds import AllAttemptsOf, AllDeliveriesOf, AllTasksOf, Messages, Notices
from tarry.testing.samples import (
    NOON,
    a_notice,
    a_task,
    an_application,
    delivered,
    failed,
    new_message,
)
from tarry.testing.store_contract.scene import Scene
from tarry.testing.store_contract.topic import Topic

PAYLOADS = Retention(payloads_before=NOON)
MESSAGES = Retention(messages_before=NOON)
KEYS = Retention(keys_before=NOON)


class SweepContract(Topic):
    """Retention, in pieces."""

    async def test_data_without_a_retention_is_never_swept(self, scene: Scene) -> None:
        message = await _add_delivered(scene, key="k")
        assert await _sweep(scene, Retention()) == 0
        assert await scene.store.get(Messages(scene.application.id), message.id) == message

    async def test_old_payloads_are_swept_and_their_messages_stay(self, scene: Scene) -> None:
        old = await _add_delivered(scene, event_id="evt-1")
        new = await _add_delivered(scene, accepted_at=NOON)
        assert await _sweep(scene, PAYLOADS) > 0
        stored = await scene.store.get(Messages(scene.application.id), "evt-1")
        assert (stored.id, stored.payload) == (old.id, None)
        assert await scene.store.get(Messages(scene.application.id), new.id) == new
        assert len(await scene.store.read(AllAttemptsOf(old.id))) == 1
        assert await _sweep(scene, PAYLOADS) == 0

    async def test_a_payload_is_swept_after_its_own_retention(self, scene: Scene) -> None:
        short = [await _add_delivered(scene, payload_until=NOON - at) for at in (2, 1)]
        long = await _add_delivered(scene, payload_until=NOON)
        other = await _add_delivered(scene)
        await scene.add(accepted_at=NOON - 9, payload_until=NOON - 3)
        assert await _sweep(scene, Retention(expired_before=NOON)) == 2
        payloads = {message.id: message.payload for message in await scene.messages()}
        assert [payloads[message.id] for message in short] == [None, None]
        assert payloads[long.id] == payloads[other.id] is not None
        assert list(payloads.values()).count(None) == 2, (
            "payloads that are still to be sent are kept"
        )
        assert await _sweep(scene, Retention(expired_before=NOON)) == 0

    async def test_old_messages_go_with_everything(self, scene: Scene) -> None:
        old = await _add_delivered(scene, event_id="evt-1", key="k", fingerprint=b"one")
        new = await _add_delivered(scene, accepted_at=NOON)
        before = await scene.row()
        assert await _sweep(scene, MESSAGES) > 0
        for known_as in (old.id, "evt-1"):
            with pytest.raises(NotFound):
                await scene.store.get(Messages(scene.application.id), known_as)
        assert await scene.messages() == [new]
        assert await scene.store.read(AllDeliveriesOf(old.id)) == []
        assert await scene.store.read(AllAttemptsOf(old.id)) == []
        assert len(await scene.attempts_to()) == 1
        assert await scene.row() == before, "sweeping does not change a lane's counts"
        again = new_message(scene.application, event_id="evt-1", key="k", fingerprint=b"two")
        assert await scene.store.add([again]) == [Accepted(again.message)]
        assert (await scene.delivery(again.message)).seq == 3

    @pytest.mark.parametrize("retention", [PAYLOADS, MESSAGES], ids=["payloads", "messages"])
    async def test_messages_with_live_deliveries_are_not_swept(
        self, scene: Scene, retention: Retention
    ) -> None:
        await scene.add_endpoint()
        message = await _add_delivered(scene)
        assert await _sweep(scene, retention) == 0
        assert await scene.store.get(Messages(scene.application.id), message.id) == message

    @pytest.mark.parametrize("retention", [PAYLOADS, MESSAGES], ids=["payloads", "messages"])
    async def test_messages_with_requested_resends_are_not_swept(
        self, scene: Scene, retention: Retention
    ) -> None:
        message = await _add_delivered(scene)
        late = await scene.add_endpoint()
        await scene.store.resend(late, message.id, resend="r1")
        assert await _sweep(scene, retention) == 0
        (due,) = await scene.due(Stream.RESEND, lane=late.lane)
        assert due.payload == message.payload

    async def test_a_message_without_deliveries_is_swept_too(self, scene: Scene) -> None:
        application = an_application()
        await scene.store.put(application)
        new = new_message(application, accepted_at=NOON - 1)
        await scene.store.add([new])
        assert await _sweep(scene, MESSAGES) > 0
        assert await scene.messages(application) == []

    async def test_old_keys_are_forgotten(self, scene: Scene) -> None:
        old = await _add_delivered(scene, key="k1")
        new = await _add_delivered(scene, key="k2", accepted_at=NOON)
        assert await _sweep(scene, KEYS) == 1
        assert await _sweep(scene, KEYS) == 0
        again = [new_message(scene.application, key=key) for key in ("k1", "k2")]
        assert await scene.store.add(again) == [
            Accepted(again[0].message),
            Accepted(new, repeated=True),
        ]
        assert await scene.store.get(Messages(scene.application.id), old.id) == old

    async def test_a_key_is_forgotten_although_its_message_waits(self, scene: Scene) -> None:
        await scene.add(key="k", accepted_at=NOON - 1)
        assert await _sweep(scene, KEYS) == 1
        again = new_message(scene.application, key="k")
        assert await scene.store.add([again]) == [Accepted(again.message)]

    async def test_old_notices_are_swept(self, scene: Scene) -> None:
        notices = [a_notice(scene.endpoint, at=NOON + at) for at in (-1, 0)]
        await scene.settle(
            changes=[
                Change(lane=scene.lane, epoch=scene.lease.epoch, at=NOON, notices=tuple(notices))
            ]
        )
        assert await _sweep(scene, Retention(notices_before=NOON)) == 1
        assert await scene.store.read(Notices()) == notices[1:]

    async def test_tasks_that_finished_long_ago_are_swept(self, scene: Scene) -> None:
        tasks = [a_task(scene.endpoint, Work.RECOVER) for _ in range(3)]
        for task in tasks:
            await scene.store.add_task(task)
        for task, at in zip(tasks, (NOON - 1, NOON), strict=False):
            await scene.store.advance(task, now=at, limit=1, lease=scene.lease)
        assert await _sweep(scene, Retention(tasks_before=NOON)) == 1
        remaining = {task.id for task in await scene.store.read(AllTasksOf(scene.application.id))}
        assert remaining == {tasks[1].id, tasks[2].id}

    async def test_data_that_could_not_be_swept_is_swept_once_it_can_be(self, scene: Scene) -> None:
        await scene.store.add(
            [new_message(scene.application, accepted_at=NOON - 1) for _ in range(6)]
        )
        first, *others = await scene.due()
        await scene.settle(*map(delivered, others))
        while await scene.store.sweep(MESSAGES, limit=2):
            pass
        assert [message.id for message in await scene.messages()] == [first.message]
        await scene.settle(delivered(first))
        assert await scene.store.sweep(MESSAGES, limit=2) > 0
        assert await scene.messages() == []

    async def test_much_is_swept_in_pieces(self, scene: Scene) -> None:
        new = [
            new_message(scene.application, accepted_at=NOON - 1, key=f"k{number}")
            for number in range(20)
        ]
        await scene.store.add(new)
        await scene.settle(*map(delivered, await scene.due()))
        retention = Retention(payloads_before=NOON, messages_before=NOON, keys_before=NOON)
        sweeps = 0
        while await scene.store.sweep(retention, limit=4):
            sweeps += 1
            assert sweeps < 500, "the sweeps never end"
        assert sweeps > 1, "one sweep removed everything"
        assert await scene.messages() == []
        assert await scene.attempts_to() == []

    async def test_a_replay_passes_over_swept_messages(self, scene: Scene) -> None:
        await scene.add(accepted_at=NOON - 1)
        newer = await scene.add(accepted_at=NOON)
        await scene.settle(*map(failed, await scene.due()))
        await _sweep(scene, MESSAGES)
        task = a_task(scene.endpoint, Work.RECOVER)
        await scene.store.add_task(task)
        task = await scene.store.advance(task, now=NOON, limit=9, lease=scene.lease)
        assert task.done == 1
        assert (await scene.delivery(newer)).state is State.READY


async def _add_delivered(
    scene: Scene, *, accepted_at: float = NOON - 1, **values: object
) -> Message:
    """Add a message that the endpoint has received."""
    message = await scene.add(accepted_at=accepted_at, **values)
    await scene.settle(*map(delivered, await scene.due()))
    return message


async def _sweep(scene: Scene, retention: Retention) -> int:
    """Sweep until there is no more to remove; return how many rows were removed."""
    swept = 0
    while piece := await scene.store.sweep(retention, limit=100):
        swept += piece
        assert swept < 1000, "the sweeps never end"
    return swept
