"""Attempts and settlements, as they are unless more is said."""

import pytest
from msgspec.structs import replace

from tarry.service.model.attempt import Attempt, Resent, Settlement, Trigger, in_rounds
from tarry.service.model.delivery import Delivery, Reason, State
from tarry.testing.samples import NOON, a_due, an_attempt, delivered, postponed


def test_an_attempt_is_scheduled_and_counts() -> None:
    attempt = Attempt(
        id="atmpt_1", lane=1, message="msg_1", number=1, at=5.0, took=0.5, url="https://a.example"
    )
    assert attempt.trigger is Trigger.SCHEDULED
    assert attempt.counted
    assert (attempt.status, attempt.kind) == (None, None)


def test_a_settlement_may_come_without_an_attempt() -> None:
    settlement = Settlement(
        lane=1,
        epoch=1,
        seq=1,
        message="msg_1",
        tries=0,
        state=State.FAILED,
        reason=Reason.EXPUNGED,
        attempts=0,
    )
    assert settlement.attempt is None


@pytest.mark.parametrize(
    ("message", "tries", "concerned"),
    [("msg_1", 2, True), ("msg_2", 2, False), ("msg_1", 1, False), ("msg_1", 3, False)],
)
def test_a_settlement_concerns_the_delivery_it_was_made_for(
    message: str, tries: int, *, concerned: bool
) -> None:
    delivery = Delivery(lane=7, seq=3, message="msg_1", tries=2, accepted_at=NOON)
    settlement = delivered(a_due(lane=7, seq=3, message=message, tries=tries))
    assert settlement.concerns(delivery) is concerned


def a_resent(kind: str | None, why: Reason = Reason.EXHAUSTED) -> Resent:
    return Resent(
        7, "r1", an_attempt(a_due(lane=7, message="msg_1"), kind=kind, at=NOON + 1), 2, why
    )


@pytest.mark.parametrize("state", State)
def test_only_what_failed_or_was_skipped_arrives_by_a_resend_that_was_taken(state: State) -> None:
    before = Delivery(
        lane=7, seq=3, message="msg_1", state=state, tries=4, accepted_at=NOON, ended_at=NOON
    )
    after = a_resent(None).upon(before)
    if state in {State.FAILED, State.SKIPPED}:
        assert after.state is State.DELIVERED
        assert (after.reason, after.ended_at) == (Reason.DELIVERED, NOON + 1)
        assert (after.seq, after.tries, after.accepted_at) == (3, 4, NOON)
    else:
        assert after == before
    assert a_resent("transient").upon(before) == before


def test_where_there_was_no_delivery_there_is_one_that_ended_as_the_attempt_did() -> None:
    failed = a_resent("permanent", Reason.REFUSED).delivery(5)
    assert failed == Delivery(
        lane=7,
        seq=5,
        message="msg_1",
        state=State.FAILED,
        reason=Reason.REFUSED,
        tries=1,
        accepted_at=NOON + 1,
        ended_at=NOON + 1,
    )
    taken = a_resent(None).delivery(5)
    assert taken == replace(failed, state=State.DELIVERED, reason=Reason.DELIVERED)


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
