"""A delivery gets no more attempts than its policy allows."""

from tarry.service.model.delivery import Reason, State
from tests.simulation.checker.hand_made import (
    ONE,
    TWO,
    accepted,
    added,
    answered,
    delivery,
    ending,
    log_of,
    requested,
    rules,
)

THREE_ATTEMPTS = '{"version": 1, "attempts": 3}'


def test_one_attempt_too_many_is_noticed() -> None:
    log = log_of(added(policy=THREE_ATTEMPTS), accepted(1))
    four = delivery(ONE, State.WAITING, Reason.BACKOFF, attempts=4)
    three = delivery(ONE, State.WAITING, Reason.BACKOFF, attempts=3)
    assert rules(log, ending(four)) == {"too many attempts"}
    assert rules(log, ending(three)) == set()


def test_a_delivery_that_fails_on_while_others_are_taken_is_noticed() -> None:
    log = log_of(added(policy=THREE_ATTEMPTS), accepted(1), accepted(1, TWO))
    for number in range(12):
        log += [requested(5 + number, number, number=number + 1)]
        log.append(answered(5.1 + number, number, 500))
    ends = ending(delivery(ONE, State.WAITING, Reason.BACKOFF), delivery(TWO))
    taken = log_of(requested(4, 99, TWO), answered(4.1, 99))
    assert "too many attempts" in rules([*log, *taken], ends)
    assert "too many attempts" not in rules(log, ends)


def test_an_endpoint_without_a_policy_has_that_of_the_service() -> None:
    ten = delivery(ONE, State.WAITING, Reason.BACKOFF, attempts=10)
    assert rules(log_of(added(), accepted(1)), ending(ten)) == {"too many attempts"}
