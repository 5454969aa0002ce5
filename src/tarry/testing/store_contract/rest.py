"""Rest: a lane with nothing to send is left alone until it is woken."""

import asyncio

import pytest
from msgspec.structs import replace

from tarry.service.model.endpoint import Standing
from tarry.service.model.task import Work
from tarry.service.store.kinds import Applications, Environment
from tarry.testing.samples import (
    ALL_SHARDS,
    ENVIRONMENT,
    NOON,
    a_task,
    an_application,
    an_endpoint,
    delivered,
    failed,
    new_message,
)
from tarry.testing.store_contract.scene import LEASE_LENGTH, Scene
from tarry.testing.store_contract.topic import Later, Topic


class RestContract(Topic):
    """No wake-up is lost, and none is returned twice."""

    async def test_a_new_lane_is_awake_and_woken_returns_it_once(self, scene: Scene) -> None:
        endpoint = await scene.store.put(an_endpoint(scene.application))
        assert set(await scene.store.awake(ALL_SHARDS)) == {scene.lane, endpoint.lane}
        assert await scene.store.woken(scene.leases) == [endpoint.lane]
        assert await scene.store.woken(scene.leases) == []

    async def test_a_policy_of_its_environment_wakes_a_lane_unless_it_is_at_rest(
        self, scene: Scene
    ) -> None:
        store = scene.store
        idle = await store.put(an_endpoint(scene.application))
        await store.put(Environment("org_other"))
        foreign = an_application(environment="org_other")
        await store.put(foreign)
        await store.put(an_endpoint(foreign))
        await store.woken(scene.leases)
        await scene.store.rest({idle.lane: 0}, scene.leases)
        await store.put(Environment(ENVIRONMENT, '{"attempts": 3}'))
        assert await store.woken(scene.leases) == [scene.lane]
        assert await store.awake(ALL_SHARDS) != []
        assert idle.lane not in await store.awake(ALL_SHARDS)
        await store.put(Environment(ENVIRONMENT))
        assert await store.woken(scene.leases) == [scene.lane]
        assert await store.woken(scene.leases) == []

    async def test_woken_returns_only_lanes_of_the_leased_shards(self, scene: Scene) -> None:
        others = [lease for lease in scene.leases if lease.shard != scene.application.shard]
        await scene.store.put(scene.endpoint)
        assert await scene.store.awake([lease.shard for lease in others]) == []
        assert await scene.store.woken(others) == []
        assert await scene.store.awake([scene.application.shard]) == [scene.lane]
        assert await scene.store.woken([scene.lease]) == [scene.lane]

    async def test_a_worker_that_lost_a_shard_gets_none_of_its_wake_ups(
        self, scene: Scene, later: Later
    ) -> None:
        await scene.rest()
        await later(LEASE_LENGTH + 1)
        await scene.add()
        owned = await scene.store.lease("worker-2", most=len(scene.leases), length=LEASE_LENGTH)
        assert await scene.store.woken(scene.leases) == []
        assert await scene.store.woken(owned) == [scene.lane]
        assert await scene.store.woken(owned) == []

    async def test_a_shard_that_was_given_back_keeps_its_wake_ups(self, scene: Scene) -> None:
        await scene.rest()
        await scene.store.release(scene.leases)
        await scene.add()
        assert await scene.store.woken(scene.leases) == []
        again = await scene.store.lease("worker-1", most=len(scene.leases), length=LEASE_LENGTH)
        assert await scene.store.woken(scene.leases) == []
        assert await scene.store.woken(again) == [scene.lane]

    async def test_a_lane_with_nothing_to_send_may_rest(self, scene: Scene) -> None:
        await scene.add()
        await scene.settle(*map(delivered, await scene.due()))
        assert await scene.store.rest({scene.lane: 1}, scene.leases) == {scene.lane}
        assert await scene.store.awake(ALL_SHARDS) == []

    async def test_a_lane_with_something_to_send_stays_awake(self, scene: Scene) -> None:
        message = await scene.add()
        assert await scene.store.rest({scene.lane: 1}, scene.leases) == set()
        await scene.settle(*map(delivered, await scene.due()))
        await scene.store.resend(scene.endpoint, message.id, resend="r1")
        assert await scene.store.rest({scene.lane: 1}, scene.leases) == set()
        assert await scene.store.awake(ALL_SHARDS) == [scene.lane]

    async def test_the_next_delivery_wakes_a_dozing_lane_though_others_are_live(
        self, scene: Scene
    ) -> None:
        await scene.add()
        assert await scene.store.rest({scene.lane: 1}, scene.leases, doze=True) == {scene.lane}
        assert await scene.store.woken(scene.leases) == []
        await scene.add()
        assert await scene.store.woken(scene.leases) == [scene.lane]
        await scene.add()
        assert await scene.store.woken(scene.leases) == []

    async def test_a_dozing_lane_is_there_for_a_new_owner(self, scene: Scene) -> None:
        await scene.add()
        await scene.store.rest({scene.lane: 1}, scene.leases, doze=True)
        assert await scene.store.awake(ALL_SHARDS) == [scene.lane]

    async def test_a_dozing_lane_may_rest_when_all_is_done(self, scene: Scene) -> None:
        await scene.add()
        await scene.store.rest({scene.lane: 1}, scene.leases, doze=True)
        await scene.settle(*map(delivered, await scene.due()))
        assert await scene.store.rest({scene.lane: 1}, scene.leases) == {scene.lane}
        assert await scene.store.awake(ALL_SHARDS) == []
        await scene.add()
        assert await scene.store.woken(scene.leases) == [scene.lane]
        await scene.add()
        assert await scene.store.woken(scene.leases) == []

    async def test_a_replay_wakes_a_dozing_lane_once(self, scene: Scene) -> None:
        await scene.store.add([new_message(scene.application) for _ in range(3)])
        first, *others = await scene.due()
        await scene.settle(*map(failed, others))
        task = a_task(scene.endpoint, Work.RECOVER)
        await scene.store.add_task(task)
        await scene.store.woken(scene.leases)
        assert await scene.store.rest({first.lane: 3}, scene.leases, doze=True) == {first.lane}
        for woken in ([scene.lane], []):
            await scene.store.advance(task, now=NOON, limit=1, lease=scene.lease)
            assert await scene.store.woken(scene.leases) == woken

    async def test_no_lane_dozes_that_got_more_than_its_owner_knows(self, scene: Scene) -> None:
        await scene.add()
        assert await scene.store.rest({scene.lane: 0}, scene.leases, doze=True) == set()
        await scene.add()
        assert await scene.store.woken(scene.leases) == []

    async def test_a_stale_lease_lets_nothing_doze(self, scene: Scene, later: Later) -> None:
        others = [lease for lease in scene.leases if lease.shard != scene.application.shard]
        assert await scene.store.rest({scene.lane: 0}, others, doze=True) == set()
        await later(LEASE_LENGTH + 1)
        await scene.store.lease("worker-2", most=len(scene.leases), length=LEASE_LENGTH)
        assert await scene.store.rest({scene.lane: 0}, scene.leases, doze=True) == set()

    async def test_a_lane_that_got_more_than_its_owner_knows_stays_awake(
        self, scene: Scene
    ) -> None:
        await scene.store.add([new_message(scene.application) for _ in range(2)])
        await scene.settle(*map(delivered, await scene.due()))
        assert await scene.store.rest({scene.lane: 1}, scene.leases) == set()
        assert await scene.store.rest({scene.lane: 2}, scene.leases) == {scene.lane}

    async def test_each_lane_rests_for_itself(self, scene: Scene) -> None:
        idle, busy = await scene.add_endpoint(), await scene.add_endpoint(event_types=("b",))
        await scene.add(event_type="b")
        await scene.settle(*map(delivered, await scene.due()))
        await scene.settle(*map(delivered, await scene.due(lane=idle.lane)))
        added_by_lane = {scene.lane: 1, idle.lane: 1, busy.lane: 1, scene.lane + 1000: 0}
        assert await scene.store.rest(added_by_lane, scene.leases) == {scene.lane, idle.lane}
        assert await scene.store.awake(ALL_SHARDS) == [busy.lane]

    async def test_a_stale_lease_lets_nothing_rest(self, scene: Scene, later: Later) -> None:
        await later(LEASE_LENGTH + 1)
        await scene.store.lease("worker-2", most=len(scene.leases), length=LEASE_LENGTH)
        assert await scene.store.rest({scene.lane: 0}, scene.leases) == set()
        assert await scene.store.awake(ALL_SHARDS) == [scene.lane]

    async def test_a_lease_of_another_shard_lets_nothing_rest(self, scene: Scene) -> None:
        others = [lease for lease in scene.leases if lease.shard != scene.application.shard]
        assert await scene.store.rest({scene.lane: 0}, others) == set()

    async def test_a_delivery_wakes_a_lane_at_rest_once(self, scene: Scene) -> None:
        await scene.rest()
        await scene.add()
        await scene.add()
        assert await scene.store.awake(ALL_SHARDS) == [scene.lane]
        assert await scene.store.woken(scene.leases) == [scene.lane]
        assert await scene.store.woken(scene.leases) == []

    async def test_a_scheduled_delivery_wakes_a_lane_at_rest(self, scene: Scene) -> None:
        await scene.rest()
        await scene.add(deliver_at=NOON + 60)
        assert await scene.store.woken(scene.leases) == [scene.lane]

    async def test_a_scheduled_delivery_wakes_a_lane_that_is_awake(self, scene: Scene) -> None:
        await scene.add()
        assert await scene.store.woken(scene.leases) == []
        await scene.add(deliver_at=NOON + 60)
        assert await scene.store.woken(scene.leases) == [scene.lane]
        assert await scene.store.woken(scene.leases) == []

    async def test_a_delivery_does_not_wake_a_lane_that_is_awake(self, scene: Scene) -> None:
        await scene.add()
        assert await scene.store.woken(scene.leases) == []

    async def test_a_skipped_delivery_wakes_no_lane(self, scene: Scene) -> None:
        await scene.store.put(replace(scene.endpoint, standing=Standing.DISABLED))
        await scene.store.woken(scene.leases)
        await scene.rest()
        await scene.add()
        assert await scene.store.woken(scene.leases) == []
        assert await scene.store.awake(ALL_SHARDS) == []

    async def test_a_lane_that_was_woken_may_rest_again(self, scene: Scene) -> None:
        for _ in range(2):
            await scene.rest()
            await scene.add()
            assert await scene.store.woken(scene.leases) == [scene.lane]
            await scene.settle(*map(delivered, await scene.due()))

    async def test_an_unread_wake_up_outlives_rest(self, scene: Scene) -> None:
        await scene.store.put(scene.endpoint)
        await scene.rest()
        assert await scene.store.woken(scene.leases) == [scene.lane]

    @pytest.mark.parametrize("resting", [True, False])
    @pytest.mark.parametrize(
        "change", ["endpoint", "deletion", "application", "cancel", "resend", "task"]
    )
    async def test_whatever_others_change_wakes_the_lane_once(
        self, scene: Scene, change: str, *, resting: bool
    ) -> None:
        message = await scene.add()
        if resting and change != "cancel":
            await scene.settle(*map(delivered, await scene.due()))
            await scene.rest()
        match change:
            case "endpoint":
                await scene.store.put(replace(scene.endpoint, rate=5.0))
            case "deletion":
                await scene.store.delete(
                    Applications(scene.application.environment), scene.application.id, now=NOON
                )
            case "application":
                await scene.store.put(replace(scene.application, rate=5.0))
            case "cancel":
                await scene.store.cancel(scene.application.id, message.id, now=NOON)
            case "resend":
                await scene.store.resend(scene.endpoint, message.id, resend="r1")
            case _:
                await scene.store.add_task(a_task(scene.endpoint, Work.RECOVER))
        assert await scene.store.awake(ALL_SHARDS) == [scene.lane]
        assert await scene.store.woken(scene.leases) == [scene.lane]
        assert await scene.store.woken(scene.leases) == []

    async def test_a_change_of_another_application_wakes_only_its_own_lanes(
        self, scene: Scene
    ) -> None:
        other = an_application()
        await scene.store.put(other)
        other_endpoint = await scene.store.put(an_endpoint(other))
        await scene.store.put(replace(other, rate=1.0))
        assert await scene.store.woken(scene.leases) == [other_endpoint.lane]

    async def test_a_replay_wakes_a_lane_at_rest_and_only_such_a_one(self, scene: Scene) -> None:
        await scene.store.add([new_message(scene.application) for _ in range(2)])
        await scene.settle(*map(failed, await scene.due()))
        task = a_task(scene.endpoint, Work.RECOVER)
        await scene.store.add_task(task)
        await scene.store.woken(scene.leases)
        await scene.rest()
        for woken in ([scene.lane], []):
            await scene.store.advance(task, now=NOON, limit=1, lease=scene.lease)
            assert await scene.store.woken(scene.leases) == woken

    async def test_listeners_are_nudged_after_a_wake_up(self, scene: Scene) -> None:
        nudged = asyncio.Event()
        scene.store.listen(nudged.set)
        await scene.rest()
        await scene.add()
        async with asyncio.timeout(10):
            await nudged.wait()
        assert await scene.store.woken(scene.leases) == [scene.lane]
