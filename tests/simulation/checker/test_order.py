"""Ordered endpoints: one request at a time, and first taken in the order of acceptance."""

from tarry.service.model.delivery import Reason, State
from tests.simulation.checker.hand_made import (
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
from tests.simulation.log import Asked, Entry, Fault

BOTH = ending(delivery(ONE), delivery(TWO))
BEGINNING: list[Entry] = [added(fifo=True), accepted(1, ONE), accepted(2, TWO)]


def test_in_order_is_in_order() -> None:
    log = [*BEGINNING, requested(3, 1, ONE), answered(4, 1), requested(4, 2, TWO), answered(5, 2)]
    assert rules(log, BOTH) == set()


def test_a_later_message_is_not_taken_first() -> None:
    log = [*BEGINNING, requested(3, 1, TWO), answered(4, 1), requested(4, 2, ONE), answered(5, 2)]
    assert rules(log, BOTH) == {"out of order"}
    asked = Asked(at=2.5, wish="resend", endpoint=None, message=TWO)
    assert rules([*log, asked], BOTH) == set()


def test_one_that_ended_holds_up_nobody() -> None:
    ended = settled(2.5, ONE, state=State.FAILED)
    log = [*BEGINNING, ended, requested(3, 1, TWO), answered(4, 1)]
    assert "out of order" not in rules(log, BOTH)


def test_one_that_was_skipped_holds_up_nobody() -> None:
    log = [*BEGINNING, requested(3, 1, TWO), answered(4, 1)]
    skipped = delivery(ONE, State.SKIPPED, Reason.SKIPPED)
    assert "out of order" not in rules(log, ending(skipped, delivery(TWO)))


def test_an_unordered_endpoint_may_take_them_in_any_order() -> None:
    log: list[Entry] = [requested(3, 1, TWO), answered(4, 1)]
    log += [requested(4, 2, ONE), answered(5, 2)]
    assert rules([added(), *BEGINNING[1:], *log], BOTH) == set()


def test_there_is_one_request_at_a_time() -> None:
    log = [*BEGINNING, requested(3, 1, ONE), requested(3.5, 2, TWO), answered(4, 1), answered(5, 2)]
    assert rules(log, BOTH) == {"two at a time"}


def test_a_new_owner_waits_even_if_the_old_one_is_dead() -> None:
    killed = Fault(at=3.1, until=9, kind="killed", process="worker 0")
    log = [*BEGINNING, killed, requested(3, 1, ONE), requested(3.5, 2, ONE, worker="worker 1")]
    log += [answered(4, 1, heard=False), answered(5, 2)]
    end = ending(delivery(ONE), delivery(TWO, State.READY))
    assert rules(log, end) == {"two at a time"}
    stepped = Fault(at=3.1, until=9, kind="clock step")
    assert rules([*log, stepped], end) == set()
