"""Leases: each shard has one owner at a time, who keeps it until another worker takes it."""

import pytest

from tarry.service.model.application import SHARDS
from tarry.service.model.lane import Lease
from tarry.service.store.contract import TOO_LONG, Store
from tarry.testing.samples import ALL_SHARDS
from tarry.testing.store_contract.scene import LEASE_LENGTH
from tarry.testing.store_contract.topic import Later, Topic


class LeaseContract(Topic):
    """The owners of shards, and the ends of their leases."""

    async def test_a_lone_worker_gets_as_many_shards_as_it_asks_for(self, store: Store) -> None:
        leases = await store.lease("a", most=10, length=LEASE_LENGTH)
        assert len({lease.shard for lease in leases}) == 10
        assert {lease.shard for lease in leases} <= set(ALL_SHARDS)
        assert {(lease.epoch, lease.worker, lease.clean) for lease in leases} == {(1, "a", True)}

    async def test_shards_that_a_worker_owns_count_towards_its_limit(self, store: Store) -> None:
        first = await store.lease("a", most=10, length=LEASE_LENGTH)
        assert await store.lease("a", most=10, length=LEASE_LENGTH) == []
        assert await store.lease("a", most=4, length=LEASE_LENGTH) == []
        more_leases = await store.lease("a", most=15, length=LEASE_LENGTH)
        assert len({lease.shard for lease in first + more_leases}) == 15

    async def test_a_shard_has_one_owner(self, store: Store) -> None:
        first = await store.lease("a", most=40, length=LEASE_LENGTH)
        second = await store.lease("b", most=40, length=LEASE_LENGTH)
        third = await store.lease("c", most=40, length=LEASE_LENGTH)
        assert (len(first), len(second), third) == (40, SHARDS - 40, [])
        assert len({lease.shard for lease in first + second}) == SHARDS

    async def test_a_lease_that_ran_out_is_given_to_the_next_with_a_new_epoch(
        self, store: Store, later: Later
    ) -> None:
        await store.lease("a", most=SHARDS, length=LEASE_LENGTH)
        await later(LEASE_LENGTH + 1)
        leases = await store.lease("b", most=SHARDS, length=LEASE_LENGTH)
        assert len(leases) == SHARDS
        assert {(lease.epoch, lease.worker, lease.clean) for lease in leases} == {(2, "b", False)}

    async def test_after_the_clock_was_set_back_far_leases_and_workers_of_before_are_over(
        self, store: Store, later: Later
    ) -> None:
        await store.lease("a", most=SHARDS, length=LEASE_LENGTH)
        await later(-TOO_LONG * LEASE_LENGTH)
        leases = await store.lease("b", most=SHARDS, length=LEASE_LENGTH)
        assert {(lease.epoch, lease.worker, lease.clean) for lease in leases} == {(2, "b", False)}
        assert len(leases) == SHARDS
        assert (await store.server()).workers == 1

    async def test_a_slightly_longer_lease_of_another_worker_is_not_over(
        self, store: Store
    ) -> None:
        await store.lease("a", most=SHARDS, length=LEASE_LENGTH * (TOO_LONG - 1))
        assert await store.lease("b", most=SHARDS, length=LEASE_LENGTH) == []
        assert (await store.server()).workers == 2

    async def test_an_owner_keeps_its_shard_after_the_clock_was_set_back(
        self, store: Store, later: Later
    ) -> None:
        leases = await store.lease("a", most=SHARDS, length=LEASE_LENGTH)
        await later(-TOO_LONG * LEASE_LENGTH)
        assert _shards(await store.renew("a", leases, length=LEASE_LENGTH)) == _shards(leases)
        assert await store.lease("b", most=SHARDS, length=LEASE_LENGTH) == []
        assert (await store.server()).workers == 2

    async def test_a_worker_that_leases_again_too_late_gets_a_new_epoch_too(
        self, store: Store, later: Later
    ) -> None:
        await store.lease("a", most=SHARDS, length=LEASE_LENGTH)
        await later(LEASE_LENGTH + 1)
        leases = await store.lease("a", most=SHARDS, length=LEASE_LENGTH)
        assert {(lease.epoch, lease.clean) for lease in leases} == {(2, False)}

    async def test_a_shard_that_was_given_back_is_clean(self, store: Store) -> None:
        leases = await store.lease("a", most=SHARDS, length=LEASE_LENGTH)
        await store.release(leases[:3])
        taken = await store.lease("b", most=SHARDS, length=LEASE_LENGTH)
        assert {lease.shard for lease in taken} == {lease.shard for lease in leases[:3]}
        assert {(lease.epoch, lease.worker, lease.clean) for lease in taken} == {(2, "b", True)}

    async def test_a_lease_that_is_renewed_in_time_stays_valid(
        self, store: Store, later: Later
    ) -> None:
        leases = await store.lease("a", most=SHARDS, length=LEASE_LENGTH)
        for _ in range(3):
            await later(LEASE_LENGTH * 0.7)
            assert _shards(await store.renew("a", leases, length=LEASE_LENGTH)) == _shards(leases)
            assert await store.lease("b", most=SHARDS, length=LEASE_LENGTH) == []

    async def test_renewing_keeps_the_epoch(self, store: Store) -> None:
        leases = await store.lease("a", most=2, length=LEASE_LENGTH)
        assert await store.renew("a", leases, length=LEASE_LENGTH) == leases

    async def test_an_expired_lease_can_be_renewed_until_its_shard_is_taken(
        self, store: Store, later: Later
    ) -> None:
        leases = await store.lease("a", most=2, length=LEASE_LENGTH)
        await later(LEASE_LENGTH + 1)
        assert await store.renew("a", leases, length=LEASE_LENGTH) == leases
        assert len(await store.lease("b", most=SHARDS, length=LEASE_LENGTH)) == SHARDS - 2
        await later(LEASE_LENGTH + 1)
        await store.lease("b", most=SHARDS, length=LEASE_LENGTH)
        assert await store.renew("a", leases, length=LEASE_LENGTH) == []

    async def test_only_leases_that_are_still_owned_are_renewed(self, store: Store) -> None:
        leases = await store.lease("a", most=2, length=LEASE_LENGTH)
        await store.release(leases[:1])
        assert await store.renew("a", leases, length=LEASE_LENGTH) == leases[1:]

    async def test_a_stale_lease_of_an_owner_is_not_renewed(
        self, store: Store, later: Later
    ) -> None:
        old = await store.lease("a", most=SHARDS, length=LEASE_LENGTH)
        await later(LEASE_LENGTH + 1)
        await store.lease("a", most=SHARDS, length=LEASE_LENGTH)
        assert await store.renew("a", old, length=LEASE_LENGTH) == []

    @pytest.mark.parametrize("owner", ["a", "b"])
    async def test_a_stale_lease_gives_nothing_back(
        self, store: Store, later: Later, owner: str
    ) -> None:
        old = await store.lease("a", most=SHARDS, length=LEASE_LENGTH)
        await later(LEASE_LENGTH + 1)
        new = await store.lease(owner, most=SHARDS, length=LEASE_LENGTH)
        await store.release(old)
        assert await store.lease("c", most=SHARDS, length=LEASE_LENGTH) == []
        assert _shards(await store.renew(owner, new, length=LEASE_LENGTH)) == _shards(new)

    async def test_a_lease_that_ran_out_and_is_given_back_is_clean(
        self, store: Store, later: Later
    ) -> None:
        old = await store.lease("a", most=1, length=LEASE_LENGTH)
        await later(LEASE_LENGTH + 1)
        await store.release(old)
        new = await store.lease("b", most=SHARDS, length=LEASE_LENGTH)
        assert [lease.clean for lease in new if lease.shard == old[0].shard] == [True]

    async def test_workers_are_alive_for_as_long_as_they_said(
        self, store: Store, later: Later
    ) -> None:
        assert (await store.server()).workers == 0
        await store.lease("a", most=1, length=LEASE_LENGTH)
        await store.lease("b", most=0, length=LEASE_LENGTH * 2)
        assert (await store.server()).workers == 2
        await later(LEASE_LENGTH * 1.5)
        assert (await store.server()).workers == 1
        await later(LEASE_LENGTH)
        assert (await store.server()).workers == 0

    async def test_a_worker_without_leases_stays_alive_by_renewing(
        self, store: Store, later: Later
    ) -> None:
        await store.lease("a", most=0, length=LEASE_LENGTH)
        await later(LEASE_LENGTH * 0.7)
        assert await store.renew("a", [], length=LEASE_LENGTH) == []
        await later(LEASE_LENGTH * 0.7)
        assert (await store.server()).workers == 1

    async def test_the_servers_start_time_does_not_change(self, store: Store) -> None:
        first = (await store.server()).started_at
        assert 0 <= first <= (await store.server()).now
        assert (await store.server()).started_at == first

    async def test_the_clock_goes_forward(self, store: Store) -> None:
        first = (await store.server()).now
        assert first > 0
        assert (await store.server()).now >= first


def _shards(leases: list[Lease]) -> set[int]:
    return {lease.shard for lease in leases}
