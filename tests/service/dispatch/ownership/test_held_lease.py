"""A lease says until when lanes may send, and remembers who had to wait for it."""

from tarry.service.dispatch.ownership.held_lease import HeldLease
from tarry.service.model.lane import Lease
from tarry.testing.samples import NOON


def a_held_lease() -> HeldLease:
    return HeldLease(Lease(3, 1, "worker_1"), NOON + 8)


def test_it_ends_at_its_time_unless_it_is_renewed() -> None:
    held = a_held_lease()
    assert (held.until, held.is_leaving) == (NOON + 8, False)
    held.renew(NOON + 18)
    assert held.until == NOON + 18


def test_a_shard_that_is_handed_over_stays_so() -> None:
    held = a_held_lease()
    held.leave()
    held.renew(NOON + 18)
    assert held.is_leaving


def test_lanes_that_had_to_wait_are_told_once() -> None:
    held = a_held_lease()
    assert not held.end_delay()
    held.delay()
    assert held.end_delay()
    assert not held.end_delay()
