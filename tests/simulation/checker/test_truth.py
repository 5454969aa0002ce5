"""`explain` gives the true reason for which a delivery waits."""

import pytest
from msgspec.structs import replace

from tarry.service.model.delivery import Reason, State
from tarry.service.model.endpoint import Standing
from tarry.service.model.waits import WAITS, End
from tests.simulation.checker.hand_made import (
    HERE,
    ONE,
    TWO,
    accepted,
    added,
    answered,
    delivery,
    ending,
    requested,
    rules,
    settled,
)
from tests.simulation.checker.liveness import BUDGET
from tests.simulation.checker.truth import EVIDENCE
from tests.simulation.log import ApplicationAdded, Asked, Entry, Explained, Fault, Waiting

BEGINNING: list[Entry] = [added(), accepted(1)]


def waiting(reason: Reason) -> Waiting:
    return Waiting(
        at=5,
        endpoint=HERE,
        message=ONE,
        eligible=1,
        since=4,
        reason=reason.value,
        next_at=9 if reason in WAITS and WAITS[reason].end in {End.TIME, End.PROBE} else None,
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


@pytest.mark.parametrize(
    ("standing", "reason"),
    [
        (Standing.PAUSED, Reason.PAUSED),
        (Standing.DISABLED, Reason.DISABLED),
        (Standing.PARKED, Reason.DISABLED),
    ],
)
def test_an_endpoint_that_is_stopped_is_said_to_be_stopped(
    standing: Standing, reason: Reason
) -> None:
    stopped = added(at=4, standing=standing)
    for given in WAITS:
        told = Explained(at=5, endpoint=HERE, message=ONE, reason=given.value)
        assert check(stopped, told) == (set() if given is reason else {"untrue reason"})


def test_every_reason_to_wait_has_evidence_and_no_ending_is_one() -> None:
    assert set(EVIDENCE) == set(WAITS)
    assert check(waiting(Reason.DELIVERED)) == {"untrue reason"}


@pytest.mark.parametrize(
    ("reason", "settings"),
    [(Reason.RATE, {"rate": 5.0}), (Reason.CONCURRENCY, {"concurrency": 2})],
)
def test_a_limit_holds_only_what_it_is_set_for(reason: Reason, settings: dict[str, object]) -> None:
    assert check(waiting(reason)) == {"untrue reason"}
    assert check(added(at=2, **settings), waiting(reason)) == set()
    assert check(added(at=2, **settings), waiting(Reason.NEW)) == {"untrue reason"}
    assert check(added(at=2, **settings), added(at=3), waiting(reason)) == {"untrue reason"}


def test_a_rate_may_be_that_of_the_application() -> None:
    assert check(ApplicationAdded(0, "app_one", 5.0), waiting(Reason.RATE)) == set()
    assert check(ApplicationAdded(0, "app_other", 5.0), waiting(Reason.RATE)) == {"untrue reason"}


def test_only_an_ordered_endpoint_waits_for_another_delivery() -> None:
    assert "untrue reason" in check(accepted(2, TWO), waiting(Reason.FIFO))
    ordered = added(at=0.5, fifo=True)
    assert check(ordered, waiting(Reason.FIFO)) == {"untrue reason"}
    assert "untrue reason" not in check(ordered, accepted(2, TWO), waiting(Reason.FIFO))
    sent: list[Entry] = [requested(2.1, 1, TWO), answered(2.2, 1), settled(2.3, TWO)]
    assert "untrue reason" in check(ordered, accepted(2, TWO), *sent, waiting(Reason.FIFO))
    earlier = accepted(0.1, TWO, endpoints=())
    replay = Asked(at=2, wish="replay", endpoint=HERE)
    assert "untrue reason" in check(ordered, earlier, waiting(Reason.FIFO))
    assert "untrue reason" not in check(ordered, earlier, replay, waiting(Reason.FIFO))


def test_only_a_scheduled_delivery_waits_for_its_schedule() -> None:
    assert check(waiting(Reason.SCHEDULED)) == {"untrue reason"}
    scheduled = accepted(1, scheduled_for=9.0)
    assert check(scheduled, waiting(Reason.SCHEDULED)) == set()
    is_over = accepted(1, scheduled_for=3.5)
    assert check(is_over, waiting(Reason.SCHEDULED)) == {"untrue reason"}


def test_only_a_delivery_that_failed_backs_off() -> None:
    assert check(waiting(Reason.BACKOFF)) == {"untrue reason"}
    failed: list[Entry] = [requested(2, 1), answered(2.1, 1, 500)]
    assert check(*failed, waiting(Reason.BACKOFF)) == set()


def test_the_retry_budget_holds_only_what_comes_after_many_retries() -> None:
    failed: list[Entry] = [requested(2, 1), answered(2.1, 1, 500)]
    assert check(*failed, waiting(Reason.BUDGET)) == {"untrue reason"}
    for number in range(2, 2 + BUDGET):
        at = 2.1 + number / 10
        failed += [requested(at, number, number=number), answered(at + 0.01, number, 500)]
    assert "untrue reason" not in check(*failed, waiting(Reason.BUDGET))


def test_a_retry_that_a_fault_delays_may_seem_to_wait_for_the_budget() -> None:
    failed: list[Entry] = [requested(2, 1), answered(2.1, 1, 500)]
    assert check(*failed, Fault(at=3, until=4, kind="away"), waiting(Reason.BUDGET)) == set()
    assert check(Fault(at=3, until=4, kind="away"), waiting(Reason.BUDGET)) == {"untrue reason"}


def test_a_retry_may_seem_to_wait_for_the_budget_since_the_store_s_clock_stepped() -> None:
    failed: list[Entry] = [requested(1.1, 1), answered(1.2, 1, 500)]
    late = replace(waiting(Reason.BUDGET), at=50.0)
    step = Fault(at=2, until=16, kind="clock step", seconds=5.0)
    assert "untrue reason" not in check(*failed, step, late)
    assert "untrue reason" in check(*failed, replace(step, seconds=0.0, kind="away"), late)


def test_only_what_a_person_asked_for_is_queued_again() -> None:
    assert check(waiting(Reason.REPLAYED)) == {"untrue reason"}
    replay = Asked(at=2, wish="replay", endpoint=HERE)
    assert check(replay, waiting(Reason.REPLAYED)) == set()


def test_an_endpoint_recovers_only_from_something() -> None:
    assert check(waiting(Reason.PACE)) == {"untrue reason"}
    failed: list[Entry] = [requested(2, 1), answered(2.1, 1, 500)]
    assert check(*failed, waiting(Reason.PACE)) == set()
    resumed: list[Entry] = [added(at=2, standing=Standing.PAUSED), added(at=3)]
    assert check(*resumed, waiting(Reason.PACE)) == set()


def test_a_time_is_given_for_waits_that_a_time_ends_and_is_soon_over() -> None:
    failed: list[Entry] = [requested(2, 1), answered(2.1, 1, 500)]
    untimed = replace(waiting(Reason.BACKOFF), next_at=None)
    assert check(*failed, untimed) == {"untrue time"}
    assert check(replace(waiting(Reason.NEW), next_at=9.0)) == {"untrue time"}
    over = replace(waiting(Reason.BACKOFF), next_at=3.5)
    assert check(*failed, over) == {"untrue time"}


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
