"""Tasks: long work on a lane, done by its owner in pieces, each of them atomic."""

import pytest
from msgspec.structs import replace

from tarry.errors import NotFound
from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.ids import MESSAGE
from tarry.service.model.lane import Stream
from tarry.service.model.listing import MessageFilter
from tarry.service.model.replay import Fate, ReplayFilter
from tarry.service.model.task import Task, Work
from tarry.service.store.kinds import (
    AllAttemptsOf,
    AllDeliveriesOf,
    AllTasksOf,
    Applications,
    Tasks,
)
from tarry.testing.samples import (
    ALL_SHARDS,
    NOON,
    a_task,
    an_application,
    delivered,
    failed,
    new_id,
    new_message,
    postponed,
)
from tarry.testing.store_contract.scene import LEASE_LENGTH, Scene
from tarry.testing.store_contract.topic import Later, Topic

ON_LANES = (Work.RECOVER, Work.REPLAY_MISSING, Work.BULK_REPLAY, Work.DISCARD)


class TasksContract(Topic):
    """Recover, replay missing messages, discard."""

    async def test_a_task_is_saved(self, scene: Scene) -> None:
        replay_filter = ReplayFilter(
            message=MessageFilter(channel="eu", tag="t", event_types=("a", "b")),
            fate=Fate.FAIL,
            status_class=500,
        )
        task = await _put(
            scene, Work.BULK_REPLAY, since=NOON - 5.5, until=NOON + 5.5, wanted=replay_filter
        )
        assert await scene.store.get(Tasks(task.environment), task.id) == task
        assert await scene.store.next_task(ALL_SHARDS) == task
        with pytest.raises(NotFound):
            await scene.store.get(Tasks(task.environment), "qtask_none")
        with pytest.raises(NotFound):
            await scene.store.get(Tasks("org_other"), task.id)

    async def test_the_tasks_of_an_application_come_newest_first(self, scene: Scene) -> None:
        first = await _put(scene, Work.RECOVER, created_at=NOON)
        second = await _put(scene, Work.REPLAY_MISSING, created_at=NOON + 1)
        assert await scene.store.read(AllTasksOf(scene.application.id)) == [second, first]
        assert await scene.store.read(AllTasksOf("app_other")) == []

    async def test_the_oldest_unfinished_task_of_the_shards_is_next(self, scene: Scene) -> None:
        second = await _put(scene, Work.RECOVER, created_at=NOON + 1)
        first = await _put(scene, Work.RECOVER, created_at=NOON)
        others = [shard for shard in ALL_SHARDS if shard != scene.application.shard]
        assert await scene.store.next_task(others) is None
        assert await scene.store.next_task([scene.application.shard]) == first
        await _finish(scene, first)
        assert await scene.store.next_task(ALL_SHARDS) == second
        await _finish(scene, second)
        assert await scene.store.next_task(ALL_SHARDS) is None

    async def test_recovering_makes_failed_deliveries_ready_again(self, scene: Scene) -> None:
        message = await scene.add()
        (due,) = await scene.due()
        await scene.settle(postponed(due, NOON, memory=8.0))
        (due,) = await scene.due(Stream.WAITING)
        await scene.settle(failed(due, memory=9.0))
        task = await _finish(scene, await _put(scene, Work.RECOVER))
        assert (task.done, task.finished_at) == (1, NOON + 50)
        assert (task.data, task.failed) == ({"messagesSent": 1}, None)
        delivery = await scene.delivery(message)
        assert (delivery.state, delivery.reason, delivery.seq) == (State.READY, Reason.REPLAYED, 1)
        assert (delivery.attempts, delivery.tries) == (0, 2)
        assert (delivery.memory, delivery.due_at, delivery.ended_at) == (None, None, None)
        assert delivery.accepted_at == NOON + 50
        assert (await scene.row()).waiting == 1
        assert [(due.seq, due.tries) for due in await scene.due()] == [(1, 2)]
        assert len(await scene.store.read(AllAttemptsOf(message.id))) == 2

    async def test_a_delivery_that_waits_for_its_retry_is_recovered_too(self, scene: Scene) -> None:
        messages = [await scene.add() for _ in range(4)]
        messages.append(await scene.add(deliver_at=NOON + 99))
        first, second, third, _ = await scene.due()
        await scene.settle(delivered(first), failed(second), postponed(third, NOON + 9))
        await scene.store.cancel(scene.application.id, messages[3].id, now=NOON)
        task = await _finish(scene, await _put(scene, Work.RECOVER))
        assert task.done == 2
        deliveries = [await scene.delivery(message) for message in messages]
        assert [(delivery.state, delivery.due_at) for delivery in deliveries] == [
            (State.DELIVERED, None),
            (State.READY, None),
            (State.READY, None),
            (State.CANCELLED, None),
            (State.WAITING, NOON + 99),
        ]
        assert (await scene.row()).waiting == 3

    @pytest.mark.parametrize("work", [Work.RECOVER, Work.REPLAY_MISSING, Work.BULK_REPLAY])
    async def test_a_task_concerns_messages_of_its_time(self, scene: Scene, work: Work) -> None:
        messages = [await scene.add(accepted_at=NOON + at) for at in (-1, 0, 1, 2)]
        endpoint = scene.endpoint
        if work is Work.RECOVER:
            await scene.settle(*map(failed, await scene.due()))
        else:
            endpoint = await scene.add_endpoint()
        task = a_task(endpoint, work, since=NOON, until=NOON + 2)
        await scene.store.add_task(task)
        assert (await _finish(scene, task)).done == 2
        due = await scene.due(lane=endpoint.lane)
        assert [delivery.message for delivery in due] == [messages[1].id, messages[2].id]

    @pytest.mark.parametrize("work", ON_LANES)
    async def test_few_are_found_among_many_that_are_not_concerned(
        self, scene: Scene, work: Work
    ) -> None:
        times = [NOON if number in {3, 30, 31, 39} else NOON - 9 for number in range(40)]
        new = [new_message(scene.application, accepted_at=at) for at in times]
        await scene.store.add(new)
        endpoint = scene.endpoint
        if work is Work.RECOVER:
            await scene.settle(*map(failed, await scene.due()))
        elif work in {Work.REPLAY_MISSING, Work.BULK_REPLAY}:
            endpoint = await scene.add_endpoint()
        task = a_task(endpoint, work, since=NOON - 1)
        await scene.store.add_task(task)
        while task.finished_at is None:
            before = task
            task = await scene.store.advance(task, now=NOON, limit=2, lease=scene.lease)
            assert task.done - before.done <= 2
            assert task != before
        assert task.done == 4
        row = await scene.row(endpoint)
        assert row.waiting == (36 if work is Work.DISCARD else 4)

    @pytest.mark.parametrize("limit", [1, 2, 3, 100])
    @pytest.mark.parametrize("work", [Work.REPLAY_MISSING, Work.BULK_REPLAY])
    async def test_messages_are_replayed_in_the_order_they_were_accepted_in(
        self, scene: Scene, work: Work, limit: int
    ) -> None:
        message_ids = [new_id(MESSAGE) for _ in range(9)]
        places = [(5, 8), (0, 7), (2, 6), (1, 5), (1, 4), (1, 3), (3, 2), (0, 1), (9, 0)]
        times = {message_ids[number]: NOON + after for after, number in places}
        for message, at in times.items():
            await scene.add(id=message, accepted_at=at)
        late = await scene.add_endpoint()
        task = a_task(late, work, since=NOON + 1, until=NOON + 9)
        await scene.store.add_task(task)
        while task.finished_at is None:
            task = await scene.store.advance(task, now=NOON + 50, limit=limit, lease=scene.lease)
        expected = [message_ids[number] for _, number in sorted(places) if number not in {0, 1, 7}]
        assert [due.message for due in await scene.due(lane=late.lane)] == expected
        assert task.done == len(expected)

    async def test_payloads_are_forgotten_by_when_they_were_accepted(self, scene: Scene) -> None:
        message_ids = [new_id(MESSAGE) for _ in range(6)]
        for after, message in enumerate(reversed(message_ids)):
            await scene.add(id=message, accepted_at=NOON + after // 2)
        task = a_task(scene.endpoint, Work.PURGE_CONTENT, until=NOON + 2)
        await scene.store.add_task(task)
        while task.finished_at is None:
            task = await scene.store.advance(task, now=NOON, limit=1, lease=scene.lease)
        remaining = [
            message.id for message in await scene.messages() if message.payload is not None
        ]
        assert (task.done, remaining) == (4, message_ids[:2])

    async def test_missed_messages_are_delivered_after_those_accepted_since(
        self, scene: Scene
    ) -> None:
        old = [await scene.add() for _ in range(3)]
        late = await scene.add_endpoint()
        new = await scene.add()
        task = a_task(late, Work.REPLAY_MISSING)
        await scene.store.add_task(task)
        assert (await _finish(scene, task)).done == 3
        due = await scene.due(lane=late.lane)
        assert [delivery.message for delivery in due] == [new.id, *(message.id for message in old)]
        assert [delivery.seq for delivery in due] == [1, 2, 3, 4]
        delivery = await scene.delivery(old[0], late)
        assert (delivery.state, delivery.reason) == (State.READY, Reason.REPLAYED)
        assert (delivery.attempts, delivery.tries, delivery.accepted_at) == (0, 0, NOON + 50)
        row = await scene.row(late)
        assert (row.added, row.ended) == (4, 0)

    async def test_only_messages_that_an_endpoint_wants_are_missing(self, scene: Scene) -> None:
        fitting = await scene.add(event_type="a", channels=("eu",))
        await scene.add(event_type="b", channels=("eu",))
        await scene.add(event_type="a", channels=("us",))
        other = an_application()
        await scene.store.put(other)
        await scene.store.add([new_message(other, event_type="a", channels=("eu",))])
        late = await scene.add_endpoint(event_types=("a",), channels=("eu",))
        task = a_task(late, Work.REPLAY_MISSING)
        await scene.store.add_task(task)
        assert (await _finish(scene, task)).done == 1
        assert [due.message for due in await scene.due(lane=late.lane)] == [fitting.id]

    async def test_skipped_messages_are_missing_too(self, scene: Scene) -> None:
        await scene.store.put(replace(scene.endpoint, standing=Standing.DISABLED))
        skipped = await scene.add()
        await scene.store.put(scene.endpoint)
        sent = await scene.add()
        await scene.settle(*map(failed, await scene.due()))
        assert (await _finish(scene, await _put(scene, Work.REPLAY_MISSING))).done == 1
        delivery = await scene.delivery(skipped)
        assert (delivery.state, delivery.reason, delivery.seq) == (State.READY, Reason.REPLAYED, 1)
        assert (delivery.ended_at, delivery.accepted_at) == (None, NOON + 50)
        assert (await scene.delivery(sent)).state is State.FAILED
        row = await scene.row()
        assert (row.added, row.ended) == (2, 1)

    async def test_discarding_ends_live_deliveries_and_forgets_resends(self, scene: Scene) -> None:
        messages = [await scene.add() for _ in range(3)]
        first, second, _ = await scene.due()
        await scene.settle(delivered(first), postponed(second, NOON + 9))
        await scene.store.resend(scene.endpoint, messages[0].id, resend="r1")
        await scene.delete_endpoint()
        (task,) = await scene.store.read(AllTasksOf(scene.application.id))
        assert (await _finish(scene, task)).done == 2
        deliveries = [await scene.delivery(message) for message in messages]
        assert [delivery.state for delivery in deliveries] == [
            State.DELIVERED,
            State.DISCARDED,
            State.DISCARDED,
        ]
        assert (deliveries[1].reason, deliveries[1].due_at) == (Reason.DISCARDED, None)
        assert (deliveries[1].ended_at, deliveries[1].tries) == (NOON + 50, 1)
        assert await scene.due(Stream.RESEND) == []
        await scene.rest()

    @pytest.mark.parametrize("work", ON_LANES)
    async def test_a_task_continues_in_pieces_from_its_cursor(
        self, scene: Scene, work: Work
    ) -> None:
        messages = [await scene.add() for _ in range(7)]
        task = await _add_task_for_all(scene, work)
        done = []
        for _ in range(20):
            task = await scene.store.advance(task, now=NOON + 50, limit=3, lease=scene.lease)
            assert await scene.store.get(Tasks(task.environment), task.id) == task
            done.append(task.done)
            if task.finished_at is not None:
                break
        assert task.done == 7
        steps = [after - before for before, after in zip([0, *done], done, strict=False)]
        assert max(steps) <= 3, f"at most 3 were asked for: {steps}"
        assert task.finished_at == NOON + 50
        row = (await scene.store.lanes([task.lane]))[0]
        assert row.waiting == (0 if work is Work.DISCARD else len(messages))

    async def test_a_piece_done_twice_is_done_once(self, scene: Scene) -> None:
        for _ in range(4):
            await scene.add()
        await scene.settle(*map(failed, await scene.due()))
        task = await _put(scene, Work.RECOVER)
        await scene.store.advance(task, now=NOON, limit=2, lease=scene.lease)
        await scene.settle(*map(failed, await scene.due()))
        again = await scene.store.advance(task, now=NOON, limit=2, lease=scene.lease)
        assert again.done == 4
        assert [due.seq for due in await scene.due()] == [3, 4], "the piece was done twice"

    async def test_a_finished_task_does_nothing_more(self, scene: Scene) -> None:
        task = await _finish(scene, await _put(scene, Work.RECOVER))
        await scene.add()
        await scene.settle(*map(failed, await scene.due()))
        again = await scene.store.advance(task, now=NOON + 99, limit=9, lease=scene.lease)
        assert again == task
        assert await scene.due() == []

    async def test_a_delivery_that_fails_during_a_task_does_not_disturb_it(
        self, scene: Scene
    ) -> None:
        for _ in range(3):
            await scene.add()
        await scene.settle(*map(failed, await scene.due()))
        task = await _put(scene, Work.RECOVER)
        await scene.store.advance(task, now=NOON, limit=1, lease=scene.lease)
        await scene.settle(*map(failed, await scene.due()))
        assert (await _finish(scene, task)).done == 3
        assert [due.seq for due in await scene.due()] == [2, 3]

    @pytest.mark.parametrize("work", ON_LANES)
    async def test_a_stale_lease_advances_nothing(
        self, scene: Scene, later: Later, work: Work
    ) -> None:
        await scene.add()
        task = await _add_task_for_all(scene, work)
        before = await scene.store.counts(task.lane)
        await later(LEASE_LENGTH + 1)
        await scene.store.lease("worker-2", most=len(scene.leases), length=LEASE_LENGTH)
        assert await scene.store.advance(task, now=NOON, limit=9, lease=scene.lease) == task
        assert await scene.store.get(Tasks(task.environment), task.id) == task
        assert await scene.store.counts(task.lane) == before

    async def test_deliveries_of_a_deleted_application_are_discarded(self, scene: Scene) -> None:
        second = await scene.add_endpoint()
        message = await scene.add()
        tasks = await scene.store.delete(
            Applications(scene.application.environment), scene.application.id, now=NOON
        )
        assert {task.endpoint for task in tasks} == {scene.endpoint.id, second.id}
        assert await scene.store.next_task(ALL_SHARDS) in tasks
        for task in tasks:
            assert (await _finish(scene, task)).done == 1
        deliveries = await scene.store.read(AllDeliveriesOf(message.id))
        assert {delivery.state for _, delivery in deliveries} == {State.DISCARDED}


async def _put(scene: Scene, work: Work, **values: object) -> Task:
    """Save a task of the endpoint, and return it."""
    task = a_task(scene.endpoint, work, **values)
    await scene.store.add_task(task)
    return task


async def _finish(scene: Scene, task: Task) -> Task:
    """Run a task to its end, a hundred deliveries at a time, and return it."""
    for _ in range(20):
        task = await scene.store.advance(task, now=NOON + 50, limit=100, lease=scene.lease)
        if task.finished_at is not None:
            return task
    raise AssertionError(f"the task does not finish: {task}")


async def _add_task_for_all(scene: Scene, work: Work) -> Task:
    """Save a task that has all messages to process, and return it."""
    endpoint = scene.endpoint
    if work is Work.RECOVER:
        await scene.settle(*map(failed, await scene.due()))
    elif work is Work.REPLAY_MISSING:
        endpoint = await scene.add_endpoint()
    elif work is Work.BULK_REPLAY:
        await scene.settle(*map(delivered, await scene.due()))
    task = a_task(endpoint, work)
    await scene.store.add_task(task)
    return task
