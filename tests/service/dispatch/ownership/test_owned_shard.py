"""A shard that is owned: its lease, its lanes, and whether all of those are known."""

from typing import TYPE_CHECKING, cast

from tarry.service.dispatch.ownership.held_lease import HeldLease
from tarry.service.dispatch.ownership.owned_shard import OwnedShard
from tarry.service.model.lane import Lease
from tarry.testing.samples import NOON

if TYPE_CHECKING:
    from tarry.service.dispatch.lane.lane import Lane


class FakeLane:
    """As much of a lane as its shard asks for."""

    def __init__(self, *, is_quiet: bool) -> None:
        self.is_quiet = is_quiet


def a_shard() -> OwnedShard:
    return OwnedShard(HeldLease(Lease(3, 1, "worker_1"), NOON + 8))


def test_a_shard_that_was_just_leased_is_not_known_yet_and_has_no_lanes() -> None:
    shard = a_shard()
    assert (shard.lease.shard, shard.lanes, shard.is_known) == (3, {}, False)
    assert shard.is_quiet


def test_it_is_known_until_it_is_in_doubt() -> None:
    shard = a_shard()
    shard.know()
    assert shard.is_known
    shard.doubt()
    assert not shard.is_known


def test_one_busy_lane_keeps_it_busy() -> None:
    shard = a_shard()
    busy = FakeLane(is_quiet=False)
    shard.lanes.update({1: cast("Lane", FakeLane(is_quiet=True)), 2: cast("Lane", busy)})
    assert not shard.is_quiet
    busy.is_quiet = True
    assert shard.is_quiet
