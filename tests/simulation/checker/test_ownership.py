"""A settlement counts only under the lease under which its request was made."""

from tests.simulation.checker.hand_made import (
    accepted,
    added,
    answered,
    delivery,
    ending,
    leased,
    log_of,
    requested,
    rules,
    settled,
)


def test_a_settlement_in_a_later_epoch_is_noticed() -> None:
    log = log_of(added(), leased(0.1, 1), accepted(1), requested(1.1, 1), answered(1.2, 1))
    again = leased(1.25, 2)
    assert rules([*log, again, settled(1.3, epoch=2)], ending(delivery())) == {
        "settled under another lease"
    }
    assert rules([*log, settled(1.3, epoch=1)], ending(delivery())) == set()


def test_a_request_of_the_new_epoch_may_be_settled_in_it() -> None:
    log = log_of(added(), leased(0.1, 1), leased(0.9, 2), accepted(1), requested(1.1, 1))
    log += [answered(1.2, 1), settled(1.3, epoch=2)]
    assert rules(log, ending(delivery())) == set()
