"""The watchdog wakes a lane that was forgotten, counts it, and leaves all others alone."""

import asyncio
import logging
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from tarry.errors import StoreUnavailable
from tarry.service.dispatch.gauges import gauges
from tarry.service.dispatch.upkeep.watchdog import SECOND_LOOK, is_idle
from tarry.service.model.application import SHARDS
from tarry.service.model.lane import Fetched, Lease, Want
from tarry.service.model.settings import HOUR, Limits
from tarry.service.wire.exchange import Answer
from tarry.testing.samples import a_due
from tarry.testing.shaky_store import Between, Shaky
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import DOWN, virtual_service
from tests.service.dispatch.lane.test_lane import a_lane

WATCH = 15.0
LIMITS = Limits(watch=WATCH, look=5.0, keep_up=24 * HOUR)


class LosesWakeUps(Shaky):
    """A store whose wake-ups get lost, as if a rule of the dispatcher were wrong."""

    loses = False

    async def woken(self, leases: Sequence[Lease]) -> list[int]:
        woken = await self._store.woken(leases)
        return [] if self.loses else woken


class HoldsUpWakeUps(Shaky):
    """A store with a connection whose answer takes long, while all others work."""

    held_up = False

    async def woken(self, leases: Sequence[Lease]) -> list[int]:
        woken = await self._store.woken(leases)
        if self.held_up:
            await asyncio.sleep(5 * WATCH)
        return woken


class RefusesWakeUps(Shaky):
    """A store with a connection that fails, while all others work."""

    refuses = False

    async def woken(self, leases: Sequence[Lease]) -> list[int]:
        if self.refuses:
            raise StoreUnavailable("gone")
        return await self._store.woken(leases)


class FailsOver(LosesWakeUps):
    """A store whose standby takes over: what it told the first look is true once more."""

    is_standby = False
    first_awake: list[int] | None = None
    first_ready: Fetched | None = None

    async def awake(self, shards: Sequence[int]) -> list[int]:
        awake = await self._store.awake(shards)
        self.first_awake = self.first_awake or awake
        return self.first_awake if self.is_standby else awake

    async def fetch(self, wants: Sequence[Want], *, now: float, most_bytes: int) -> Fetched:
        fetched = await self._store.fetch(wants, now=now, most_bytes=most_bytes)
        if fetched.due and self.first_ready is None:
            self.first_ready = fetched
        return self.first_ready if self.is_standby and self.first_ready else fetched


@virtually
async def test_a_lane_whose_wake_up_was_lost_is_found_and_its_delivery_is_sent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    between = Between(LosesWakeUps)
    async with virtual_service(through=between, limits=LIMITS) as service:
        endpoint = await service.add_endpoint("a.example")
        await service.add(deliver_at=service.now() + HOUR)  # so that the lane stays in memory
        await asyncio.sleep(1)
        between.shaky.loses = True
        await service.add(3)
        with caplog.at_level(logging.ERROR):
            await asyncio.sleep(WATCH + SECOND_LOOK + 1)
        assert len(service.sender.sent) == 3
        assert gauges(service.dispatcher).stalled == 1
        assert endpoint.id in caplog.text


class LosesRows(LosesWakeUps):
    """A store with a failover between two looks: each look finds another first row."""

    looks = 0

    async def fetch(self, wants: Sequence[Want], *, now: float, most_bytes: int) -> Fetched:
        fetched = await self._store.fetch(wants, now=now, most_bytes=most_bytes)
        if most_bytes:  # it is the lane's own query
            return fetched
        self.looks += 1
        return replace(fetched, due=[replace(row, seq=row.seq + self.looks) for row in fetched.due])


@virtually
async def test_a_lane_whose_first_ready_row_changes_between_two_looks_is_no_stall() -> None:
    between = Between(LosesRows)
    async with virtual_service(through=between, limits=LIMITS) as service:
        await service.add_endpoint("a.example")
        await service.add(deliver_at=service.now() + HOUR)  # so that the lane stays in memory
        await asyncio.sleep(1)
        between.shaky.loses = True
        await service.add(3)
        await asyncio.sleep(4 * WATCH)
        assert between.shaky.looks >= 4
        assert gauges(service.dispatcher).stalled == 0


@virtually
async def test_a_lane_that_is_missing_in_memory_is_loaded_and_its_deliveries_are_sent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    between = Between(LosesWakeUps)
    async with virtual_service(through=between, limits=LIMITS) as service:
        await service.add_endpoint("a.example")
        await asyncio.sleep(1)  # the lane is at rest, and has left memory
        assert not list(service.dispatcher.shards.lanes())
        between.shaky.loses = True
        await service.add(3)
        with caplog.at_level(logging.ERROR):
            await asyncio.sleep(2 * WATCH + 1)
        assert len(service.sender.sent) == 3
        assert gauges(service.dispatcher).stalled == 1
        assert "was not loaded" in caplog.text
        await asyncio.sleep(4 * WATCH)
        assert gauges(service.dispatcher).stalled == 1


@virtually
async def test_a_lane_that_is_missing_at_one_look_alone_is_no_stall() -> None:
    between = Between(LosesWakeUps)
    async with virtual_service(through=between, limits=LIMITS) as service:
        await service.add_endpoint("a.example")
        await asyncio.sleep(WATCH - 2)
        for sent in (1, 2, 3):  # missing at three looks, each time with another delivery
            between.shaky.loses = True
            await service.add()
            await asyncio.sleep(4)
            between.shaky.loses = False
            await service.dispatcher.loader.load(await service.store.awake(range(SHARDS)))
            await asyncio.sleep(WATCH - 4)
            assert len(service.sender.sent) == sent
        assert gauges(service.dispatcher).stalled == 0


@virtually
async def test_a_lane_that_was_loaded_between_two_looks_is_no_stall() -> None:
    between = Between(FailsOver)
    async with virtual_service(through=between, limits=LIMITS) as service:
        await service.add_endpoint("a.example")
        await asyncio.sleep(1)
        between.shaky.loses = True
        await service.add()
        watchdog = service.dispatcher.watchdog
        await watchdog.look_once()
        await service.dispatcher.loader.load(await service.store.awake(range(SHARDS)))
        await asyncio.sleep(1)
        assert len(service.sender.sent) == 1
        between.shaky.is_standby = True
        for stalled in (0, 1):  # missing at the second look, and then at two in a row
            await watchdog.look_once()
            assert gauges(service.dispatcher).stalled == stalled


@virtually
async def test_lanes_that_are_being_loaded_are_not_missing() -> None:
    between = Between(LosesWakeUps)
    async with virtual_service(through=between, limits=LIMITS) as service:
        await service.add_endpoint("a.example")
        await asyncio.sleep(1)
        between.shaky.loses = True
        await service.add()
        service.dispatcher.work.add_to_load([10**9])  # a list that does not end
        await asyncio.sleep(0)
        assert service.dispatcher.loader.is_busy
        await service.dispatcher.watchdog.look_once()
        await service.dispatcher.watchdog.look_once()
        assert gauges(service.dispatcher).stalled == 0


@pytest.mark.parametrize("in_memory", [True, False])
@virtually
async def test_lanes_whose_wake_up_is_held_up_are_not_forgotten(in_memory: bool) -> None:  # noqa: FBT001  a case
    between = Between(HoldsUpWakeUps)
    async with virtual_service(through=between, limits=LIMITS) as service:
        await service.add_endpoint("a.example")
        if in_memory:
            await service.add(deliver_at=service.now() + HOUR)
        await asyncio.sleep(1)
        between.shaky.held_up = True
        await service.add()
        await asyncio.sleep(4 * WATCH)
        assert not service.sender.sent
        assert gauges(service.dispatcher).stalled == 0
        between.shaky.held_up = False
        await asyncio.sleep(2 * WATCH)
        assert len(service.sender.sent) == 1
        assert gauges(service.dispatcher).stalled == 0


@virtually
async def test_a_lane_is_not_forgotten_while_asking_for_wake_ups_fails() -> None:
    between = Between(RefusesWakeUps)
    async with virtual_service(through=between, limits=LIMITS) as service:
        await service.add_endpoint("a.example")
        await asyncio.sleep(1)
        between.shaky.refuses = True
        await service.add()
        await asyncio.sleep(4 * WATCH)
        assert not service.sender.sent
        between.shaky.refuses = False
        await asyncio.sleep(2 * WATCH)
        assert len(service.sender.sent) == 1
        assert gauges(service.dispatcher).stalled == 0


@virtually
async def test_lanes_that_wait_for_a_reason_are_left_alone() -> None:
    async with virtual_service(limits=LIMITS) as service:
        slow = await service.add_endpoint("slow.example", lambda _r, _n: Answer(10, status=200))
        await service.add_endpoint("down.example", lambda _r, _n: DOWN)
        await service.add_endpoint("rare.example", rate=0.1)
        await service.add_endpoint("idle.example", event_types=("never",))
        await service.add_endpoint("later.example")
        await service.add(20)
        await service.add(deliver_at=service.now() + HOUR)
        await asyncio.sleep(10 * WATCH)
        assert await service.waiting(slow) == 1
        assert gauges(service.dispatcher).stalled == 0


@virtually
async def test_a_wake_up_that_is_only_late_is_no_stall() -> None:
    between = Between(LosesWakeUps)
    async with virtual_service(through=between, limits=LIMITS) as service:
        await service.add_endpoint("a.example")
        await service.add(deliver_at=service.now() + HOUR)
        await asyncio.sleep(1)
        watched_at = asyncio.get_running_loop().time() // WATCH * WATCH + WATCH
        await asyncio.sleep(watched_at - asyncio.get_running_loop().time() - 0.5)
        between.shaky.loses = True
        await service.add()
        await asyncio.sleep(1.5)
        between.shaky.loses = False
        held = service.dispatcher.shards.owned[service.application.shard]
        next(iter(held.lanes.values())).start_over()
        await asyncio.sleep(WATCH)
        assert len(service.sender.sent) == 1
        assert gauges(service.dispatcher).stalled == 0


@virtually
async def test_only_a_lane_that_could_send_and_does_nothing_is_idle() -> None:
    async with virtual_service(limits=LIMITS) as service:
        lane, now = await a_lane(service), service.now()
        buffer = lane.backlog.buffer
        assert is_idle(lane, now)
        ends_at = lane.held.until
        assert not is_idle(lane, ends_at)  # it asks again when the lease is renewed
        lane.held.renew(now + 1000)
        lane.backlog.ask()
        assert not is_idle(lane, now)
        lane.backlog.fetched(1)
        lane.context.unwritten.take_anyway(lane)
        lane.begin_outcome()
        assert not is_idle(lane, now)
        lane.count_written()
        buffer.mark_busy(a_due())
        assert not is_idle(lane, now)
        buffer.busy = {}
        lane.gate.hold(now + 1)  # the endpoint asked for it
        assert not is_idle(lane, now)
        assert is_idle(lane, now + 1)
        lane.open_alone(now)
        assert not is_idle(lane, now + 600)
        lane.gate.close()
        assert is_idle(lane, now + 600)
        lane.leave()
        assert not is_idle(lane, now + 600)
