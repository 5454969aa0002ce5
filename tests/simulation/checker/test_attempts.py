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
    log = log_of(added(policy=THREE_ATTEMPTS), accepted(1), accepted(1, TWO, event_type="b"))
    for number in range(14):
        log += [requested(5 + number, number, number=number + 1)]
        log.append(answered(5.1 + number, number, 500))
    ends = ending(delivery(ONE, State.WAITING, Reason.BACKOFF), delivery(TWO))
    taken = log_of(requested(4, 99, TWO), answered(4.1, 99))
    assert "too many attempts" in rules([*log, *taken], ends)
    assert "too many attempts" not in rules(log, ends)


def test_an_endpoint_that_asks_for_fewer_requests_costs_no_attempts() -> None:
    log = log_of(added(policy=THREE_ATTEMPTS), accepted(1), accepted(1, TWO, event_type="b"))
    log += [requested(4, 99, TWO), answered(4.1, 99)]
    for number in range(14):
        log += [requested(5 + number, number, number=number + 1)]
        log.append(answered(5.1 + number, number, 429))
    ends = ending(delivery(ONE, State.READY, Reason.PACE), delivery(TWO))
    assert "too many attempts" not in rules(log, ends)


def test_a_row_of_failures_of_what_is_accepted_at_other_times_is_the_endpoints() -> None:
    log = log_of(added(policy=THREE_ATTEMPTS), accepted(1), accepted(1, TWO))
    log += [requested(4, 99, TWO), answered(4.1, 99)]
    for number in range(14):
        log += [requested(5 + number, number, number=number + 1)]
        log.append(answered(5.1 + number, number, 500))
    ends = ending(delivery(ONE, State.WAITING, Reason.BACKOFF), delivery(TWO))
    assert "too many attempts" not in rules(log, ends)
    taken = [(requested(n + 0.2, 100 + n, TWO), answered(n + 0.3, 100 + n)) for n in range(5, 19)]
    between = [entry for pair in taken for entry in pair]
    assert "too many attempts" in rules([*log, *between], ends)


def test_an_endpoint_without_a_policy_has_that_of_the_service() -> None:
    ten = delivery(ONE, State.WAITING, Reason.BACKOFF, attempts=10)
    assert rules(log_of(added(), accepted(1)), ending(ten)) == {"too many attempts"}
