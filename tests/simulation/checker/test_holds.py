"""An endpoint gets the pause that it asks for, and no retry comes at once."""

import json
from collections.abc import Mapping

import pytest

from tarry.service.model.delivery import Reason, State
from tests.simulation.checker.hand_made import (
    HERE,
    TWO,
    accepted,
    added,
    answered,
    delivery,
    ending,
    requested,
    rules,
)
from tests.simulation.log import Asked, Entry, Fault

HALF_AT_LEAST = {"backoff": {"kind": "fixed", "delay": 0.5}, "jitter": {"kind": "equal"}}
ANYTHING_UP_TO = {"backoff": {"kind": "fixed", "delay": 0.5}}
FAILED: list[Entry] = [accepted(1), requested(2, 1), answered(2.1, 1, 500)]
THROTTLED: list[Entry] = [
    accepted(1),
    accepted(1, TWO),
    requested(2, 1),
    answered(2.1, 1, 429, retry_after=3.0),
]


def check(log: list[Entry], policy: Mapping[str, object] | None = None) -> set[str]:
    document = None if policy is None else json.dumps({"version": 1, **policy})
    unsent = [delivery(message, State.READY, Reason.NEW) for message in ("msg_one", TWO)]
    return rules([added(policy=document), *log], ending(*unsent))


@pytest.mark.parametrize("policy", [None, HALF_AT_LEAST])
def test_a_retry_does_not_follow_its_failure_at_once(policy: Mapping[str, object] | None) -> None:
    assert check([*FAILED, requested(2.13, 2)], policy) == {"did not wait"}
    assert check([*FAILED, requested(2.4, 2)], policy) == set()


def test_a_policy_whose_jitter_may_draw_next_to_nothing_lets_a_retry_follow_at_once() -> None:
    assert check([*FAILED, requested(2.13, 2)], ANYTHING_UP_TO) == set()


def test_a_probe_of_an_endpoint_that_is_down_is_no_retry() -> None:
    assert check([*FAILED, requested(2.13, 2, is_down=True)]) == set()


def test_a_probe_may_follow_the_failure_with_which_an_outage_ends() -> None:
    row: list[Entry] = [accepted(1, TWO)]
    for number in range(4):
        row += [requested(1.5, 10 + number, TWO, is_down=True), answered(1.6, 10 + number, None)]
    failed: list[Entry] = [accepted(1), requested(1.7, 1, is_down=True), answered(2.1, 1, None)]
    probe = requested(2.11, 2)
    assert "did not wait" not in check([*row, *failed, probe])
    assert "did not wait" in check([*row[3:], *failed, probe])


def test_what_an_outage_held_up_goes_as_soon_as_the_endpoint_takes_another_one() -> None:
    probe: list[Entry] = [accepted(1, TWO), requested(2.105, 3, TWO), answered(2.12, 3)]
    again = requested(2.13, 2)
    failed: list[Entry] = [accepted(1), requested(2, 1, is_down=True), answered(2.1, 1, 500)]
    assert check([*failed, *probe, again]) == set()
    assert check([*failed, again]) == {"did not wait"}
    assert check([*FAILED, *probe, again]) == {"did not wait"}
    during: list[Entry] = [accepted(1, TWO), requested(2.01, 3, TWO), answered(2.05, 3)]
    assert check([*failed, *during, again]) == set()  # it was back before this one timed out


def test_a_row_of_failures_by_chance_may_be_taken_for_an_outage() -> None:
    row: list[Entry] = [accepted(1, TWO)]
    for number in range(4):
        row += [requested(1.5, 10 + number, TWO), answered(1.6, 10 + number, 500)]
    probe: list[Entry] = [requested(2.105, 3, TWO), answered(2.12, 3)]
    again = requested(2.13, 2)
    assert "did not wait" not in check([*row, *FAILED, *probe, again])
    assert "did not wait" in check([*row, *FAILED, again])


def test_a_row_of_failures_at_another_endpoint_of_the_host_may_be_taken_for_an_outage() -> None:
    row: list[Entry] = [accepted(1, TWO)]
    for number in range(4):
        row += [
            requested(1.5, 10 + number, TWO, endpoint="ep_beside"),
            answered(1.6, 10 + number, None),
        ]
    probe: list[Entry] = [requested(2.105, 3, TWO, endpoint="ep_beside"), answered(2.12, 3)]
    again = requested(2.13, 2)
    assert "did not wait" not in check([*row, *FAILED, *probe, again])
    assert "did not wait" in check([*row[2:], *FAILED, *probe, again])
    assert "did not wait" in check([*row, *FAILED, again])


@pytest.mark.parametrize("ends_at", [1.9, 2.05])
def test_a_host_may_seem_down_while_a_request_is_in_flight(ends_at: float) -> None:
    row: list[Entry] = [accepted(1, TWO)]
    for number in range(10, 15):
        row += [
            requested(1.5, number, TWO, endpoint="ep_beside"),
            answered(ends_at, number, None),
        ]
    between: list[Entry] = [requested(1.6, 2, TWO), answered(2.07, 2)]
    probe: list[Entry] = [requested(2.08, 3, TWO), answered(2.12, 3)]
    found = check([*row, *between, *FAILED, *probe, requested(2.13, 4)])
    assert ("did not wait" in found) == (ends_at < 2)


def test_nothing_is_sent_before_the_pause_is_over() -> None:
    assert check([*THROTTLED, requested(3, 2, TWO)]) == {"did not wait"}
    assert check([*THROTTLED, requested(5.2, 2, TWO)]) == set()


def test_a_person_or_a_fault_may_end_a_pause() -> None:
    early = requested(3, 2, TWO)
    asked = Asked(at=2.5, wish="probe", endpoint=HERE)
    fault = Fault(at=2.5, until=2.8, kind="away")
    assert check([*THROTTLED, early, asked]) == set()
    assert check([*THROTTLED, early, fault]) == set()
