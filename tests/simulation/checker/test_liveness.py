"""A delivery with no reason to wait is sent within seconds, and promised times are kept."""

from typing import Any

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
    found,
    requested,
    rules,
)
from tests.simulation.log import Asked, Entry, Fault, Waiting

BEGINNING: list[Entry] = [added(), accepted(1)]


def waiting(at: float, since: float, reason: Reason = Reason.NEW, **values: Any) -> Waiting:  # noqa: ANN401  its fields
    return Waiting(
        at=at,
        endpoint=HERE,
        message=ONE,
        eligible=3,
        since=since,
        reason=reason.value,
        **values,
    )


def check(*entries: Entry) -> set[str]:
    """Return the broken rules but those about reasons: the reasons of these stories are made up."""
    broken = rules([*BEGINNING, *entries], ending(delivery(ONE, State.READY)))
    return broken - {"untrue reason", "untrue time"}


def test_a_lane_that_nobody_wakes_is_noticed() -> None:
    assert check(waiting(5, since=2)) == {"stalled"}
    assert check(waiting(4, since=2)) == set()


def test_a_probe_that_a_person_asked_for_has_its_time_too() -> None:
    asked = Asked(at=4, wish="probe", endpoint=HERE)
    assert check(asked, waiting(5, since=2)) == set()
    assert check(asked, waiting(7, since=2)) == {"stalled"}


def test_an_endpoint_that_is_changed_has_its_time_too() -> None:
    assert check(added(at=4), waiting(5, since=2)) == set()
    assert check(added(at=4), waiting(7, since=2)) == {"stalled"}


def test_a_limit_allows_for_a_longer_pause() -> None:
    assert check(waiting(5, since=2, reason=Reason.RATE, gap=2.0)) == set()


def test_a_promised_time_is_waited_for_and_has_to_be_kept() -> None:
    held: dict[str, Any] = {"reason": Reason.BACKOFF, "next_at": 10.0}
    assert check(waiting(9, since=2, **held)) == set()
    assert check(waiting(13, since=2, **held)) == {"stalled"}


def test_the_time_after_a_promised_one_counts_from_there() -> None:
    held: dict[str, Any] = {"reason": Reason.BACKOFF, "next_at": 10.0}
    assert check(waiting(9, since=2, **held), waiting(11.5, since=2)) == set()


def test_after_a_fault_there_are_a_few_more_seconds() -> None:
    fault = Fault(at=3, until=6, kind="away")
    assert check(fault, waiting(10.5, since=2)) == set()
    assert check(fault, waiting(11.5, since=2)) == {"stalled"}


def test_a_settlement_that_is_refused_holds_up_no_other_delivery() -> None:
    refused = Fault(at=3, until=6, kind="poison", message=ONE)
    assert check(refused, waiting(6.5, since=2)) == {"stalled"}


def test_each_stall_is_reported_once() -> None:
    log = [*BEGINNING, *(waiting(5.0 + number, since=2) for number in range(9))]
    assert len(found(log, ending(delivery(ONE, State.READY)))) == 1


@pytest.mark.parametrize("counted", [True, False], ids=["failed", "outcome not written"])
def test_many_retries_use_up_their_budget(*, counted: bool) -> None:
    retries: list[Entry] = []
    for number in range(25):
        at = 2.0 + number / 10
        retries += [requested(at, number, number=number + 1 if counted else 1)]
        retries.append(answered(at + 0.01, number, 500))
    late = waiting(12, since=4.41, reason=Reason.BACKOFF, next_at=5.0)
    assert "stalled" not in check(*retries, late)
    assert "stalled" in check(*retries[:20], late)
