"""Bulk replays, purges, statistics, and tasks that are given up."""

import pytest
from msgspec.structs import replace

from tarry.service.model.application import shard_of
from tarry.service.model.delivery import Delivery, Reason, State
from tarry.service.model.endpoint import Endpoint, Standing
from tarry.service.model.lane import Stream
from tarry.service.model.listing import MessageFilter
from tarry.service.model.message import Message, NewMessage
from tarry.service.model.replay import Fate, ReplayFilter
from tarry.service.model.task import STATISTICS, Failure, Task, Work
from tarry.service.store.kinds import AllDeliveriesOf, Messages, Tasks
from tarry.testing.samples import (
    ALL_SHARDS,
    ENVIRONMENT,
    NOON,
    a_task,
    an_application,
    an_attempt,
    delivered,
    failed,
    new_message,
    postponed,
)
from tarry.testing.store_contract.scene import LEASE_LENGTH, Scene
from tarry.testing.store_contract.topic import Later, Topic


class BulkContract(Topic):
    """Tasks about several states of deliveries, or about no deliveries."""

    @pytest.mark.parametrize(
        ("fate", "replayed"),
        [
            (None, {"delivered", "failed", "ready", "waiting", "skipped", "missing"}),
            (Fate.SUCCESS, {"delivered"}),
            (Fate.FAIL, {"failed"}),
            (Fate.PENDING, {"ready", "waiting"}),
            (Fate.NEVER, {"skipped", "missing"}),
        ],
    )
    async def test_messages_are_replayed_by_the_state_of_their_deliveries(
        self, scene: Scene, fate: Fate | None, replayed: set[str]
    ) -> None:
        messages = await _every_fate(scene)
        before = {name: await _delivery_here(scene, message) for name, message in messages.items()}
        task = await _replay(scene, ReplayFilter(fate=fate))
        assert task.done == len(replayed)
        assert task.data == {"messagesSent": len(replayed)}
        for name, message in messages.items():
            delivery, previous = await _delivery_here(scene, message), before[name]
            if name not in replayed:
                assert delivery == previous, name
                continue
            assert delivery is not None, name
            assert (delivery.state, delivery.reason) == (State.READY, Reason.REPLAYED), name
            assert (delivery.attempts, delivery.memory, delivery.due_at) == (0, None, None), name
            assert (delivery.accepted_at, delivery.ended_at) == (NOON + 50, None), name
            if previous is not None:
                assert (delivery.seq, delivery.tries) == (previous.seq, previous.tries), name

    @pytest.mark.parametrize(
        ("message_filter", "chosen"),
        [
            (MessageFilter(event_types=("a",)), [0, 1]),
            (MessageFilter(event_types=("a", "b")), [0, 1, 2]),
            (MessageFilter(event_types=()), []),
            (MessageFilter(channel="eu"), [0, 2]),
            (MessageFilter(tag="t"), [1, 2]),
            (MessageFilter(event_types=("a",), channel="eu"), [0]),
            (MessageFilter(event_types=("a",), channel="eu", tag="t"), []),
        ],
    )
    async def test_messages_are_replayed_that_fit_all_that_is_named(
        self, scene: Scene, message_filter: MessageFilter, chosen: list[int]
    ) -> None:
        messages = [
            await scene.add(event_type="a", channels=("eu", "us")),
            await scene.add(event_type="a", tags=("t",)),
            await scene.add(event_type="b", channels=("eu",), tags=("s", "t")),
            await scene.add(event_type="c"),
        ]
        await scene.settle(*map(delivered, await scene.due()))
        task = await _replay(scene, ReplayFilter(message=message_filter))
        assert task.done == len(chosen)
        due = await scene.due()
        assert [delivery.message for delivery in due] == [messages[index].id for index in chosen]

    @pytest.mark.parametrize(
        ("status_class", "chosen"), [(0, [2]), (200, [0]), (400, [3]), (500, [1]), (300, [])]
    )
    async def test_the_last_attempt_here_says_which_class_it_was(
        self, scene: Scene, status_class: int, chosen: list[int]
    ) -> None:
        for _ in range(4):
            await scene.add()
        await scene.store.add([new_message(scene.application, channels=("none",))])
        ok, broken, silent, twice, _ = await scene.due()
        await scene.settle(
            delivered(ok),
            failed(broken, attempt=an_attempt(broken, status=503)),
            failed(silent, attempt=an_attempt(silent, status=None)),
            postponed(twice, NOON, attempt=an_attempt(twice, status=599)),
        )
        (again,) = await scene.due(Stream.WAITING)
        await scene.settle(failed(again, attempt=an_attempt(again, status=404)))
        other_endpoint = await scene.add_endpoint()
        assert (await _replay(scene, ReplayFilter(status_class=500), other_endpoint)).done == 0
        task = await _replay(scene, ReplayFilter(status_class=status_class))
        assert task.done == len(chosen)
        seqs = [due.seq for due in await scene.due() if due.accepted_at == NOON + 50]
        assert seqs == [index + 1 for index in chosen]

    async def test_a_replay_creates_only_deliveries_that_the_endpoint_wants(
        self, scene: Scene
    ) -> None:
        fitting = await scene.add(event_type="a", channels=("eu",))
        await scene.add(event_type="b", channels=("eu",))
        await scene.add(event_type="a", channels=("us",))
        later_endpoint = await scene.add_endpoint(event_types=("a",), channels=("eu",))
        assert (await _replay(scene, ReplayFilter(), later_endpoint)).done == 1
        assert [due.message for due in await scene.due(lane=later_endpoint.lane)] == [fitting.id]
        deliveries = await scene.store.read(AllDeliveriesOf(fitting.id))
        assert {endpoint.id for endpoint, _ in deliveries} == {scene.endpoint.id, later_endpoint.id}

    async def test_a_replay_repeats_deliveries_that_the_endpoint_no_longer_wants(
        self, scene: Scene
    ) -> None:
        await scene.add(event_type="a")
        await scene.settle(*map(delivered, await scene.due()))
        await scene.store.put(replace(scene.endpoint, event_types=("b",)))
        assert (await _replay(scene, ReplayFilter())).done == 1

    async def test_a_replay_skips_expunged_and_scheduled_messages(self, scene: Scene) -> None:
        expunged = await scene.add()
        await scene.settle(*map(delivered, await scene.due()))
        await scene.store.expunge(Messages(scene.application.id), expunged.id)
        scheduled = await scene.add(deliver_at=NOON + 51)
        later_endpoint = await scene.add_endpoint()
        before = await scene.delivery(scheduled)
        missed = a_task(later_endpoint, Work.REPLAY_MISSING)
        await scene.store.add_task(missed)
        assert (await _finish(scene, missed)).done == 0
        assert (await _replay(scene, ReplayFilter())).done == 0
        assert (await _replay(scene, ReplayFilter(), later_endpoint)).done == 0
        assert (await scene.delivery(expunged)).state is State.DELIVERED
        assert await scene.delivery(scheduled) == before
        due = await scene.add(deliver_at=NOON + 50)
        assert (await _replay(scene, ReplayFilter())).done == 1
        assert (await scene.delivery(due)).state is State.READY

    async def test_a_replay_wakes_a_lane_at_rest(self, scene: Scene) -> None:
        await scene.add()
        await scene.settle(*map(delivered, await scene.due()))
        await scene.store.add_task(task := a_task(scene.endpoint, Work.BULK_REPLAY))
        await scene.store.woken(scene.leases)
        await scene.rest()
        await _finish(scene, task)
        assert await scene.store.woken(scene.leases) == [scene.lane]

    @pytest.mark.parametrize("work", sorted(STATISTICS))
    async def test_a_count_is_the_next_task_only_of_workers_that_count(
        self, scene: Scene, work: Work
    ) -> None:
        store = scene.store
        task = _a_count(work)
        await store.add_task(task)
        assert await store.get(Tasks(ENVIRONMENT), task.id) == task
        assert await store.next_task(ALL_SHARDS) is None
        assert await store.next_task(ALL_SHARDS, STATISTICS) == task
        others = [shard for shard in ALL_SHARDS if shard != shard_of("")]
        assert await store.next_task(others, STATISTICS) is None
        for other in STATISTICS - {work}:
            assert await store.next_task(ALL_SHARDS, {other}) is None
        replay = await _put(scene)
        assert await store.next_task(ALL_SHARDS, STATISTICS) == task
        assert await store.next_task(ALL_SHARDS) == replay

    async def test_a_count_is_finished_with_its_result(self, scene: Scene) -> None:
        store, task = scene.store, _a_count(Work.APP_STATS)
        await store.add_task(task)
        lease = next(lease for lease in scene.leases if lease.shard == shard_of(""))
        data = {"apps": [{"count": 3, "share": 0.5, "name": "é"}], "none": None}
        done = await store.finish(task, data, now=NOON + 5, lease=lease)
        assert done == replace(task, data=data, finished_at=NOON + 5)
        assert await store.get(Tasks(ENVIRONMENT), task.id) == done
        assert await store.next_task(ALL_SHARDS, STATISTICS) is None
        again = await store.finish(task, {}, now=NOON + 6, lease=lease)
        assert again == done, "a finished task does not change"

    async def test_nothing_is_finished_under_a_stale_lease(
        self, scene: Scene, later: Later
    ) -> None:
        task = _a_count(Work.APP_STATS)
        await scene.store.add_task(task)
        leases = {lease.shard == shard_of(""): lease for lease in scene.leases}
        assert await scene.store.finish(task, {}, now=NOON, lease=leases[False]) == task
        await later(LEASE_LENGTH + 1)
        await scene.store.lease("worker-2", most=len(scene.leases), length=LEASE_LENGTH)
        assert await scene.store.finish(task, {}, now=NOON, lease=leases[True]) == task
        assert await scene.store.get(Tasks(ENVIRONMENT), task.id) == task

    async def test_a_task_that_is_given_up_makes_room_for_the_next(self, scene: Scene) -> None:
        message = await scene.add()
        await scene.settle(*map(failed, await scene.due()))
        first = await _put(scene, created_at=NOON)
        second = await _put(scene, created_at=NOON + 1)
        given_up = await scene.store.finish(
            first, Failure("it won't do"), now=NOON + 5, lease=scene.lease
        )
        assert given_up == replace(first, failed="it won't do", finished_at=NOON + 5)
        assert await scene.store.get(Tasks(ENVIRONMENT), first.id) == given_up
        assert await scene.store.next_task(ALL_SHARDS) == second
        assert await scene.store.advance(first, now=NOON, limit=9, lease=scene.lease) == given_up
        assert (await scene.delivery(message)).state is State.FAILED
        again = await scene.store.finish(first, Failure("again"), now=NOON + 6, lease=scene.lease)
        assert again == given_up, "a task that was given up does not change"

    async def test_nothing_is_given_up_under_a_stale_lease(
        self, scene: Scene, later: Later
    ) -> None:
        task = await _put(scene)
        await later(LEASE_LENGTH + 1)
        await scene.store.lease("worker-2", most=len(scene.leases), length=LEASE_LENGTH)
        assert await scene.store.finish(task, Failure("why"), now=NOON, lease=scene.lease) == task
        assert await scene.store.get(Tasks(ENVIRONMENT), task.id) == task

    async def test_the_lease_of_another_shard_advances_nothing(self, scene: Scene) -> None:
        task = await _put(scene)
        other = next(lease for lease in scene.leases if lease.shard != scene.application.shard)
        assert await scene.store.advance(task, now=NOON, limit=9, lease=other) == task
        assert await scene.store.finish(task, Failure("why"), now=NOON, lease=other) == task

    async def test_payloads_of_an_application_are_purged_in_pieces(self, scene: Scene) -> None:
        other = an_application()
        await scene.store.put(other)
        foreign = new_message(other).message
        await scene.store.add([NewMessage(foreign)])
        old = [await scene.add(accepted_at=NOON - 1) for _ in range(5)]
        new = await scene.add(accepted_at=NOON)
        await scene.store.expunge(Messages(scene.application.id), old[1].id)
        task = await _purge(scene, until=NOON)
        assert await scene.store.next_task([scene.application.shard]) == task
        done = []
        while task.finished_at is None:
            task = await scene.store.advance(task, now=NOON + 50, limit=3, lease=scene.lease)
            done.append(task.done)
        assert done[:2] == [3, 4], done
        assert task.data == {"messagesPurged": 4}
        messages = [
            await scene.store.get(Messages(scene.application.id), message.id)
            for message in (*old, new)
        ]
        assert [message.payload for message in messages] == [*[None] * 5, new.payload]
        assert await scene.store.get(Messages(other.id), foreign.id) == foreign
        assert (await scene.row()).waiting == 6, "a purge ends no waiting delivery"

    async def test_a_purge_needs_the_lease_of_its_application(
        self, scene: Scene, later: Later
    ) -> None:
        message = await scene.add()
        task = await _purge(scene)
        await later(LEASE_LENGTH + 1)
        await scene.store.lease("worker-2", most=len(scene.leases), length=LEASE_LENGTH)
        assert await scene.store.advance(task, now=NOON, limit=9, lease=scene.lease) == task
        assert await scene.store.get(Messages(scene.application.id), message.id) == message


async def _put(scene: Scene, **values: float) -> Task:
    """Save a task of the endpoint, and return it."""
    task = a_task(scene.endpoint, Work.RECOVER, **values)
    await scene.store.add_task(task)
    return task


async def _purge(scene: Scene, until: float | None = None) -> Task:
    """Save a purge of the application, and return it."""
    task = Task(
        id="qtask_purge",
        work=Work.PURGE_CONTENT,
        environment=ENVIRONMENT,
        application=scene.application.id,
        until=until,
        created_at=NOON,
    )
    await scene.store.add_task(task)
    return task


async def _replay(
    scene: Scene, replay_filter: ReplayFilter, endpoint: Endpoint | None = None
) -> Task:
    """Run a bulk replay to its end, and return the task."""
    task = a_task(endpoint or scene.endpoint, Work.BULK_REPLAY, wanted=replay_filter)
    await scene.store.add_task(task)
    return await _finish(scene, task)


async def _finish(scene: Scene, task: Task) -> Task:
    """Do a task in pieces of two until it is finished."""
    for _ in range(20):
        task = await scene.store.advance(task, now=NOON + 50, limit=2, lease=scene.lease)
        if task.finished_at is not None:
            return task
    raise AssertionError(f"the task does not finish: {task}")


async def _every_fate(scene: Scene) -> dict[str, Message]:
    """Add one message for each fate at the endpoint; return them by name."""
    messages: dict[str, Message] = {}
    await scene.store.put(replace(scene.endpoint, event_types=()))
    messages["missing"] = await scene.add()
    await scene.store.put(replace(scene.endpoint, standing=Standing.DISABLED))
    messages["skipped"] = await scene.add()
    await scene.store.put(scene.endpoint)
    for name in ("delivered", "failed", "waiting", "ready", "cancelled"):
        messages[name] = await scene.add()
    first, second, third, *_ = await scene.due()
    await scene.settle(delivered(first), failed(second), postponed(third, NOON + 9))
    await scene.store.cancel(scene.application.id, messages["cancelled"].id, now=NOON)
    return messages


def _a_count(work: Work) -> Task:
    """Return a task for statistics, without an application."""
    return Task(
        id="qtask_stats",
        work=work,
        environment=ENVIRONMENT,
        data={"appIds": ["app_1"]},
        created_at=NOON,
    )


async def _delivery_here(scene: Scene, message: Message) -> Delivery | None:
    """Return a message's delivery at the endpoint, if it has one."""
    deliveries = await scene.store.read(AllDeliveriesOf(message.id))
    return next(
        (delivery for endpoint, delivery in deliveries if endpoint.id == scene.endpoint.id), None
    )
