"""Settlements in rounds, for stores that write many of them by one statement."""

from tarry.service.model.attempt import Resent
from tarry.service.model.delivery import Reason
from tarry.service.store.settling import in_rounds
from tarry.testing.samples import a_due, an_attempt, delivered, postponed

ONE, TWO = a_due(seq=1), a_due(seq=2)


def test_what_is_settled_once_is_one_round_in_its_order() -> None:
    told = list(enumerate([delivered(TWO), delivered(ONE)]))
    assert in_rounds(told) == [told]


def test_a_delivery_that_comes_again_waits_for_the_next_round() -> None:
    again = delivered(a_due(seq=1, tries=1))
    told = list(enumerate([postponed(ONE, 9.0), delivered(TWO), again]))
    assert in_rounds(told) == [told[:2], told[2:]]


def test_the_same_number_in_another_lane_is_another_delivery() -> None:
    told = list(enumerate([delivered(ONE), delivered(a_due(lane=ONE.lane + 1, seq=1))]))
    assert in_rounds(told) == [told]


def test_a_resend_settles_no_delivery_and_nothing_makes_no_round() -> None:
    resent = Resent(ONE.lane, "resend_1", an_attempt(ONE), 1, Reason.DELIVERED)
    assert in_rounds([(0, resent)]) == in_rounds([]) == []
