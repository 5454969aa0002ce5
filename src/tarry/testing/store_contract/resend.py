# ruff: noqa: D102, S101  these are tests: a name is a sentence, and assert is how one speaks
"""Resends: one more attempt, first in line, that leaves a delivery as it is unless it ended."""

import pytest
from msgspec.structs import replace

from tarry.errors import NotFound
from tarry.service.model.attempt import Resent, Trigger
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.lane import Due, Stream
from tarry.testing.samples import NOON, an_attempt, delivered, failed
from tarry.testing.store_contract.scene import Scene
from tarry.testing.store_contract.topic import Topic


class ResendContract(Topic):
    """What somebody asked for by hand."""

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
        assert [one.resend for one in due] == ["r1", "r2", "r3"]
        assert [one.message for one in due] == [message.id for message in reversed(messages)]
        assert [one.resend for one in await scene.due(Stream.RESEND, limit=2)] == ["r1", "r2"]

    async def test_a_message_may_be_resent_more_than_once(self, scene: Scene) -> None:
        message = await scene.add()
        for name in ("r1", "r2"):
            await scene.store.resend(scene.endpoint, message.id, resend=name)
        assert [one.message for one in await scene.due(Stream.RESEND)] == [message.id] * 2

    async def test_what_had_failed_has_arrived_by_a_resend_that_was_taken(
        self, scene: Scene
    ) -> None:
        message, other = await scene.add(), await scene.add()
        await scene.settle(*map(failed, await scene.due()))
        before, row = await scene.delivery(message), await scene.row()
        (earlier,) = await scene.store.attempts(message.id)
        await scene.store.resend(scene.endpoint, message.id, resend="r1")
        (due,) = await scene.due(Stream.RESEND)
        attempt = an_attempt(due, trigger=Trigger.MANUAL, status=200, kind=None)
        assert await scene.settle(Resent(scene.lane, "r1", attempt)) == [True]
        arrived = replace(
            before, state=State.DELIVERED, reason=Reason.DELIVERED, ended_at=attempt.at
        )
        assert await scene.delivery(message) == arrived
        assert (await scene.delivery(other)).state is State.FAILED
        assert (await scene.row()).ended == row.ended
        assert await scene.store.attempts(message.id) == [earlier, attempt]
        assert await scene.due(Stream.RESEND) == []

    @pytest.mark.parametrize("taken", [True, False])
    async def test_what_was_skipped_has_arrived_by_a_resend_that_was_taken(
        self, scene: Scene, *, taken: bool
    ) -> None:
        disabled = await scene.add_endpoint(standing=Standing.DISABLED)
        message = await scene.add()
        before, row = await scene.delivery(message, disabled), await scene.row(disabled)
        await scene.store.resend(disabled, message.id, resend="r1")
        (due,) = await scene.due(Stream.RESEND, lane=disabled.lane)
        said: tuple[int, str | None] = (200, None) if taken else (500, "transient")
        attempt = an_attempt(due, trigger=Trigger.MANUAL, status=said[0], kind=said[1])
        assert await scene.settle(Resent(disabled.lane, "r1", attempt)) == [True]
        arrived = replace(
            before, state=State.DELIVERED, reason=Reason.DELIVERED, ended_at=attempt.at
        )
        assert await scene.delivery(message, disabled) == (arrived if taken else before)
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
        assert await scene.settle(Resent(scene.lane, "r1", attempt)) == [True]
        assert await scene.delivery(message) == before
        assert (await scene.store.attempts(message.id))[1:] == [attempt]

    async def test_what_still_waits_goes_on_whatever_became_of_a_resend(self, scene: Scene) -> None:
        message = await scene.add()
        before = await scene.delivery(message)
        await scene.store.resend(scene.endpoint, message.id, resend="r1")
        (due,) = await scene.due(Stream.RESEND)
        attempt = an_attempt(due, trigger=Trigger.MANUAL, status=200, kind=None)
        assert await scene.settle(Resent(scene.lane, "r1", attempt)) == [True]
        assert await scene.delivery(message) == before

    async def test_a_resend_is_made_once(self, scene: Scene) -> None:
        message = await scene.add()
        await scene.store.resend(scene.endpoint, message.id, resend="r1")
        (due,) = await scene.due(Stream.RESEND)
        assert await scene.settle(Resent(scene.lane, "r1", an_attempt(due))) == [True]
        assert await scene.settle(Resent(scene.lane, "r1", an_attempt(due))) == [False]
        assert len(await scene.store.attempts(message.id)) == 1

    async def test_a_resend_and_the_delivery_do_not_meet(self, scene: Scene) -> None:
        message = await scene.add()
        await scene.store.resend(scene.endpoint, message.id, resend="r1")
        (due,), (again,) = await scene.due(), await scene.due(Stream.RESEND)
        resent = Resent(scene.lane, "r1", an_attempt(again))
        assert await scene.settle(resent, delivered(due)) == [True, True]
        assert (await scene.delivery(message)).tries == 1

    async def test_a_message_may_be_sent_to_an_endpoint_that_never_had_it(
        self, scene: Scene
    ) -> None:
        message = await scene.add()
        late = await scene.add_endpoint()
        await scene.store.resend(late, message.id, resend="r1")
        (due,) = await scene.due(Stream.RESEND, lane=late.lane)
        attempt = an_attempt(due)
        assert await scene.settle(Resent(late.lane, "r1", attempt)) == [True]
        assert await scene.attempts_to(late) == [attempt]
        row = await scene.row(late)
        assert (row.added, row.ended) == (0, 0)

    async def test_what_is_not_there_cannot_be_resent(self, scene: Scene) -> None:
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

    async def test_cancelling_a_message_keeps_its_resend(self, scene: Scene) -> None:
        message = await scene.add()
        await scene.store.resend(scene.endpoint, message.id, resend="r1")
        await scene.store.cancel(scene.application.id, message.id, now=NOON)
        assert [one.resend for one in await scene.due(Stream.RESEND)] == ["r1"]
