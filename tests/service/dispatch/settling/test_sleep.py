"""Lanes sleep that have nothing to read, and are awake when something comes meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping

import pytest
from msgspec.structs import replace

from tarry.errors import StoreUnavailable
from tarry.service.dispatch.settling.sleep import Sleep
from tarry.service.dispatch.work import Signals
from tarry.service.model.lane import Lease
from tarry.service.model.settings import HOUR, Limits
from tarry.service.store.contract import Store
from tarry.service.wire.exchange import Answer
from tarry.testing.shaky_store import Between, Shaky
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import VirtualService, virtual_service
from tests.service.dispatch.lane.test_lane import a_lane
from tests.service.dispatch.ownership.test_owner import owner_of


def lanes_of(service: VirtualService) -> list[bool]:
    """Whether those at work doze."""
    held = service.dispatcher.shards.owned[service.application.shard]
    return [lane.backlog.asleep for lane in held.lanes.values()]


@virtually
async def test_a_lane_with_nothing_to_do_is_let_go_and_one_that_waits_for_a_time_dozes() -> None:
    async with virtual_service() as service:
        endpoint = await service.add_endpoint("a.example")
        await service.add()
        await service.until_delivered(endpoint, within=1)
        await asyncio.sleep(1)
        assert lanes_of(service) == []
        await service.add(deliver_at=service.now() + HOUR)
        await asyncio.sleep(1)
        assert lanes_of(service) == [True]


class Late(Shaky):
    """Something comes just before a lane is let go."""

    comes: Callable[[], Awaitable[object]] | None = None

    async def rest(
        self, lanes: Mapping[int, int], leases: Iterable[Lease], *, doze: bool = False
    ) -> set[int]:
        if not doze:
            comes, self.comes = self.comes, None
            if comes is not None:
                await comes()
        return await self._store.rest(lanes, leases, doze=doze)


@virtually
async def test_a_lane_to_which_something_is_added_meanwhile_goes_on() -> None:
    between = Between(Late)
    limits = Limits(look=300, keep_up=600)  # nobody looks before that
    async with virtual_service(through=between, limits=limits) as service:
        endpoint = await service.add_endpoint("a.example")
        between.shaky.comes = service.add
        await service.add()
        await asyncio.sleep(1)
        assert await service.waiting(endpoint) == 0
        assert len(service.sender.sent) == 2


class Away(Shaky):
    """The database is away for a while when lanes ask whether they may sleep."""

    refused = 0

    async def rest(
        self, lanes: Mapping[int, int], leases: Iterable[Lease], *, doze: bool = False
    ) -> set[int]:
        if doze and self.refused < 3:
            self.refused += 1
            raise StoreUnavailable("the database is away")
        return await self._store.rest(lanes, leases, doze=doze)


@virtually
async def test_lanes_that_found_the_database_away_sleep_once_it_is_back() -> None:
    between = Between(Away)
    limits = Limits(look=300, keep_up=600)
    async with virtual_service(through=between, limits=limits) as service:
        for name in "ab":
            await service.add_endpoint(f"{name}.example")
        await service.add(deliver_at=service.now() + HOUR)
        await asyncio.sleep(30)
        assert between.shaky.refused == 3
        assert lanes_of(service) == [True, True]


class AnsweredLate(Shaky):
    """The store lets lanes sleep; before its answer arrives, something is added and looked at."""

    comes: Callable[[], Awaitable[object]] | None = None

    async def rest(
        self, lanes: Mapping[int, int], leases: Iterable[Lease], *, doze: bool = False
    ) -> set[int]:
        asleep = await self._store.rest(lanes, leases, doze=doze)
        if asleep and self.comes is not None:
            comes, self.comes = self.comes, None
            await comes()
            await asyncio.sleep(0.05)
        return asleep


@pytest.mark.parametrize("scheduled", [False, True], ids=["at rest", "dozing"])
@virtually
async def test_a_lane_that_is_woken_before_it_hears_that_it_sleeps_stays_awake(
    *, scheduled: bool
) -> None:
    between = Between(AnsweredLate)
    limits = Limits(look=300, keep_up=600)
    async with virtual_service(through=between, limits=limits) as service:
        await service.add_endpoint("a.example", lambda _r, _n: Answer(0.3, status=200))
        if scheduled:
            await service.add(deliver_at=service.now() + HOUR)
        between.shaky.comes = service.add
        await service.add()
        await asyncio.sleep(5)
        assert len(service.sender.sent) == 2
        await service.add()
        await asyncio.sleep(5)
        assert len(service.sender.sent) == 3


@virtually
async def test_a_scheduled_delivery_that_comes_to_a_busy_lane_goes_when_it_is_due() -> None:
    limits = Limits(look=300, keep_up=600)
    async with virtual_service(limits=limits) as service:
        took = iter([0.05, 0.4, 0.01])
        await service.add_endpoint("a.example", lambda _r, _n: Answer(next(took), status=200))
        await service.add(deliver_at=service.now() + HOUR)
        await service.add()
        await service.add()
        await asyncio.sleep(0.02)
        await service.add(deliver_at=service.now() + 2)
        await asyncio.sleep(5)
        assert len(service.sender.sent) == 3


@virtually
async def test_a_lane_whose_lease_has_ended_asks_again_only_after_the_lease_was_renewed() -> None:
    limits = Limits(lease=600, look=300, keep_up=600)  # nothing is renewed but by hand
    async with virtual_service(limits=limits) as service:
        lane = await a_lane(service)
        store, work, shards = service.store, service.dispatcher.work, service.dispatcher.shards
        sleep = Sleep(store, service.dispatcher.context, work, shards)
        held, lease = lane.held, lane.held.lease
        lane.backlog.asleep = False
        held.renew(service.now())
        held.lease = replace(lease, epoch=lease.epoch - 1)  # the store confirms nothing
        turn = lane.backlog.buffer.rewinds
        work.resting[lane] = None
        await sleep.sleep_once()
        assert lane.backlog.buffer.rewinds == turn
        assert not {lane} & {*work.resting, *work.need_rows}
        assert not lane.backlog.asking
        held.lease = lease
        await owner_of(service, Signals()).renew_once()
        await asyncio.sleep(1)
        assert lane.backlog.asleep


class Recording(Shaky):
    """Remembers the positions for which the store was asked to let lanes doze."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.positions: list[int] = []

    async def rest(
        self, lanes: Mapping[int, int], leases: Iterable[Lease], *, doze: bool = False
    ) -> set[int]:
        if doze:
            self.positions += lanes.values()
        return await self._store.rest(lanes, leases, doze=doze)


@virtually
async def test_a_lane_dozes_on_how_far_it_read_not_on_how_many_it_has_heard_of() -> None:
    between = Between(Recording)
    async with virtual_service(through=between, limits=Limits(look=300, keep_up=600)) as service:
        lane = await a_lane(service)
        work = service.dispatcher.work
        shards, context = service.dispatcher.shards, service.dispatcher.context
        sleep = Sleep(between.shaky, context, work, shards)
        read_to = lane.backlog.buffer.read_to
        lane.backlog.asleep = False
        lane.backlog.fetched(read_to + 1)  # a read for due rows heard of one more
        between.shaky.positions.clear()
        work.resting[lane] = None
        await sleep.sleep_once()
        assert between.shaky.positions == [read_to]
