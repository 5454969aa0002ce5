"""Which refusals are about an event type that the endpoint never accepted."""

import pytest

from tests.simulation.checker.facts import Facts
from tests.simulation.checker.hand_made import (
    HERE,
    ONE,
    TWO,
    accepted,
    added,
    answered,
    ending,
    log_of,
    requested,
)
from tests.simulation.checker.refusals import retries_of_unwanted_types


def unwanted(*, status: int = 404, accepts: str = "b", accepted_at: float = 5.5) -> frozenset[int]:
    """Return such refusals of one event type, while the endpoint accepts another."""
    log = log_of(added(policy='{"version": 1, "attempts": 2}'), accepted(1, ONE, event_type="a"))
    log += [accepted(1, TWO, event_type=accepts), requested(accepted_at, 9, TWO)]
    log.append(answered(accepted_at, 9))
    for number in range(4):
        log += [requested(5.0 + number, number), answered(5.1 + number, number, status)]
    log.sort(key=lambda entry: entry.at)
    return retries_of_unwanted_types(Facts(log, ending()), HERE)


def test_as_many_refusals_as_the_policy_has_attempts_say_nothing_about_the_endpoint() -> None:
    assert unwanted() == {1, 2}


def test_a_failure_is_no_refusal() -> None:
    assert unwanted(status=500) == set()


@pytest.mark.parametrize(("taken_at", "about_the_type"), [(5.5, {5, 6}), (2.0, set())])
def test_after_five_failures_while_others_are_taken_more_of_them_are_about_the_type(
    taken_at: float, about_the_type: set[int]
) -> None:
    log = log_of(added(), accepted(1, ONE, event_type="a"), accepted(1, TWO, event_type="b"))
    log += [requested(taken_at, 9, TWO), answered(taken_at, 9)]
    for number in range(7):
        log += [requested(5.0 + number, number), answered(5.1 + number, number, 500)]
    log.sort(key=lambda entry: entry.at)
    assert retries_of_unwanted_types(Facts(log, ending()), HERE) == about_the_type


def test_a_type_that_was_accepted_before_is_wanted() -> None:
    assert unwanted(accepts="a") == set()


@pytest.mark.parametrize("accepted_at", [2.0, 9.0])
def test_the_endpoint_must_have_accepted_something_since_the_first_refusal(
    accepted_at: float,
) -> None:
    assert unwanted(accepted_at=accepted_at) == set()
