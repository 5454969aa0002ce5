"""Which shards a worker owns: its share of them, and for no longer than its leases last."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

import pytest

from tarry.service.dispatch.clock import Clock
from tarry.service.dispatch.ownership.held_lease import HeldLease
from tarry.service.dispatch.ownership.shards import OwnedShard, Shards
from tarry.service.model.application import SHARDS
from tarry.service.model.lane import Lease
from tarry.service.model.settings import Limits
from tarry.service.store.contract import Server
from tarry.service.store.memory.store import MemoryStore
from tarry.testing.samples import NOON
from tarry.testing.virtual_loop import virtually

if TYPE_CHECKING:
    from tarry.service.dispatch.lane.lane import Lane


# --- One shard ----------------------------------------------------------------------------------


class FakeLane:
    """As much of a lane as its shard asks for."""

    def __init__(self, *, is_quiet: bool, waits_until: float = NOON) -> None:
        self.is_quiet = is_quiet
        self._waits_until = waits_until
        self.held, self.number, self.has_left = a_shard().held, 7, False

    def leave(self) -> None:
        self.has_left = True

    def waits_for_last_owner(self, now: float) -> bool:
        return now < self._waits_until


def a_shard(*, clean: bool = True) -> OwnedShard:
    return OwnedShard(HeldLease(Lease(3, 1, "worker_1", clean), NOON + 8))


def test_a_shard_that_was_just_leased_is_not_complete_yet_and_has_no_lanes() -> None:
    shard = a_shard()
    assert (shard.lease.shard, shard.lanes, shard.is_complete) == (3, {}, False)
    assert shard.is_quiet


def test_it_is_complete_until_it_is_marked_incomplete() -> None:
    shard = a_shard()
    shard.mark_complete(0)
    assert shard.is_complete
    shard.mark_incomplete()
    assert not shard.is_complete


def test_a_shard_that_is_marked_incomplete_while_its_lanes_are_read_stays_incomplete() -> None:
    shard = a_shard()
    times = shard.times_incomplete
    shard.mark_incomplete()
    shard.mark_complete(times)
    assert not shard.is_complete
    shard.mark_complete(shard.times_incomplete)
    assert shard.is_complete


def test_one_busy_lane_keeps_it_busy() -> None:
    shard = a_shard()
    busy = FakeLane(is_quiet=False)
    shard.lanes.update({1: cast("Lane", FakeLane(is_quiet=True)), 2: cast("Lane", busy)})
    assert not shard.is_quiet
    busy.is_quiet = True
    assert shard.is_quiet


def test_after_an_owner_was_lost_a_shard_waits_as_long_as_its_lanes_do() -> None:
    shard = a_shard(clean=False)
    assert shard.waits_for_last_owner(NOON)  # nobody knows its lanes yet
    shard.mark_complete(0)
    assert not shard.waits_for_last_owner(NOON)
    shard.lanes[1] = cast("Lane", FakeLane(is_quiet=True, waits_until=NOON + 5))
    assert shard.waits_for_last_owner(NOON + 4)
    assert not shard.waits_for_last_owner(NOON + 5)


def test_a_shard_that_became_incomplete_again_can_be_handed_over() -> None:
    shard = a_shard(clean=False)
    shard.mark_incomplete()
    assert shard.waits_for_last_owner(NOON)  # nobody has known its lanes yet
    shard.mark_complete(0)
    shard.mark_incomplete()
    assert not shard.waits_for_last_owner(NOON)  # lanes that are found now were at rest


def test_a_shard_that_was_given_back_waits_for_nobody() -> None:
    assert not a_shard().waits_for_last_owner(NOON)


# --- All shards of this process -----------------------------------------------------------------

LIMITS = Limits(lease=10.0, margin=2.0)


class Slow(MemoryStore):
    """A store that takes a second to answer about leases."""

    async def lease(self, worker: str, *, most: int, length: float) -> list[Lease]:
        found = await super().lease(worker, most=most, length=length)
        await asyncio.sleep(1)
        return found

    async def renew(self, worker: str, leases: Sequence[Lease], *, length: float) -> list[Lease]:
        kept = await super().renew(worker, leases, length=length)
        await asyncio.sleep(1)
        return kept


class SlowClock(MemoryStore):
    """A store that takes ten seconds to tell its time, by turns before and after it looks."""

    asked = 0

    async def server(self) -> Server:
        self.asked += 1
        await asyncio.sleep(10 * (self.asked % 2))
        server = await super().server()
        await asyncio.sleep(10 * ((self.asked + 1) % 2))
        return server


def now() -> float:
    return NOON + asyncio.get_running_loop().time()


class Wall:
    """A database's clock that somebody sets."""

    def __init__(self) -> None:
        self.step = 0.0

    def __call__(self) -> float:
        return now() + self.step


def a_store(clock: Callable[[], float] = now) -> MemoryStore:
    return MemoryStore(clock=clock)


def a_worker(store: MemoryStore, name: str = "worker_1") -> Shards:
    return Shards(store, name, LIMITS, Clock(now(), asyncio.get_running_loop().time))


async def take_turns(*workers: Shards) -> None:
    """All of them renew, take, and give back what others should have, a few times."""
    for _ in range(4):
        for worker in workers:
            await worker.renew()
            await worker.take()
            await worker.release(worker.left())


@virtually
async def test_a_worker_alone_takes_all() -> None:
    worker = a_worker(a_store())
    new = await worker.take()
    assert sorted(held.lease.shard for held in new) == list(range(SHARDS))
    assert sorted(worker.numbers) == list(range(SHARDS))
    assert {lease.worker for lease in worker.leases()} == {"worker_1"}
    assert await worker.take() == []


@pytest.mark.parametrize("count", [2, 3, 7, 64])
@virtually
async def test_workers_share_evenly_and_own_each_shard_once(count: int) -> None:
    store = a_store()
    workers = [a_worker(store, f"worker_{number}") for number in range(count)]
    await take_turns(*workers)
    owned = sorted(number for worker in workers for number in worker.numbers)
    assert owned == list(range(SHARDS))
    assert max(len(worker.numbers) for worker in workers) == -(-SHARDS // count)


@virtually
async def test_a_shard_is_left_when_nothing_of_it_is_on_its_way() -> None:
    store = a_store()
    worker, other = a_worker(store), a_worker(store, "worker_2")
    await worker.take()
    lanes = {number: FakeLane(is_quiet=False) for number in range(SHARDS)}
    for number, held in worker.owned.items():
        held.lanes[number] = cast("Lane", lanes[number])
    await other.take()
    await worker.take()
    leaving = [number for number, held in worker.owned.items() if held.held.is_leaving]
    assert len(leaving) == SHARDS // 2
    assert set(worker.numbers) == set(range(SHARDS)) - set(leaving)
    assert worker.left() == []
    lanes[leaving[0]].is_quiet = True
    lanes[worker.numbers[0]].is_quiet = True
    assert [held.lease.shard for held in worker.left()] == leaving[:1]


@virtually
async def test_what_is_given_back_is_free_for_others_and_was_left_clean() -> None:
    store = a_store()
    worker, other = a_worker(store), a_worker(store, "worker_2")
    await worker.take()
    await other.take()
    assert other.owned == {}
    await worker.take()
    left = worker.left()
    await worker.release(left)
    new = await other.take()
    assert {held.lease.shard for held in new} == {held.lease.shard for held in left}
    assert all(held.lease.clean for held in new)
    assert not set(other.owned) & set(worker.owned)


@virtually
async def test_nothing_is_sent_in_the_last_moments_of_a_lease() -> None:
    worker = a_worker(a_store())
    await worker.take()
    assert {held.held.until for held in worker.owned.values()} == {NOON + 8}
    await asyncio.sleep(3)
    await worker.renew()
    assert {held.held.until for held in worker.owned.values()} == {NOON + 11}


@virtually
async def test_a_lease_counts_from_when_it_was_asked_for() -> None:
    worker = a_worker(Slow(clock=now))
    (first, *others) = await worker.take()
    assert first.held.until == NOON + 8
    assert {held.held.until for held in others} == {NOON + 9}
    await worker.renew()  # asked for at 2 s, answered at 3 s
    assert {held.held.until for held in worker.owned.values()} == {NOON + 10}


@virtually
async def test_what_was_taken_over_meanwhile_is_lost_and_what_was_not_is_kept() -> None:
    store = a_store()
    worker, other = a_worker(store), a_worker(store, "worker_2")
    await worker.take()
    await asyncio.sleep(11)
    await other.take()
    lost = await worker.renew()
    assert {held.lease.shard for held in lost} == set(other.owned)
    assert set(worker.owned) == set(range(SHARDS)) - set(other.owned)
    assert not any(held.lease.clean for held in other.owned.values())


@pytest.mark.parametrize("step", [3600.0, -3600.0])
@virtually
async def test_after_a_step_of_the_clock_others_have_the_time_of_a_lease_to_renew_theirs(
    step: float, caplog: pytest.LogCaptureFixture
) -> None:
    wall = Wall()
    store = a_store(wall)
    worker, other, dead = (a_worker(store, f"worker_{number}") for number in range(3))
    await take_turns(worker, other, dead)
    owned = set(other.owned)
    wall.step = step
    with caplog.at_level(logging.WARNING):
        for _ in range(4):
            assert await worker.renew() == []
            assert await worker.take() == []
            await asyncio.sleep(3)
            assert await other.renew() == []  # as late as may be
    assert caplog.text.count(f"The database's clock stepped by {step:+.1f} s.") == 1
    await worker.renew()
    assert {held.lease.shard for held in await worker.take()} <= set(dead.owned)
    assert len(worker.owned) == SHARDS // 2
    assert await other.renew() == []
    assert set(other.owned) == owned


@virtually
async def test_a_database_that_is_slow_to_tell_its_time_has_not_stepped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    worker = a_worker(SlowClock(clock=now))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            await worker.take()
            await worker.renew()
    assert sorted(worker.numbers) == list(range(SHARDS))
    assert not caplog.messages


@virtually
async def test_nothing_is_lost_by_time_alone() -> None:
    worker = a_worker(a_store())
    await worker.take()
    await asyncio.sleep(3600)
    assert await worker.renew() == []
    assert sorted(worker.numbers) == list(range(SHARDS))


@virtually
async def test_who_retires_counts_no_more() -> None:
    store = a_store()
    worker, other = a_worker(store), a_worker(store, "worker_2")
    await take_turns(worker, other)
    assert len(worker.numbers) == SHARDS // 2
    await other.release(list(other.owned.values()))
    await other.retire()
    await worker.take()
    assert len(worker.numbers) == SHARDS


@virtually
async def test_shards_that_change_hands_are_worth_another_look() -> None:
    store = a_store()
    worker, other = a_worker(store), a_worker(store, "worker_2")
    moving = []
    await worker.take()
    moving.append(("owns all", worker.moving))
    await other.take()
    moving.append(("has nothing yet", other.moving))
    await worker.take()
    moving.append(("is about to leave some", worker.moving))
    await worker.release(worker.left())
    await other.take()
    moving += [("has its share", worker.moving), ("likewise", other.moving)]
    assert [one for one, moves in moving if moves] == ["has nothing yet", "is about to leave some"]


@virtually
async def test_a_lane_in_memory_is_found_by_its_number() -> None:
    worker = a_worker(a_store())
    await worker.take()
    assert worker.lane(7) is None
    lane = cast("Lane", FakeLane(is_quiet=True))
    worker.add(worker.owned[0], lane)
    assert (worker.lane(7), worker.lane(8)) == (lane, None)


@pytest.mark.parametrize("count", [2, 3, 5, 7, 10, 64, 100])
@virtually
async def test_workers_that_share_all_shards_come_to_rest(count: int) -> None:
    store = a_store()
    workers = [a_worker(store, f"worker_{number}") for number in range(count)]
    await take_turns(*workers)
    assert sum(len(worker.numbers) for worker in workers) == SHARDS
    assert not any(worker.moving for worker in workers)


@virtually
async def test_shards_without_requests_on_their_way_are_left_first() -> None:
    store = a_store()
    worker, other = a_worker(store), a_worker(store, "worker_2")
    await worker.take()
    busy = {0, SHARDS // 2, SHARDS - 1}
    for number, held in worker.owned.items():
        held.lanes[number] = cast("Lane", FakeLane(is_quiet=number not in busy))
    await other.take()
    await worker.take()
    assert len(worker.left()) == SHARDS // 2
    assert busy <= set(worker.numbers)


@virtually
async def test_what_waits_for_a_lost_owner_is_not_handed_over() -> None:
    store = a_store()
    lost = a_worker(store, "worker_0")
    await lost.take()
    await asyncio.sleep(2 * LIMITS.lease)
    worker, other = a_worker(store), a_worker(store, "worker_2")
    await worker.take()
    for shard in worker.owned.values():
        shard.mark_complete(0)
    waiting = cast("Lane", FakeLane(is_quiet=True, waits_until=now() + 60))
    worker.owned[5].lanes[1] = waiting
    await other.take()
    await worker.take()
    await worker.release(worker.left())
    assert 5 in worker.owned
    await worker.release(list(worker.owned.values()))
    await other.take()
    assert 5 not in other.owned  # its lease has to end first
    await asyncio.sleep(2 * LIMITS.lease)
    await other.take()
    assert not other.owned[5].lease.clean


@virtually
async def test_a_worker_that_never_took_a_shard_waits_for_none() -> None:
    assert not a_worker(a_store()).moving


@virtually
async def test_a_lane_that_is_forgotten_has_left_and_is_not_in_memory_any_more() -> None:
    worker, lane = a_worker(a_store()), FakeLane(is_quiet=True)
    shard = worker.owned[lane.held.lease.shard] = a_shard()
    other = cast("Lane", FakeLane(is_quiet=True))
    shard.lanes.update({7: cast("Lane", lane), 8: other})
    worker.forget(cast("Lane", lane))
    assert lane.has_left
    assert shard.lanes == {8: other}


@pytest.mark.parametrize(
    ("share_of_lease", "takes"), [(0.3, True), (-0.3, True), (0.35, False), (-0.35, False)]
)
@virtually
async def test_only_a_step_that_can_end_a_lease_in_use_keeps_a_worker_from_taking_shards(
    share_of_lease: float, *, takes: bool
) -> None:
    wall = Wall()
    worker = a_worker(a_store(wall))
    wall.step = share_of_lease * LIMITS.lease
    await worker.take()
    assert bool(worker.owned) is takes
    await asyncio.sleep(LIMITS.lease + 0.1)
    await worker.take()
    assert sorted(worker.numbers) == list(range(SHARDS))
