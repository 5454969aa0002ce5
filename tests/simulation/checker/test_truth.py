"""`explain` gives the true reason for which a delivery waits."""

import pytest

from tarry.service.model.delivery import Reason, State
from tests.simulation.checker.hand_made import (
    HERE,
    ONE,
    accepted,
    added,
    answered,
    delivery,
    ending,
    requested,
    rules,
)
from tests.simulation.log import Asked, Entry, Explained, Waiting

BEGINNING: list[Entry] = [added(), accepted(1)]


def waiting(reason: Reason) -> Waiting:
    return Waiting(
        at=5,
        endpoint=HERE,
        message=ONE,
        eligible=1,
        since=4,
        reason=reason.value,
        next_at=9,
    )


def check(*entries: Entry) -> set[str]:
    return rules([*BEGINNING, *entries], ending(delivery(ONE, State.READY)))


def test_a_lane_is_not_open_before_anything_failed() -> None:
    assert check(waiting(Reason.LANE_OPEN)) == {"untrue reason"}
    failed: list[Entry] = [requested(2, 1), answered(2.1, 1, 500)]
    assert check(*failed, waiting(Reason.LANE_OPEN)) == set()
    asked = Asked(at=2, wish="probe", endpoint=HERE)
    assert check(asked, waiting(Reason.LANE_OPEN)) == set()


def test_nobody_waits_for_what_no_endpoint_asked_for() -> None:
    failed: list[Entry] = [requested(2, 1), answered(2.1, 1, 429)]
    assert check(*failed, waiting(Reason.RETRY_AFTER)) == {"untrue reason"}
    failed[1] = answered(2.1, 1, 429, retry_after=3.0)
    assert check(*failed, waiting(Reason.RETRY_AFTER)) == set()


@pytest.mark.parametrize("reason", [Reason.PAUSED, Reason.DISABLED])
def test_an_endpoint_at_work_is_not_paused(reason: Reason) -> None:
    assert check(waiting(reason)) == {"untrue reason"}


def test_an_endpoint_that_a_person_stopped_is_said_to_be_stopped() -> None:
    told = Explained(at=5, endpoint=HERE, message=ONE, reason=Reason.NEW.value)
    assert check(told) == {"untrue reason"}
    told = Explained(at=5, endpoint=HERE, message=ONE, reason=Reason.PAUSED.value)
    assert check(told) == set()


def test_a_neighbours_failures_hold_up_nobody_else() -> None:
    other = "ep_other"
    there = added(id=other, application="app_other", lane=2)
    log: list[Entry] = [
        there,
        accepted(1, "msg_other", application="app_other", endpoints=()),
        requested(2, 1, "msg_other", endpoint=other),
        answered(2.1, 1, 500),
    ]
    found = check(*log, waiting(Reason.LANE_OPEN))
    assert "held up by a neighbour" in found
    own: list[Entry] = [requested(2.5, 2), answered(2.6, 2, 500)]
    assert "held up by a neighbour" not in check(*log, *own, waiting(Reason.LANE_OPEN))
    nobody: list[Entry] = [
        requested(2.5, 2, "msg_other", endpoint=other),
        answered(2.6, 2, None),
    ]
    assert "held up by a neighbour" not in check(*log, *nobody, waiting(Reason.LANE_OPEN))
