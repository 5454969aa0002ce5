"""Shards are owned: their lanes are taken up, none is forgotten, and what is lost is let go."""

import asyncio
import logging
from collections.abc import Mapping, Sequence

import pytest
from msgspec.structs import replace

from tarry.service.dispatch.ownership.lane_loader import LOADED_TOGETHER
from tarry.service.dispatch.ownership.owner import Owner
from tarry.service.dispatch.settling.sleep import Sleep
from tarry.service.dispatch.settling.writer import SettlementWriter
from tarry.service.dispatch.work import Signals
from tarry.service.model.application import SHARDS
from tarry.service.model.attempt import Resent, Settlement
from tarry.service.model.lane import Change, Lease
from tarry.service.model.settings import HOUR, Limits
from tarry.service.store.contract import Server, Store
from tarry.service.store.kinds import Environment, Lanes
from tarry.testing.samples import ENVIRONMENT
from tarry.testing.shaky_store import Between, Shaky, slow
from tarry.testing.virtual_loop import virtually
from tarry.testing.virtual_service import DOWN, VirtualService, status, virtual_service
from tests.service.dispatch.lane.test_lane import a_lane

SELDOM = Limits(lease=600, look=300, keep_up=600)
"""So seldom that nothing is done but by hand."""


class StepsBeforeTaking(Shaky):
    """A store whose clock steps by an hour between a renewal of leases and the next lease."""

    service: VirtualService | None = None

    def _before_call(self, name: str) -> None:
        if name == "lease" and self.service is not None:
            self.service.step = HOUR


def owner_of(service: VirtualService, signals: Signals) -> Owner:
    """Of the shards of a dispatcher, asked by hand."""
    dispatcher, store = service.dispatcher, service.dispatcher_store
    context, work, shards = dispatcher.context, dispatcher.work, dispatcher.shards
    sleep = Sleep(store, context, work, shards)
    return Owner(
        store,
        context=context,
        work=work,
        shards=shards,
        loader=dispatcher.loader,
        writer=SettlementWriter(store, context, work, sleep),
        signals=signals,
    )


@virtually
async def test_more_lanes_than_can_be_taken_up_within_a_lease_are_taken_up_and_sent_once() -> None:
    service = VirtualService(through=slow(0.5), limits=Limits(lease=3.0, margin=0.6))
    await service.store.put(Environment(ENVIRONMENT))
    await service.store.put(service.application)
    endpoints = [
        await service.add_endpoint(f"{number}.example") for number in range(5 * LOADED_TOGETHER)
    ]
    await service.add()
    await service.start()
    for endpoint in endpoints:
        await service.until_delivered(endpoint, within=60)
    assert len(service.sender.sent) == len(endpoints)
    await service.stop()


@virtually
async def test_the_lanes_of_shards_that_were_lost_are_let_go_and_it_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with virtual_service(limits=SELDOM) as service:
        await service.add_endpoint("a.example")
        await service.add(deliver_at=service.now() + HOUR)  # so that the lane stays
        await asyncio.sleep(1)
        held = service.dispatcher.shards.owned[service.application.shard]
        (lane,) = held.lanes.values()
        lease = held.lease
        held.held.lease = Lease(lease.shard, lease.epoch - 1, lease.worker)
        signals = Signals()
        signals.stop.set()  # so that no shard is taken anew
        with caplog.at_level(logging.WARNING):
            await owner_of(service, signals).renew_once()
        assert "1 shards were lost" in caplog.text
        assert lane.has_left
        assert held.lease.shard not in service.dispatcher.shards.owned


@virtually
async def test_a_shard_that_is_taken_anew_has_one_lane_for_each_endpoint() -> None:
    between = Between(StepsBeforeTaking)
    async with virtual_service(limits=Limits(lease=10), through=between) as service:
        endpoint = await service.add_endpoint("a.example")
        await service.add(deliver_at=service.now() + 30)  # so that the lane stays
        await asyncio.sleep(1)
        shards = service.dispatcher.shards
        before = shards.owned[service.application.shard]
        (old,) = before.lanes.values()
        spare = next(lease for lease in shards.leases() if lease.shard != before.lease.shard)
        await service.store.release([spare])
        del shards.owned[spare.shard]  # so that there is one to take
        between.shaky.service = service
        await asyncio.sleep(5)
        after = shards.owned[service.application.shard]
        assert after.lease.epoch == before.lease.epoch + 1
        (new,) = after.lanes.values()
        assert (old.has_left, new.has_left) == (True, False)
        await service.until_delivered(endpoint, within=60)
        assert len(service.sender.sent) == 1


@virtually
async def test_what_waited_because_a_lease_was_about_to_end_goes_when_it_is_kept() -> None:
    async with virtual_service(limits=SELDOM) as service:
        endpoint = await service.add_endpoint("a.example")
        await asyncio.sleep(1)
        held = service.dispatcher.shards.owned[service.application.shard]
        held.held.renew(service.now())
        await service.add()
        await asyncio.sleep(5)
        assert service.sender.sent == []
        await owner_of(service, Signals()).renew_once()
        await service.until_delivered(endpoint, within=1)
        assert not held.held.end_delay(), "nothing waits for it any more"


@virtually
async def test_what_lanes_know_is_written_down_before_their_shard_is_given_back() -> None:
    async with virtual_service(limits=SELDOM) as service:
        endpoint = await service.add_endpoint("a.example")
        await service.add(deliver_at=service.now() + HOUR)
        await asyncio.sleep(1)
        held = service.dispatcher.shards.owned[service.application.shard]
        (lane,) = held.lanes.values()
        lane.gate.open(service.now(), 1)
        await owner_of(service, Signals()).leave([held])
        row = await service.store.get(Lanes(endpoint.application), endpoint.id)
        assert b"open" in row.known.pace
        assert lane.has_left
        assert held.lease.shard not in service.dispatcher.shards.owned
        (lease,) = await service.store.lease("another", most=1, length=SELDOM.lease)
        assert (lease.shard, lease.clean) == (held.lease.shard, True)


@virtually
async def test_after_the_database_was_away_everything_is_read_again() -> None:
    between = Between(Shaky)
    async with virtual_service(through=between, limits=Limits(keep_up=HOUR)) as service:
        await service.add_endpoint("asleep.example")
        await service.add_endpoint("at-rest.example", event_types=("order.paid",))
        await service.add(event_type="order.kept", deliver_at=service.now() + HOUR)
        await asyncio.sleep(1)
        between.shaky.away = True
        await asyncio.sleep(1)
        await service.add(event_type="order.paid")
        await service.store.woken(service.dispatcher.shards.leases())  # the standby lost them
        await asyncio.sleep(1)
        between.shaky.away = False
        await asyncio.sleep(3)
        hosts = sorted(sent.host for sent in service.sender.sent)
        assert hosts == ["asleep.example", "at-rest.example"]


class Restarted(Shaky):
    """A store whose server may be another one from now on. It notes when all is looked through."""

    started_at = 1.0
    looked_through = 0

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.changed: set[int] = set()
        self.learned: set[str] = set()

    async def settle(
        self,
        settlements: Sequence[Settlement | Resent],
        changes: Sequence[Change],
        leases: Sequence[Lease],
    ) -> list[bool]:
        self.changed |= {change.lane for change in changes}
        return await self._store.settle(settlements, changes, leases)

    async def learn(
        self, origins: Mapping[str, bytes], *, expected: Mapping[str, bytes]
    ) -> dict[str, bytes]:
        self.learned |= set(origins)
        return await self._store.learn(origins, expected=expected)

    async def server(self) -> Server:
        return replace(await self._store.server(), started_at=self.started_at)

    async def awake(self, shards: Sequence[int]) -> list[int]:
        self.looked_through += 1
        return await self._store.awake(shards)


@virtually
async def test_if_another_server_answers_all_is_read_again_although_no_call_failed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    between = Between(Restarted)
    limits = Limits(lease=6, look=300, keep_up=600, watch=600)
    async with virtual_service(limits=limits, through=between) as service:
        await service.add_endpoint("a.example")
        await service.add(deliver_at=service.now() + HOUR)  # so that the lane stays
        await asyncio.sleep(10)
        (lane,) = service.dispatcher.shards.lanes()
        before, turn = between.shaky.looked_through, lane.backlog.buffer.rewinds
        await asyncio.sleep(10)
        assert (between.shaky.looked_through, lane.backlog.buffer.rewinds) == (before, turn)
        between.shaky.started_at = 2.0
        await asyncio.sleep(3)
        assert between.shaky.looked_through == before + 1
        assert lane.backlog.buffer.rewinds > turn
        assert "the database server was restarted" in caplog.text


@virtually
async def test_another_server_is_told_again_of_endpoints_and_hosts_in_trouble() -> None:
    between = Between(Restarted)
    limits = Limits(lease=6, look=300, keep_up=600)
    async with virtual_service(limits=limits, through=between) as service:
        await service.add_endpoint("well.example")
        down = [await service.add_endpoint("alone.example", lambda _request, _now: status(500))]
        for number in range(3):
            path = f"/{number}"
            down.append(await service.add_endpoint("gw.example", lambda _r, _n: DOWN, path=path))
        await service.add(5)
        await asyncio.sleep(3 * HOUR)  # the next probe is not due for a while
        between.shaky.changed.clear()
        between.shaky.learned.clear()
        between.shaky.started_at = 2.0
        await asyncio.sleep(2.5)
        assert between.shaky.changed == {endpoint.lane for endpoint in down}
        assert between.shaky.learned == {"https://gw.example:443"}


class SlowToList(Shaky):
    """A store that takes longer than a lease to say which lanes are awake."""

    async def awake(self, shards: Sequence[int]) -> list[int]:
        await asyncio.sleep(20)
        return await self._store.awake(shards)


@virtually
async def test_leases_are_renewed_while_the_store_takes_long_for_other_things() -> None:
    limits = Limits(lease=6, look=1, keep_up=600)
    async with virtual_service(limits=limits, through=Between(SlowToList)) as service:
        shards = service.dispatcher.shards
        epochs = {shard.lease.epoch for shard in shards.owned.values()}
        for shard in shards.owned.values():
            shard.mark_incomplete()
        await asyncio.sleep(60)
        assert len(shards.owned) == SHARDS
        assert {shard.lease.epoch for shard in shards.owned.values()} == epochs
        endpoint = await service.add_endpoint("a.example")
        await service.add()
        await service.until_delivered(endpoint, within=5)


@virtually
async def test_tasks_of_new_shards_are_looked_at_at_once() -> None:
    async with virtual_service(limits=SELDOM) as service:
        signals = Signals()
        owner = owner_of(service, signals)
        await owner.own_once()
        assert not signals.upkeep.is_set()  # all were owned before
        await service.dispatcher.shards.release(list(service.dispatcher.shards.owned.values()))
        await owner.own_once()
        assert signals.upkeep.is_set()


@virtually
async def test_shards_beyond_the_share_that_are_quiet_are_given_back_at_once() -> None:
    async with virtual_service(limits=SELDOM) as service:
        owned = service.dispatcher.shards.owned
        assert len(owned) == SHARDS
        await service.store.lease("another", most=1, length=600)
        await owner_of(service, Signals()).own_once()
        assert len(owned) == SHARDS // 2
        assert len(await service.store.lease("another", most=SHARDS, length=600)) == SHARDS // 2


@virtually
async def test_to_read_everything_again_means_to_look_through_all_shards_at_once() -> None:
    async with virtual_service(limits=SELDOM) as service:
        lane, signals = await a_lane(service), Signals()
        turn = lane.backlog.buffer.rewinds
        assert lane.backlog.asleep
        owner_of(service, signals).read_all_again()
        assert signals.own.is_set()
        assert (lane.backlog.asleep, lane.backlog.buffer.rewinds > turn) == (False, True)
        assert not any(shard.is_complete for shard in service.dispatcher.shards.owned.values())


@virtually
async def test_a_shard_that_is_dropped_keeps_no_lane() -> None:
    async with virtual_service(limits=SELDOM) as service:
        await service.add_endpoint("a.example", lambda _r, _n: DOWN)
        await service.add()
        await asyncio.sleep(1)
        shard = service.dispatcher.shards.owned[service.application.shard]
        await service.dispatcher.loader.load([1])
        (lane,) = shard.lanes.values()
        owner_of(service, Signals()).drop([shard])
        assert (lane.has_left, shard.lanes) == (True, {})


@virtually
async def test_the_groups_of_a_shard_that_is_dropped_are_forgotten_unless_it_was_taken_anew() -> (
    None
):
    async with virtual_service(limits=SELDOM) as service:
        origins, owned = service.dispatcher.origins, service.dispatcher.shards.owned
        group = origins.group("https://a.example:443", service.application.id)
        group.open(service.now())
        shard, owner = owned[service.application.shard], owner_of(service, Signals())
        owner.drop([shard])
        assert list(origins) == [group]
        del owned[service.application.shard]
        owner.drop([shard])
        assert list(origins) == []


class StopsWhileTaking(Shaky):
    """A store during whose answer about leases the worker is told to stop."""

    signals: Signals | None = None
    looked_through = 0

    def _before_call(self, name: str) -> None:
        if name == "lease" and self.signals is not None:
            self.signals.stop.set()
        self.looked_through += name == "awake"


@virtually
async def test_shards_that_are_taken_while_the_worker_is_told_to_stop_are_given_back() -> None:
    between = Between(StopsWhileTaking)
    async with virtual_service(limits=SELDOM, through=between) as service:
        await asyncio.sleep(1)  # the dispatcher has looked through all shards
        shards, signals = service.dispatcher.shards, Signals()
        spare = next(lease for lease in shards.leases() if lease.shard != service.application.shard)
        await service.store.release([spare])
        del shards.owned[spare.shard]  # so that there is one to take
        before = between.shaky.looked_through
        between.shaky.signals = signals
        await owner_of(service, signals).own_once()
        assert signals.stop.is_set()
        assert spare.shard not in shards.owned
        assert (between.shaky.looked_through, signals.upkeep.is_set()) == (before, False)
        (lease,) = await service.store.lease("another", most=1, length=SELDOM.lease)
        assert (lease.shard, lease.clean) == (spare.shard, True)


class DoubtsWhileLooking(Shaky):
    """A store that fails for another loop while it looks for the awake lanes of shards."""

    owner: Owner | None = None

    def _before_call(self, name: str) -> None:
        if name == "awake" and self.owner is not None:
            self.owner.read_all_again()
            self.owner = None


@virtually
async def test_a_shard_that_is_marked_incomplete_while_its_lanes_are_read_is_read_again() -> None:
    between = Between(DoubtsWhileLooking)
    async with virtual_service(limits=SELDOM, through=between) as service:
        await asyncio.sleep(1)  # the dispatcher has looked through all shards
        owned = service.dispatcher.shards.owned
        owner = between.shaky.owner = owner_of(service, Signals())
        for shard in owned.values():
            shard.mark_incomplete()
        known = []
        for _ in range(2):
            await owner.own_once()
            known.append({shard.is_complete for shard in owned.values()})
        assert known == [{False}, {True}]
