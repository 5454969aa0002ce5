"""The whole checker: it finds nothing in a correct log, and sorts violations by time."""

from tests.simulation.checker.hand_made import (
    TWO,
    accepted,
    answered,
    delivery,
    ending,
    found,
    requested,
    rules,
    story,
)


def test_a_history_without_trouble_breaks_no_rule() -> None:
    assert found(story(), ending(delivery())) == []


def test_violations_come_in_the_order_of_time() -> None:
    log = [*story(), requested(9, 2), answered(9.1, 2), requested(5, 3, TWO), answered(5.1, 3)]
    times = [violation.at for violation in found(log, ending(delivery()))]
    assert len(times) == 2
    assert times == sorted(times)


def test_a_violation_says_when_and_what() -> None:
    (violation,) = found([*story(), accepted(2, TWO)], ending(delivery()))
    assert str(violation) == "accepted and lost at 2.000 s: msg_two has no delivery to ep_here"
    assert rules([*story(), accepted(2, TWO)], ending(delivery())) == {"accepted and lost"}
